"""The plugin's files in a project: `.claude/skills/kedge`, which Claude Code loads for the team.

A record beside them holds the hash of each file that kedge wrote, so that unedited files can be
refreshed and removed, and edited ones stay.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from kedge.context.setup_plan import FileChange, SetupPlan
from kedge.errors import FileError
from kedge.host import files
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.plugin import roles

FOLDER = ".claude/skills/kedge"
RECORD = ".claude-plugin/written.json"
_NAME = re.compile(r"[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*\Z")
_TRUST = "Claude Code loads the plugin only in trusted folders: start it here once and trust it"


def plan_install(project: Project) -> SetupPlan:
    """Plan to add the plugin. Refuse if a folder of that name holds files kedge did not write."""
    record = _read_record(project)
    if record is None:
        _refuse_foreign_files(project)
    plan = _plan_files(project, record or {})
    return plan + SetupPlan(notes=(_TRUST,)) if plan.changes else plan


def plan_refresh(project: Project) -> SetupPlan:
    """Plan to bring the plugin up to date, where it was added."""
    record = _read_record(project)
    return SetupPlan() if record is None else _plan_files(project, record)


def plan_removal(project: Project) -> SetupPlan:
    """Plan to remove all that kedge wrote; the record last, so that a second run can finish."""
    record = _read_record(project)
    if record is None:
        return SetupPlan()
    plan = SetupPlan()
    for name in record:
        plan += _plan_drop(project, name, record)
    return plan + _change(project, RECORD, None)


def _refuse_foreign_files(project: Project) -> None:
    folder, own = project.path(*FOLDER.split("/")), roles.read_files()
    for path in sorted(folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = path.relative_to(folder).as_posix()
        if _lf(_read(project, name) or b"") != own.get(name):
            raise FileError(
                f"{FOLDER}/{name} exists, and kedge did not write it",
                hint=f"move {FOLDER} out of the way",
            )


def _plan_files(project: Project, record: dict[str, str]) -> SetupPlan:
    plan, own = SetupPlan(), {}
    for name, new in roles.read_files().items():
        data = _read(project, name)
        if data is None:
            plan += _change(project, name, new)
        elif _lf(data) == new:
            plan += SetupPlan(same=(f"{FOLDER}/{name}",))
        elif record.get(name) == _seal(data):
            plan += _change(project, name, new)
        else:
            plan += SetupPlan(same=(f"{FOLDER}/{name}",), notes=(_note_edited(name),))
        own[name] = _seal(new)
    for name in sorted(record.keys() - own.keys()):
        plan += _plan_drop(project, name, record)
    text = json.dumps(own, indent=1, sort_keys=True) + "\n"
    if (data := _read(project, RECORD)) is not None and _lf(data) == text.encode():
        return plan + SetupPlan(same=(f"{FOLDER}/{RECORD}",))
    return plan + _change(project, RECORD, text.encode())


def _plan_drop(project: Project, name: str, record: dict[str, str]) -> SetupPlan:
    data = _read(project, name)
    if data is None:
        return SetupPlan()
    if record[name] != _seal(data):
        return SetupPlan(notes=(_note_edited(name),))
    return _change(project, name, None)


def _change(project: Project, name: str, after: bytes | None) -> SetupPlan:
    before = _read(project, name)
    what = "removed" if after is None else "created" if before is None else "refreshed"
    return SetupPlan((FileChange(f"{FOLDER}/{name}", before, after, what),))


def _read_record(project: Project) -> dict[str, str] | None:
    """Read the hash of each file that kedge wrote. It is part of the repository, so not trusted."""
    if not os.path.lexists(project.root / FOLDER / RECORD):
        return None
    try:
        record = json.loads(_read(project, RECORD) or b"")
    except (ValueError, RecursionError) as error:
        raise FileError(f"{FOLDER}/{RECORD} is damaged", hint="restore it from git") from error
    pairs = sorted(record.items()) if isinstance(record, dict) else []
    return {name: seal for name, seal in pairs if isinstance(seal, str) and _is_inside(name)}


def _is_inside(name: str) -> bool:
    return bool(_NAME.match(name)) and {".", ".."}.isdisjoint(name.split("/")) and name != RECORD


def _read(project: Project, name: str) -> bytes | None:
    """Read a file of the folder without following links: their targets are not the plugin's."""
    path = project.path(*FOLDER.split("/"), *name.split("/"))
    if os.path.realpath(path) != str(Path(os.path.realpath(project.root)) / FOLDER / name):
        raise FileError(
            f"{FOLDER}/{name} is a symbolic link, or in a linked folder",
            hint="put a real file there",
        )
    return files.read_bytes(path)


def _note_edited(name: str) -> str:
    return f"{FOLDER}/{name} was edited, and stays"


def _lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _seal(data: bytes) -> str:
    return digest([_lf(data)])[:16]
