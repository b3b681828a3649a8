"""What `kedge task` is told: the options that set a task's fields, and texts from files."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from kedge.cli import syntax
from kedge.errors import FileError, UsageError
from kedge.host import files
from kedge.model.ids import task_id
from kedge.model.task import Task, unique

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PRIORITY = syntax.Choice(["P0", "P1", "P2", "P3", "P4"], case_sensitive=False)


# What sets the fields of a task.
fields = syntax.options(
    syntax.option("--type", "type_", help="task, bug, feature, chore, epic …"),
    syntax.option("--priority", type=PRIORITY, help="P0 (most urgent) to P4."),
    syntax.option("--description", help="What is to be done; - reads standard input."),
    syntax.option("--accept", multiple=True, help="An acceptance criterion; repeatable."),
    syntax.option("--epic", help="The epic that it is part of."),
    syntax.option("--depends", multiple=True, help="A task that must be done first; repeatable."),
    syntax.option("--scope", multiple=True, help="A path that belongs to it; repeatable."),
    syntax.option("--out-of-scope", multiple=True, help="A path not to touch; repeatable."),
    syntax.option("--check", multiple=True, help="A command that proves it; repeatable."),
    syntax.option("--label", multiple=True, help="A label; repeatable."),
    syntax.option("--area", help="A part of the product."),
    syntax.option("--allow-secret", multiple=True, metavar="FINDING", help="Let it through."),
)


# What the next attempt should know.
lessons = syntax.options(
    syntax.option("--tried", multiple=True, help="Something that was tried; repeatable."),
    syntax.option("--avoid", multiple=True, help="Something not to repeat; repeatable."),
    syntax.option("--allow-secret", multiple=True, metavar="FINDING", help="Let it through."),
)


def filled(task: Task, given: dict[str, Any]) -> Task:
    values: dict[str, Any] = {
        "type": given["type_"],
        "priority": given["priority"],
        "description": text(given["description"]),
        "acceptance": given["accept"],
        "epic": given["epic"] and task_id(given["epic"]),
        "depends_on": tuple(task_id(one) for one in unique(given["depends"])),
        "scope_in": unique(given["scope"]),
        "scope_out": unique(given["out_of_scope"]),
        "checks": given["check"],
        "labels": unique(given["label"]),
        "area": given["area"],
    }
    return replace(
        task, **{name: value for name, value in values.items() if value not in (None, ())}
    )


def text(value: str | None) -> str | None:
    return read("-")[1] if value == "-" else value


def read(file: str, directory: Path = Path()) -> tuple[str, str]:
    if file == "-":
        data = sys.stdin.buffer.read() if sys.stdin is not None else b""
    else:
        found = files.read_bytes(directory / file)
        if found is None:
            raise FileError(f"no file {file}", hint="check the path")
        data = found
    name = "standard input" if file == "-" else file
    try:
        return name, data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}:{line}: not UTF-8", hint="save it as UTF-8") from error
