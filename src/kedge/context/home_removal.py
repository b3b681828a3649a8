"""What `kedge uninstall` removes outside the working tree: kedge's home with the database."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from kedge.host import daemon
from kedge.host.project import HOME_VARIABLE, Project
from kedge.host.text import count_noun
from kedge.store import sqlite

# folders that kedge works with, and what the user calls their content
_WORKING = {
    "aside": "caches",
    "hooks": "caches",
    "map": "caches",
    "refs": "caches",
    "snapshots": "caches",
    "logs": "logs",
    "runs": "journals of runs",
    daemon.FILE: "the address of the server for hooks",
    daemon.PID: "the address of the server for hooks",
    daemon.STATE: "the address of the server for hooks",
    daemon.KEY: "the key of the dashboard",
    "serve.lock": "locks",
    ".gitignore": "locks",
}
_REPORT = "drift.html"
_BACKUPS = "backups"


@dataclass(frozen=True, slots=True)
class HomeRemoval:
    """The paths to remove, rows that say so (path, what happens), and notes about what stays."""

    paths: tuple[Path, ...] = ()
    rows: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def plan_home_removal(project: Project, *, records: bool) -> HomeRemoval:
    """Plan to remove kedge's home; the records of watched sessions only with `records`."""
    home = project.home()
    if not home.exists():
        return HomeRemoval()
    if not home.is_dir():
        return HomeRemoval(notes=(f"{home} stays: it is not a directory of kedge's",))
    if os.environ.get(HOME_VARIABLE):
        return HomeRemoval(notes=(f"{home} stays: {HOME_VARIABLE} names it",))
    if is_shared(project):
        return HomeRemoval(notes=(f"{home} stays: other work trees share it",))
    sessions = _count_sessions(home / sqlite.FILE)
    records_there = _list_records(home)  # with the files that counting left beside it
    kept = records_there if sessions and not records else []
    known = [*(home / name for name in _WORKING if (home / name).exists()), *records_there]
    paths = [path for path in known if path not in kept]
    place = os.path.relpath(home, project.root) if home.is_relative_to(project.root) else str(home)
    notes = []
    if kept:
        note = f"{place}/{sqlite.FILE} stays: it has the records of {sessions}"
        notes.append(f"{note}; kedge uninstall --records removes them")
    if (home / _BACKUPS).exists():
        notes.append(f"{home}/{_BACKUPS} stays: it holds text that you wrote")
    names = {path.name for path in (*known, home / _BACKUPS)}
    if strange := sorted(each.name for each in home.iterdir() if each.name not in names):
        notes.append(f"{home} stays: kedge did not write {', '.join(strange[:5])}")
    what = [word for name, word in _WORKING.items() if home / name in paths]
    what += [f"the records of {sessions}"] if sessions and not kept else []
    what = list(dict.fromkeys(what)) or ["an empty database"]
    rows = ((place, f"removed: {', '.join(what)}"),) if paths else ()
    return HomeRemoval(tuple(paths), rows, tuple(notes))


def remove_home(project: Project, plan: HomeRemoval) -> None:
    """Remove what the plan names, the locks, and the directories that this leaves empty."""
    with contextlib.suppress(OSError):
        shutil.rmtree(project.own("locks"))
        project.own().rmdir()
    for path in plan.paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    if plan.paths:
        with contextlib.suppress(OSError):
            project.home().rmdir()


def is_shared(project: Project) -> bool:
    """True if other work trees share what is in the common git directory."""
    return project.repo is not None and (project.repo.common_dir / "worktrees").is_dir()


def _list_records(home: Path) -> list[Path]:
    """List the database with the files beside it, damaged ones, and the report made from it."""
    names = (sqlite.FILE, f"{sqlite.FILE}-wal", f"{sqlite.FILE}-shm", _REPORT)
    found = [home / name for name in names if (home / name).exists()]
    return found + sorted(home.glob(f"{sqlite.FILE}.broken-*"))


def _count_sessions(path: Path) -> str:
    """Say how many sessions the database has; "" for none."""
    if not path.exists():
        return ""
    try:
        with sqlite.read(path) as db:
            count = db.execute("SELECT count(*) FROM session").fetchone()[0]
    except sqlite3.Error:
        return "sessions that cannot be read"
    return count_noun(count, "watched session") if count else ""
