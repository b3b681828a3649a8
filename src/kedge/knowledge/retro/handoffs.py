"""Records of finished handoffs: one line each in `.kedge/handoffs/<task>.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kedge.host import json_lines
from kedge.host.project import Project
from kedge.model.ids import is_id


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """The runs of a check during a task: first and last exit code, and how often it failed."""

    task: str
    command: str
    first: int
    last: int
    runs: int
    failed: int


def read_archived(project: Project, task: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a task's records, oldest first, and a warning per unreadable line."""
    if not is_id(task):
        return [], []
    path = project.own("handoffs", f"{task}.jsonl")
    return json_lines.read(path, f".kedge/handoffs/{path.name}", dict)


def object_list(record: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the objects in a list of the record, without items of other types."""
    value = record.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def summarize_checks(task: str, runs: Iterable[Mapping[str, Any]]) -> list[CheckSummary]:
    """Summarize runs of checks, given oldest first, by command."""
    codes: dict[str, list[int]] = {}
    for one in runs:
        command, code = one.get("command"), one.get("exit_code")
        if isinstance(command, str) and type(code) is int:
            codes.setdefault(command, []).append(code)
    return [
        CheckSummary(task, command, run[0], run[-1], len(run), sum(code != 0 for code in run))
        for command, run in codes.items()
    ]
