"""What handoffs left on record: a line of `.kedge/handoffs/<task>.jsonl` for each that ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kedge.host import json_lines
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.model.ids import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Check(NamedTuple):
    """How a command went in the course of a task: at first, at last, and how often it failed."""

    task: str
    command: str
    first: int
    last: int
    runs: int
    failed: int


def archived(project: Project, task: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The records of a task, oldest first, and a warning for each line that is none."""
    if not is_id(task):
        return [], []
    path = project.own("handoffs", f"{task}.jsonl")
    return json_lines.read(path, f".kedge/handoffs/{path.name}", dict)


def rows(record: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """A list of objects in a record, without what is none."""
    value = record.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def summed(task: str, runs: Iterable[Mapping[str, Any]]) -> list[Check]:
    """Runs of checks, oldest first, by their commands."""
    codes: dict[str, list[int]] = {}
    for one in runs:
        command, code = one.get("command"), one.get("exit_code")
        if isinstance(command, str) and type(code) is int:
            codes.setdefault(command, []).append(code)
    return [
        Check(task, command, found[0], found[-1], len(found), sum(code != 0 for code in found))
        for command, found in codes.items()
    ]
