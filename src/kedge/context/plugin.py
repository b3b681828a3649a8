"""The plugin in a project: `.claude/skills/kedge`, which Claude Code loads for the whole team.

What kedge wrote is recorded beside it, so that a file nobody edited can be refreshed and taken out
again, and one that somebody did stays.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from kedge.context.setup import Change, Plan
from kedge.errors import FileError
from kedge.host import files
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.plugin import roles

FOLDER = ".claude/skills/kedge"
RECORD = ".claude-plugin/written.json"
_NAME = re.compile(r"[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*\Z")
_TRUST = "Claude Code loads the plugin in folders that you trust: start it here once, and say so"


def added(project: Project) -> Plan:
    """The plugin, as it should be. A folder of that name which is somebody else's is refused."""
    record = _record(project)
    if record is None:
        _refuse_others(project)
    plan = _written(project, record or {})
    return plan + Plan(notes=(_TRUST,)) if plan.changes else plan


def refreshed(project: Project) -> Plan:
    """The plugin as it should be, where it was added."""
    record = _record(project)
    return Plan() if record is None else _written(project, record)


def removed(project: Project) -> Plan:
    """All that kedge wrote, out again; the record last, so that what is cut off can be finished."""
    record = _record(project)
    if record is None:
        return Plan()
    plan = Plan()
    for name in record:
        plan += _dropped(project, name, record)
    return plan + _change(project, RECORD, None)


def _refuse_others(project: Project) -> None:
    folder, own = project.path(*FOLDER.split("/")), roles.files()
    for path in sorted(folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = path.relative_to(folder).as_posix()
        if _lf(_read(project, name) or b"") != own.get(name):
            raise FileError(
                f"{FOLDER}/{name} is there, and kedge did not write it",
                hint=f"move {FOLDER} out of the way",
            )


def _written(project: Project, record: dict[str, str]) -> Plan:
    plan, own = Plan(), {}
    for name, new in roles.files().items():
        data = _read(project, name)
        if data is None:
            plan += _change(project, name, new)
        elif _lf(data) == new:
            plan += Plan(same=(f"{FOLDER}/{name}",))
        elif record.get(name) == _seal(data):
            plan += _change(project, name, new)
        else:
            plan += Plan(same=(f"{FOLDER}/{name}",), notes=(_stays(name),))
        own[name] = _seal(new)
    for name in sorted(record.keys() - own.keys()):
        plan += _dropped(project, name, record)
    text = json.dumps(own, indent=1, sort_keys=True) + "\n"
    if (data := _read(project, RECORD)) is not None and _lf(data) == text.encode():
        return plan + Plan(same=(f"{FOLDER}/{RECORD}",))
    return plan + _change(project, RECORD, text.encode())


def _dropped(project: Project, name: str, record: dict[str, str]) -> Plan:
    data = _read(project, name)
    if data is None:
        return Plan()
    if record[name] != _seal(data):
        return Plan(notes=(_stays(name),))
    return _change(project, name, None)


def _change(project: Project, name: str, after: bytes | None) -> Plan:
    before = _read(project, name)
    what = "removed" if after is None else "created" if before is None else "refreshed"
    return Plan((Change(f"{FOLDER}/{name}", before, after, what),))


def _record(project: Project) -> dict[str, str] | None:
    """What kedge wrote, by path: its seal. It came with the repository, and so may say anything."""
    if not os.path.lexists(project.root / FOLDER / RECORD):
        return None
    try:
        found = json.loads(_read(project, RECORD) or b"")
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"{FOLDER}/{RECORD} is not what kedge wrote", hint="take it back from git"
        ) from error
    pairs = sorted(found.items()) if isinstance(found, dict) else []
    return {name: seal for name, seal in pairs if isinstance(seal, str) and _inside(name)}


def _inside(name: str) -> bool:
    return bool(_NAME.match(name)) and {".", ".."}.isdisjoint(name.split("/")) and name != RECORD


def _read(project: Project, name: str) -> bytes | None:
    """A file of the folder. No link is followed: what it leads to is not the plugin's."""
    path = project.path(*FOLDER.split("/"), *name.split("/"))
    if os.path.realpath(path) != str(Path(os.path.realpath(project.root)) / FOLDER / name):
        raise FileError(
            f"{FOLDER}/{name} is a link, or lies behind one", hint="put a real file there"
        )
    return files.read_bytes(path)


def _stays(name: str) -> str:
    return f"{FOLDER}/{name} was edited, and stays"


def _lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _seal(data: bytes) -> str:
    return digest([_lf(data)])[:16]
