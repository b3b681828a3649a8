"""What a kedge or a git that was killed leaves of the work trees of tasks, cleared by the next run.

A work tree is renamed before it is deleted, so that half of one is never taken for a whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from kedge.errors import GitError
from kedge.host import files
from kedge.host.git import Repo
from kedge.host.project import Project
from kedge.model.ids import is_id
from kedge.run import git_locks

FOLDER = "worktrees"
_GONE = ".gone"  # how the name of one that is being deleted ends
_INITIALIZING = b"initializing"  # what git writes into a work tree's lock while it makes it
TIMEOUT = 900.0  # seconds: git may have to write or delete a large tree


def is_unfinished(git_dir: Path) -> bool:
    """True if git has begun to make the work tree with this directory, and not finished."""
    return (files.read_bytes(git_dir / "locked") or b"").strip() == _INITIALIZING


def delete(repo: Repo, path: Path) -> None:
    """Delete a work tree, whatever is in it, and let git forget it."""
    gone = path.with_name(f".{path.name}{_GONE}")
    try:
        _remove(gone)
        path.rename(gone)
        repo.git("worktree", "remove", "--force", str(path), timeout=TIMEOUT)
        _remove(gone)
    except OSError as error:
        raise GitError(
            f"{error.filename} cannot be removed: {error.strerror}", hint="remove it by hand"
        ) from error


def clear(main: Project, repo: Repo) -> None:
    """Clear what is left of work trees that were being made or deleted."""
    folder = main.own(FOLDER)
    for gone in folder.glob(f".*{_GONE}"):
        shutil.rmtree(gone, ignore_errors=True)
    for git_dir, path in list(_list_unborn(main, repo)):
        if git_locks.wait_for_git(repo):  # one may still be making it
            _remove(path)
            _remove(git_dir)
    listed = os.fsdecode(repo.git("worktree", "list", "--porcelain"))
    for line in listed.splitlines():
        path = Path(line.removeprefix("worktree "))
        if line.startswith("worktree ") and path.parent == folder and not os.path.lexists(path):
            repo.ask("worktree", "remove", "--force", str(path))


def _list_unborn(main: Project, repo: Repo) -> Iterator[tuple[Path, Path]]:
    """Yield git's directory and the path of each work tree of a task that has no file yet."""
    known = repo.common_dir / "worktrees"
    for git_dir in sorted(known.iterdir()) if known.is_dir() else ():
        if not is_id(git_dir.name) or not is_unfinished(git_dir):
            continue
        path = main.own(FOLDER, git_dir.name)
        pointer = (files.read_bytes(git_dir / "gitdir") or b"").rstrip(b"\n")
        is_ours = os.fsencode(path / ".git").startswith(pointer)
        inside = {one.name for one in path.iterdir()} if path.is_dir() else set()
        if is_ours and inside <= {".git"}:
            yield git_dir, path


def _remove(path: Path) -> None:
    if os.path.lexists(path):
        shutil.rmtree(path)
