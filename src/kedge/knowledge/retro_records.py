"""Records of retros: `.kedge/retros/<feature or task>.jsonl`, append-only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kedge.errors import FileError
from kedge.host import clock, json_lines
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.host.redact import redact_value
from kedge.model.ids import is_id

FOLDER = "retros"


def append_record(project: Project, name: str, record: Mapping[str, Any]) -> bool:
    """Append the record with the current time; False if an equal one is there already."""
    value: Any = json.loads(json.dumps(redact_value(dict(record))))
    past, _ = read_records(project, name)
    if any({key: one.get(key) for key in value} == value for one in past):
        return False
    json_lines.append(_path(project, _file_name(name)), {"at": clock.now(), **value})
    return True


def read_records(project: Project, name: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a feature's or task's records, oldest first, and a warning per unreadable line."""
    return _read(project, _file_name(name))


def first_dates(project: Project) -> dict[str, str]:
    """Return the time of the first retro of each feature and task."""
    try:
        names = sorted(path.stem for path in project.own(FOLDER).glob("*.jsonl"))
    except (OSError, FileError):
        return {}
    dates: dict[str, str] = {}
    for name in names:
        for record in _read(project, name)[0]:
            subject, at = record.get("id"), record.get("at")
            if isinstance(subject, str) and isinstance(at, str):
                dates[subject] = min(at, dates.get(subject, at))
    return dates


def object_list(record: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the objects in a list of the record, without items of other types."""
    value = record.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _read(project: Project, file: str) -> tuple[list[dict[str, Any]], list[str]]:
    return json_lines.read(_path(project, file), f".kedge/{FOLDER}/{file}.jsonl", dict)


def _path(project: Project, file: str) -> Path:
    return project.own(FOLDER, f"{file}.jsonl")


def _file_name(name: str) -> str:
    """Return the name if it is safe in a path, else a hash of it."""
    return name if is_id(name) else f"of-{digest([name.encode('utf-8', 'surrogateescape')])[:16]}"
