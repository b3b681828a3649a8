"""What `kedge task` is told: the options that set a task's fields, and texts from files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from kedge.errors import FileError, UsageError
from kedge.host import files
from kedge.model.ids import task_id
from kedge.model.task import Task, unique

PRIORITY = click.Choice(["P0", "P1", "P2", "P3", "P4"], case_sensitive=False)


def fields(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that set the fields of a task."""
    options = [
        click.option("--type", "type_", help="task, bug, feature, chore, epic …"),
        click.option("--priority", type=PRIORITY, help="P0 (most urgent) to P4."),
        click.option("--description", help="What is to be done; - reads standard input."),
        click.option("--accept", multiple=True, help="An acceptance criterion; repeatable."),
        click.option("--epic", help="The epic that it is part of."),
        click.option(
            "--depends", multiple=True, help="A task that must be done first; repeatable."
        ),
        click.option("--scope", multiple=True, help="A path that belongs to it; repeatable."),
        click.option("--out-of-scope", multiple=True, help="A path not to touch; repeatable."),
        click.option("--check", multiple=True, help="A command that proves it; repeatable."),
        click.option("--label", multiple=True, help="A label; repeatable."),
        click.option("--area", help="A part of the product."),
        click.option("--allow-secret", multiple=True, metavar="FINDING", help="Let it through."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def lessons(function: Callable[..., Any]) -> Callable[..., Any]:
    """What the next attempt should know."""
    options = [
        click.option("--tried", multiple=True, help="Something that was tried; repeatable."),
        click.option("--avoid", multiple=True, help="Something not to repeat; repeatable."),
        click.option("--allow-secret", multiple=True, metavar="FINDING", help="Let it through."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


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
