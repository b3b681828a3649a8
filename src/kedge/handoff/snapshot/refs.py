"""Writing refs below `refs/kedge/`, so that a kill in between leaves no lock behind for good.

git locks a ref with a file beside it, and to delete one also `packed-refs`. A git that is killed
leaves these files, and the user's git then refuses to work. So kedge notes what it is about to
write; whoever finds such a note of a process that has ended removes the locks that it left.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from kedge.errors import FileError
from kedge.host import files, git

# Without reflog entries and without the user's hooks.
_QUIET = ("-c", "core.logAllRefUpdates=false", "-c", f"core.hooksPath={os.devnull}")
_PACKED = "packed-refs"
_PREFIX = "refs/kedge/"
_WAIT = 1.0  # seconds for a git to finish that outlived its kedge; it takes a few milliseconds
_POLL = 0.02


def write(repo: git.Repo, ref: str, commit: str) -> None:
    """Let a ref name a commit."""
    _transact(repo, [ref], f"option no-deref\nupdate {ref} {commit}\n")


def delete(repo: git.Repo, refs: Sequence[str]) -> None:
    """Delete refs, all or none."""
    if refs:
        _transact(repo, refs, "".join(f"option no-deref\ndelete {ref}\n" for ref in refs))


def _transact(repo: git.Repo, refs: Sequence[str], lines: str) -> None:
    home = repo.common_dir / "kedge"
    if home.is_symlink():
        raise FileError(f"{home} is a link", hint="remove the link")
    note = home / "refs" / "pending"
    with files.lock(home / "refs" / "refs.lock"):
        if note.exists():
            _remove_locks(repo, note)
        files.write_atomic(note, json.dumps(list(refs)).encode())
        repo.git(*_QUIET, "update-ref", "--stdin", input=lines.encode())
        note.unlink(missing_ok=True)


def _remove_locks(repo: git.Repo, note: Path) -> None:
    """Remove the locks that a killed git left: those of kedge's own refs, and the one of
    `packed-refs` if it is not older than the note."""
    try:
        refs = json.loads(files.read_bytes(note) or b"[]")
    except ValueError:
        refs = []
    begin = note.stat().st_mtime_ns
    names = [ref for ref in refs if isinstance(ref, str) and ref.startswith(_PREFIX)]
    for name in (*names, _PACKED):
        path = repo.common_dir / f"{name}.lock"
        before = _stamp(path)
        if before is not None and before[1] >= begin and _is_left(path, before):
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
