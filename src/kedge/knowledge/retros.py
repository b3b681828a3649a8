"""Which retros were held: `.kedge/retros/<feature or task>.jsonl`, only ever appended to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from kedge.errors import FileError
from kedge.host import clock, json_lines
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.host.redact import redact_value
from kedge.model.ids import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "retros"


def append(project: Project, name: str, record: Mapping[str, Any]) -> bool:
    """Keep the record with the time of now, unless one that says the same is there."""
    kept: Any = json.loads(json.dumps(redact_value(dict(record))))
    past, _ = read(project, name)
    if any({key: one.get(key) for key in kept} == kept for one in past):
        return False
    json_lines.append(_path(project, _file(name)), {"at": clock.now(), **kept})
    return True


def read(project: Project, name: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The records of a feature or task, oldest first, and a warning for each line that is none."""
    return _read(project, _file(name))


def first(project: Project) -> dict[str, str]:
    """When the first retro of each feature and task was held."""
    try:
        names = sorted(path.stem for path in project.own(FOLDER).glob("*.jsonl"))
    except (OSError, FileError):
        return {}
    found: dict[str, str] = {}
    for name in names:
        for one in _read(project, name)[0]:
            subject, at = one.get("id"), one.get("at")
            if isinstance(subject, str) and isinstance(at, str):
                found[subject] = min(at, found.get(subject, at))
    return found


def _read(project: Project, file: str) -> tuple[list[dict[str, Any]], list[str]]:
    return json_lines.read(_path(project, file), f".kedge/{FOLDER}/{file}.jsonl", dict)


def _path(project: Project, file: str) -> Path:
    return project.own(FOLDER, f"{file}.jsonl")


def _file(name: str) -> str:
    """The name, where it is harmless as that of a file; else one that stands for it."""
    return name if is_id(name) else f"of-{digest([name.encode('utf-8', 'surrogateescape')])[:16]}"
