"""Lock files that a killed git left behind, and that keep the user's git from working.

A lock file names no owner. One is cleared only if it was made during the run, and no git works in
the repository that could hold it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from kedge.host import process_tree
from kedge.host.git import Repo

_SUFFIX = ".lock"
_SKIPPED = frozenset(("kedge", "hooks"))  # kedge's own locks are never deleted
_PATIENCE, _PAUSE = 5.0, 0.05  # seconds for a git at work


def find(repo: Repo) -> dict[Path, int]:
    """Return the lock files in git's directories, each with its time in nanoseconds."""
    found = {}
    for path in _walk(repo):
        with contextlib.suppress(OSError):
            found[path] = path.lstat().st_mtime_ns
    return found


def clear(repo: Repo, known: dict[Path, int]) -> list[str]:
    """Remove locks that are not among the known ones; return them, relative to the root."""
    left = {path: time_ns for path, time_ns in find(repo).items() if known.get(path) != time_ns}
    if not left or not wait_for_git(repo):
        return []
    cleared = []
    for path, time_ns in left.items():
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime_ns == time_ns:
                path.unlink()
                cleared.append(os.path.relpath(path, repo.root))
    return sorted(cleared)


def clear_since(repo: Repo, seconds: float) -> list[str]:
    """Remove locks that were made after a moment, by a program that was killed."""
    known = {path: one for path, one in find(repo).items() if one < seconds * 1e9}
    return clear(repo, known)


def _walk(repo: Repo) -> Iterator[Path]:
    """Yield the lock files of the repository and all of its work trees."""
    worktrees = repo.common_dir / "worktrees"
    for here, inner, names in os.walk(repo.common_dir):
        at = Path(here)
        skipped = _SKIPPED if repo.common_dir == at or at.parent == worktrees else ()
        loose = at.name == "objects"  # its many directories have no locks
        inner[:] = [one for one in inner if one not in skipped and not (loose and len(one) == 2)]
        for name in names:
            if name.endswith(_SUFFIX):
                yield Path(here, name)


def wait_for_git(repo: Repo) -> bool:
    """Wait until no git works in the repository; return False if one still does."""
    end = time.monotonic() + _PATIENCE
    while _is_git_at_work(repo):
        if time.monotonic() > end:
            return False
        time.sleep(_PAUSE)
    return True


def _is_git_at_work(repo: Repo) -> bool:
    for pid in process_tree.find_git():
        try:
            place = Path(f"/proc/{pid}/cwd").readlink()
        except FileNotFoundError:
            if not Path("/proc/self/cwd").exists():
                return True  # without /proc nobody can tell where it works
            continue
        except OSError:
            continue  # another user's
        if any(place.is_relative_to(one) for one in (repo.root, repo.common_dir)):
            return True
        if _is_linked(place, repo):
            return True
    return False


def _is_linked(place: Path, repo: Repo) -> bool:
    """True if a directory is in a linked work tree of the repository."""
    for one in (place, *place.parents):
        with contextlib.suppress(OSError, ValueError):
            pointer = (one / ".git").read_text().removeprefix("gitdir: ").strip()
            return Path(pointer).is_relative_to(repo.common_dir)
    return False
