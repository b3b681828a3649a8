"""Putting the working tree back to a snapshot, with what is there now kept first.

Files are reached from the root, directory by directory, and no link is followed on the way: what
is written is inside of the work tree, whatever is there. A repetition finishes what a crash left.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from kedge.errors import FileError, GitError
from kedge.handoff import private_index, shadow_git
from kedge.handoff.contents import GONE, PROGRAM, SYMLINK
from kedge.handoff.keeping import Snapshot, checked, look, refs, take
from kedge.handoff.listing import LINK, Entry, shown
from kedge.handoff.shadow_git import ShadowGit, object_id
from kedge.host import files
from kedge.host.project import Project
from kedge.host.record import NamedTuple

_ROUNDS = 5
_NONE = "000000"
_BATCH = 1 << 26  # bytes of files that are read from git at once
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_IN_THE_WAY = (errno.ENOTDIR, errno.ELOOP)


class Restored(NamedTuple):
    """What was there before, the refs that keep it, and what was left: nested repositories."""

    before: Snapshot
    refs: tuple[str, ...]
    left: tuple[str, ...]


def restore(project: Project, tree: str, keep: str) -> Restored:
    """Make the working tree what the snapshot says; what it is now is kept under `keep` first.

    Only what differs is written. What the snapshot's own rules ignore is left alone, and so are
    the user's index and nested repositories, which are named.
    """
    shadow = shadow_git.of(project).ready()
    target = object_id(tree)
    if shadow.git("cat-file", "-t", target).strip() != b"tree":
        raise GitError(f"{target} is no tree", hint="give the tree of a snapshot")
    kept: list[tuple[str, Snapshot]] = []
    for _ in range(_ROUNDS):
        ref = _free(project, keep)
        kept.append((ref, take(project, ref, also=_covered(project, shadow, target))))
        changes = _differing(shadow, kept[-1][1].tree, target)
        left = {path for old, mode, _, _, path in changes if LINK in (old, mode)}
        wanted = [Entry(mode, oid, path) for _, mode, oid, _, path in changes if path not in left]
        # With the rules of then, other files may be ignored than with those of now.
        rules = [one for one in wanted if one.path.rpartition(b"/")[2] == b".gitignore"]
        _apply(shadow, rules or wanted)
        if not rules:
            break
    _check(shadow, look(project), target, left)
    names = tuple(shown(path) for path in sorted(left))
    return Restored(kept[0][1], tuple(ref for ref, _ in kept), names)


def _covered(project: Project, shadow: ShadowGit, target: str) -> list[str]:
    """The ignored files that are in the place of others, and so would be lost."""
    return [
        os.fsdecode(path)
        for _, mode, _, status, path in _differing(shadow, look(project), target)
        if status == "A" and mode != LINK and _is_file(shadow, path)
    ]


def _apply(shadow: ShadowGit, entries: Sequence[Entry]) -> None:
    root = os.open(shadow.repo.root, _DIRECTORY)
    try:
        for path in sorted((one.path for one in entries if one.mode == _NONE), reverse=True):
            _remove(root, path)
        for one, data in _contents(shadow, [one for one in entries if one.mode != _NONE]):
            _put(root, one, data)
    finally:
        os.close(root)


def _differing(
    shadow: ShadowGit, before: str, after: str
) -> list[tuple[str, str, str, str, bytes]]:
    found = private_index.differing(shadow, before, after)
    if found is None:
        raise GitError("the snapshot is not whole any more", hint="take another one")
    return found


def _check(shadow: ShadowGit, now: str, target: str, left: Collection[bytes]) -> None:
    wrong = [path for *_, path in _differing(shadow, now, target) if path not in left]
    if wrong:
        names = ", ".join(shown(path) for path in wrong[:3])
        raise FileError(
            f"{len(wrong)} paths are not as they were: {names}",
            hint="something else may be writing there, or ignores them: see, and try again",
        )


def _free(project: Project, keep: str) -> str:
    """A name that nothing is kept under yet: a repetition must not push out the first state."""
    name = checked(keep)
    taken = set(refs(project, name.split("/")[2]))
    number = 1
    found = name
    while found in taken:
        number += 1
        found = checked(f"{name[:110]}-{number}")
    return found


def _is_file(shadow: ShadowGit, path: bytes) -> bool:
    try:
        mode = os.lstat(os.fsencode(shadow.repo.root) + b"/" + path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _contents(shadow: ShadowGit, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
    """The entries with their bytes, some at a time."""
    ids = "".join(f"{one.oid}\n" for one in entries).encode()
    sizes = shadow.git("cat-file", "--batch-check=%(objectsize)", input=ids).split(b"\n")
    batch: list[Entry] = []
    room = _BATCH
    for one, size in zip(entries, sizes, strict=False):
        if b" " in size:
            raise GitError(
                f"the bytes of {shown(one.path)} are not there any more",
                hint="the snapshot was dropped, or git has collected it",
            )
        if batch and int(size) > room:
            yield from _batch(shadow, batch)
            batch, room = [], _BATCH
        batch.append(one)
        room -= int(size)
    yield from _batch(shadow, batch)


def _batch(shadow: ShadowGit, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
    ids = "".join(f"{one.oid}\n" for one in entries).encode()
    out = memoryview(shadow.git("cat-file", "--batch", input=ids)) if entries else memoryview(b"")
    at = 0
    for one in entries:
        line = bytes(out[at : at + 100]).partition(b"\n")[0]
        start = at + len(line) + 1
        at = start + int(line.rsplit(b" ", 1)[1]) + 1
        yield one, bytes(out[start : at - 1])


@contextlib.contextmanager
def _parent(root: int, path: bytes, *, make: bool) -> Iterator[tuple[int, bytes]]:
    """The directory that holds the path, open, and the path's last part."""
    *above, name = path.split(b"/")
    at = os.dup(root)
    try:
        for part in above:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=at)
            below = os.open(part, _DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
        yield at, name
    finally:
        os.close(at)


def _remove(root: int, path: bytes) -> None:
    """Delete the file or link, and the directories that nothing is left in."""
    try:
        with _parent(root, path, make=False) as (at, name):
            os.unlink(name, dir_fd=at)
    except IsADirectoryError:
        return
    except OSError as error:
        if error.errno in (*GONE, *_IN_THE_WAY):
            return  # it is not there, or behind a link and so not in the tree
        raise files.file_error("delete", Path(os.fsdecode(path)), error) from error
    above = path.rpartition(b"/")[0]
    while above:
        try:
            with _parent(root, above, make=False) as (at, name):
                os.rmdir(name, dir_fd=at)
        except OSError:
            return
        above = above.rpartition(b"/")[0]


def _put(root: int, one: Entry, data: bytes) -> None:
    """Replace what is at the path, at once."""
    try:
        with _parent(root, one.path, make=True) as (at, name):
            staged = b".kedge-restore-%d" % os.getpid()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(staged, dir_fd=at)
            try:
                if one.mode == SYMLINK:
                    os.symlink(data, staged, dir_fd=at)
                else:
                    _write(at, staged, data, _mode(at, name, one.mode))
                _clear(at, name)
                os.rename(staged, name, src_dir_fd=at, dst_dir_fd=at)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(staged, dir_fd=at)
                raise
    except OSError as error:
        if error.errno in (*_IN_THE_WAY, errno.ENOTEMPTY, errno.EISDIR):
            raise FileError(
                f"cannot put back {shown(one.path)}: something that git ignores is in its place",
                hint="move it away and try again; what was there before is kept",
            ) from error
        raise files.file_error("put back", Path(os.fsdecode(one.path)), error) from error


def _clear(at: int, name: bytes) -> None:
    """An empty directory gives way; one that has ignored files in it does not."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.rmdir(name, dir_fd=at)


def _write(at: int, name: bytes, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=at), "wb") as file:
        file.write(data)
        os.fchmod(file.fileno(), mode)


def _mode(at: int, name: bytes, wanted: str) -> int:
    """Who may read and write the file stays; who may read it may run it, when it is a program."""
    mode = 0o666 & ~_umask()
    with contextlib.suppress(OSError):
        found = os.stat(name, dir_fd=at, follow_symlinks=False)
        if stat.S_ISREG(found.st_mode):
            mode = stat.S_IMODE(found.st_mode)
    mode &= ~0o111
    return mode | (mode & 0o444) >> 2 if wanted == PROGRAM else mode


def _umask() -> int:
    mask = os.umask(0o077)  # strict, for a file that another thread makes just then
    os.umask(mask)
    return mask
