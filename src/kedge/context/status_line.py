"""Kedge's status line in the settings of Claude Code, which a user has on request."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import kedge
from kedge.agents.settings import claude, hooks, status_line
from kedge.context.setup_plan import FileChange, SetupPlan
from kedge.host.project import Project

FILE = claude.LOCAL  # a status line is a matter of taste, so it is not shared
SCRIPT = Path(kedge.__file__).parent / "statusline.py"


def add_to(project: Project, plan: SetupPlan, *, in_git: bool) -> SetupPlan:
    """Return the plan, which may change the same file, with the status line added."""
    own = next((change for change in plan.changes if change.path == FILE), None)
    text = _read(project) if own is None else _decode(own.after)
    hidden, where = _find_hidden(project) if text is None or _has_none(text) else (None, "")
    after = status_line.install(text, make_command(in_git=in_git), hidden=hidden, where=FILE)
    if after == text:
        return plan
    if own is not None:
        what = own.what if own.before is None else f"{own.what}, status line added"
        change = replace(own, after=after.encode(), what=what)
        changes = tuple(change if each is own else each for each in plan.changes)
        plan = replace(plan, changes=changes)
    else:
        what = "created" if text is None else "status line added"
        before = None if text is None else text.encode()
        same = tuple(path for path in plan.same if path != FILE)
        change = FileChange(FILE, before, after.encode(), what)
        plan = replace(plan, changes=(*plan.changes, change), same=same)
    if hidden is not None:
        plan += SetupPlan(notes=(f"kedge's status line also shows that of {where}",))
    return plan


def make_command(*, in_git: bool) -> str:
    if in_git:
        return status_line.make_portable_command()
    return status_line.make_command(Path(sys.executable), SCRIPT)


def is_installed(project: Project) -> bool:
    return status_line.is_installed(_read(project), where=FILE)


def remove(text: str, path: str) -> str | None:
    """Return the settings as they were without the status line; None if there was no file."""
    return status_line.remove(text, where=path) if path == FILE else text


def _find_hidden(project: Project) -> tuple[dict[str, Any] | None, str]:
    """Return the user's status line that an entry in the local settings would hide."""
    for path, where in claude.list_layers(project)[2:]:  # below the local settings
        text = hooks.read_settings(path, where=where)
        entry = None if text is None else status_line.read(text, where=where)
        if entry is not None:
            return (None, "") if status_line.is_ours(entry) else (entry, where)
    return None, ""


def _decode(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def _has_none(text: str) -> bool:
    return status_line.read(text, where=FILE) is None


def _read(project: Project) -> str | None:
    return hooks.read_settings(project.path(*FILE.split("/")), where=FILE)
