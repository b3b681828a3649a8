"""The ignored files of a task's work tree: which of them a run left, and which are the user's.

`git status` does not show them, and `git worktree remove --force` deletes them. A run notes what
is there when it ends; whatever else is there later was made by somebody else, and stays.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from kedge.errors import KedgeError
from kedge.host import files
from kedge.host.git import Repo, split_z

_FILE = "left-by-runs.json"
_FOREIGN = "left-by-others.json"
_OWN = (".kedge/context/", ".kedge/locks/", ".kedge/map.md", ".kedge/.gitignore")
# Written by programs for themselves whoever starts them, also by an editor that looks around.
_CACHES = frozenset(("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"))


def note_before_run(repo: Repo) -> None:
    """Remember the ignored files that no run has left: they are the user's."""
    now = _read(repo)
    known = _load(repo, _FILE)
    foreign = {**_load(repo, _FOREIGN), **{p: s for p, s in now.items() if known.get(p) != s}}
    _store(repo, _FOREIGN, foreign)


def note_after_run(repo: Repo) -> None:
    """Remember the ignored files that a run has left."""
    _store(repo, _FILE, _read(repo))


def find_foreign(repo: Repo) -> list[str]:
    """Return the ignored files that neither kedge nor an agent has made, as far as runs know."""
    foreign, left = _load(repo, _FOREIGN), _load(repo, _FILE)
    return sorted(
        path for path, stamp in _read(repo).items() if path in foreign or left.get(path) != stamp
    )


def _read(repo: Repo) -> dict[str, str]:
    """Return the ignored files, each with a stamp that changes with its content."""
    options = ("--others", "--ignored", "--exclude-standard", "-z")
    found = {}
    for path in split_z(repo.git("ls-files", *options)):
        if path.startswith(_OWN) or not _CACHES.isdisjoint(path.split("/")):
            continue
        try:
            status = os.lstat(repo.root / path)
        except OSError:
            continue
        found[path] = f"{status.st_ino}-{status.st_size}-{status.st_mtime_ns}"
    return found


def _path(repo: Repo, name: str) -> Path:
    return repo.git_dir / "kedge" / name  # git removes it with the work tree


def _load(repo: Repo, name: str) -> dict[str, str]:
    with contextlib.suppress(KedgeError, ValueError):
        value = json.loads(files.read_bytes(_path(repo, name)) or b"{}")
        if isinstance(value, dict):
            return value
    return {}


def _store(repo: Repo, name: str, values: dict[str, str]) -> None:
    files.write_atomic(_path(repo, name), json.dumps(values).encode())
