"""Writing refs below `refs/kedge/`, so that a kill in between leaves no lock behind for good.

git locks a ref with a file beside it, and to delete one also `packed-refs`. A git that is killed
leaves these files, and the user's git then refuses to work. A lock that stays on one of kedge's own
refs is left over, since kedge's writers take turns. `packed-refs` is also the user's: kedge notes
what it is about to write, and only after such a note was left a lock on `packed-refs` is removed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from kedge.host import files, git
from kedge.host.digest import digest

# Without reflog entries and without the user's hooks.
_QUIET = ("-c", "core.logAllRefUpdates=false", "-c", f"core.hooksPath={os.devnull}")
_PACKED = "packed-refs"
_PREFIX = "refs/kedge/"
_WAIT = 1.0  # seconds for a git to finish that outlived its kedge; it takes a few milliseconds
_POLL = 0.02


def write(home: Path, repo: git.Repo, ref: str, commit: str) -> None:
    """Let a ref of a repository name a commit. `home` is where kedge keeps its data."""
    _transact(home, repo, [ref], f"option no-deref\nupdate {ref} {commit}\n")


def delete(home: Path, repo: git.Repo, refs: Sequence[str]) -> None:
    """Delete refs, all or none."""
    if refs:
        lines = "".join(f"option no-deref\ndelete {ref}\n" for ref in refs)
        _transact(home, repo, refs, lines)


def finish(home: Path, repo: git.Repo) -> None:
    """Remove the locks of a writer that was killed, where there may be nothing left to write."""
    note = _note(home, repo)
    if note.exists():
        with _lock(home):
            _clear(repo, note, ())
            note.unlink(missing_ok=True)


def _transact(home: Path, repo: git.Repo, refs: Sequence[str], lines: str) -> None:
    note = _note(home, repo)
    with _lock(home):
        _clear(repo, note, refs)
        files.write_atomic(note, json.dumps(list(refs)).encode())
        repo.git(*_QUIET, "update-ref", "--stdin", input=lines.encode())
        note.unlink(missing_ok=True)


def _lock(home: Path) -> AbstractContextManager[None]:
    return files.lock(home / "refs" / "refs.lock")


def _note(home: Path, repo: git.Repo) -> Path:
    return home / "refs" / f"{digest([os.fsencode(repo.common_dir)])}.pending"


def _clear(repo: git.Repo, note: Path, refs: Sequence[str]) -> None:
    """Remove the locks of these refs, and those that the writer of a note has left."""
    _remove_locks(repo, [*refs, *_read_note(note)])
    if note.exists():
        _remove_packed_lock(repo, note)


def _read_note(note: Path) -> list[str]:
    """Return the refs that somebody was about to write, and did not finish."""
    try:
        noted = json.loads(files.read_bytes(note) or b"[]")
    except ValueError:
        return []
    return [ref for ref in noted if isinstance(ref, str) and ref.startswith(_PREFIX)]


def _remove_locks(repo: git.Repo, refs: Sequence[str]) -> None:
    for ref in dict.fromkeys(refs):
        path = repo.common_dir / f"{ref}.lock"
        before = _stamp(path)
        if before is not None and _is_left(path, before):
            path.unlink(missing_ok=True)


def _remove_packed_lock(repo: git.Repo, note: Path) -> None:
    """Remove the lock of `packed-refs` if it is not older than the note."""
    path = repo.common_dir / f"{_PACKED}.lock"
    before = _stamp(path)
    if before is not None and before[1] >= note.stat().st_mtime_ns and _is_left(path, before):
        path.unlink(missing_ok=True)


def _is_left(path: Path, before: tuple[int, int]) -> bool:
    """True if nobody removes or writes the lock for a while."""
    end = time.monotonic() + _WAIT
    while time.monotonic() < end:
        if _stamp(path) != before:
            return False
        time.sleep(_POLL)
    return True


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
