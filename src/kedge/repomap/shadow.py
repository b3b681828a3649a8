"""A private copy of git's index, in which git notes what it saw of the directories.

To look for untracked files git reads every directory, unless its index says when it last did
(git's untracked cache). The user's index is not kedge's to write, so that a copy of it is kept and
renewed whenever it changes. Git itself decides what of the notes still holds. Where anything is
unusual there is no shadow, and the caller asks git without one.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from pathlib import Path

from kedge.errors import GitError
from kedge.host import plain_repo
from kedge.host.digest import digest
from kedge.host.git import Repo
from kedge.host.record import NamedTuple
from kedge.repomap.unchanged import CHANGED, index_at

COPY = "index-"  # how a copy's name begins
LEAST = 1 << 16  # bytes of an index, below which it is not worth it
_MOST = 1 << 28
_KEPT = 2  # copies of a work tree's index: somebody may be at work with the one before
_OVER = 600  # seconds after which no git is at work any more
_HEAD, _TAIL = 12, 32  # of an index: the number of entries, and a checksum


class Shadow(NamedTuple):
    """The copy, and what names the index that it was made from."""

    path: Path
    stamp: str
    entries: bytes  # how many there are

    @property
    def env(self) -> dict[str, str]:
        return {"GIT_INDEX_FILE": str(self.path)}

    def asked(self, repo: Repo) -> bytes | None:
        """What git says of the tree; None in doubt."""
        try:
            said = repo.quick(*CHANGED, env=index_at(str(self.path)))
            # A copy that was gone by then was an index without entries to git.
            if _entries(self.path) != self.entries or _is_mistaken(repo.root, said):
                raise OSError
        except (GitError, OSError):
            with contextlib.suppress(OSError):
                self.path.unlink()
            return None
        return said


def changed(said: bytes) -> list[bytes]:
    """The files that are not as the index has them, and untracked ones."""
    return [line[3:] for line in said.split(b"\0")[:-1] if line[1:2] != b" "]


def of(repo: Repo, home: Path) -> Shadow | None:
    """The shadow of the work tree's index, made in `home` when there is none."""
    index = repo.git_dir / "index"
    if home == repo.common_dir / "kedge":
        home = repo.git_dir / "kedge"  # that of a linked work tree goes when the work tree does
    try:
        if any(name.startswith("sharedindex.") for name in os.listdir(repo.git_dir)):  # noqa: PTH208
            return None  # the index is in two files
        status = index.lstat()
        if not stat.S_ISREG(status.st_mode) or not LEAST <= status.st_size <= _MOST:
            return None
        with index.open("rb") as file:
            now = os.fstat(file.fileno())
            entries = file.read(_HEAD)
            file.seek(-_TAIL, os.SEEK_END)
            tail = file.read()
            family = f"{COPY}{digest([os.fsencode(repo.git_dir)])[:16]}-"
            what = f"{now.st_dev} {now.st_ino} {now.st_size} {now.st_mtime_ns} {now.st_ctime_ns}"
            stamp = digest([what.encode(), tail])[:24]
            path = home.absolute() / (family + stamp)
            if not path.is_file():
                file.seek(0)
                _copy(file.read(), path, now.st_mtime_ns)
                _tidy(path.parent, family)
            _unlock(path)
        return Shadow(path, stamp, entries[8:])
    except OSError:
        return None


def _copy(data: bytes, path: Path, when: int) -> None:
    """With the time of the original: by that git tells which files may have changed after it."""
    if path.parent.is_symlink():
        raise OSError
    path.parent.mkdir(exist_ok=True)
    staged = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with staged.open("xb") as copy:
            copy.write(data)
            copy.flush()
            os.utime(copy.fileno(), ns=(when, when))
        staged.rename(path)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise


def _unlock(path: Path) -> None:
    """Remove the lock of a git that was killed: with it, no other could note anything."""
    lock = path.with_name(f"{path.name}.lock")
    with contextlib.suppress(FileNotFoundError):
        if time.time() - lock.lstat().st_mtime > _OVER:
            lock.unlink()


def _tidy(home: Path, family: str) -> None:
    """Remove the copies of earlier states, and what a kill has left."""
    found = [entry for entry in os.scandir(home) if entry.name.startswith(family)]
    found.sort(key=lambda entry: -entry.stat(follow_symlinks=False).st_ctime_ns)
    for entry in found[_KEPT:]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(entry.path)  # noqa: PTH108 - an entry of scandir


def folders(said: bytes) -> tuple[set[bytes], set[bytes]]:
    """Untracked directories that are listed as such, and those around what is untracked."""
    new = [line[3:] for line in said.split(b"\0") if line[:2] == b"??"]
    inner = {name.rstrip(b"/") for name in new if name.endswith(b"/")}
    outer: set[bytes] = set()
    for name in new:
        folder = name.rstrip(b"/").rpartition(b"/")[0]
        while folder and folder not in outer:
            outer.add(folder)
            folder = folder.rpartition(b"/")[0]
    return inner, outer


def _is_mistaken(root: Path, said: bytes) -> bool:
    """Whether git took an untracked directory for what it was: it does not note which of them are
    repositories of their own, whose files are not listed."""
    inner, outer = folders(said)
    own = {name for name in inner | outer if os.path.lexists(head_of(root, name))}
    return own != inner


def head_of(root: Path, folder: bytes) -> str:
    """Where its HEAD is when a directory is a repository of its own, or a work tree of one."""
    path = root / os.fsdecode(folder) / ".git"
    named = plain_repo.small(path)
    if named.startswith(b"gitdir: "):
        path = path.parent / os.fsdecode(named[8:].rstrip(b"\r\n"))
    return str(path / "HEAD")


def _entries(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)[8:]
