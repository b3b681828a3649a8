"""Restore the working tree to a snapshot, after a snapshot of its present state.

Files are opened from the root, directory by directory, without following links: everything written
is inside the work tree. A second run completes one that crashed.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kedge.errors import FileError, GitError
from kedge.handoff.snapshot import nested, shadow_git
from kedge.handoff.snapshot.commits import Snapshot, check_ref, list_refs, read_tree, take
from kedge.handoff.snapshot.listing import display_path
from kedge.handoff.snapshot.shadow_git import ShadowGit, check_object_id
from kedge.handoff.snapshot.tree_changes import (
    LINK,
    PROGRAM,
    SYMLINK,
    TreeDifference,
    TreeEntry,
    find_differences,
)
from kedge.host import files
from kedge.host.project import Project
from kedge.host.text import count_noun

_ROUNDS = 5
_ABSENT = "000000"
_BATCH = 100  # files read from git at once
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_IN_THE_WAY = (errno.ENOTDIR, errno.ELOOP)
_GONE = (errno.ENOENT, *_IN_THE_WAY)  # missing, or behind a link and so not in the tree


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The state before, the refs that keep it, and the nested repositories left untouched."""

    before: Snapshot
    refs: tuple[str, ...]
    left: tuple[str, ...]


def restore(
    project: Project, tree: str, keep: str, *, leave: Collection[str] = ()
) -> RestoreResult:
    """Make the working tree equal to the snapshot; keep its present state under `keep` first.

    Only paths that differ are written, also inside a nested repository whose HEAD is the same.
    Files that the snapshot's own rules ignore, the user's index, the paths in `leave`, and nested
    repositories that were moved to another commit are left alone.
    """
    shadow = shadow_git.open_shadow(project).prepare()
    target = check_object_id(tree)
    if shadow.git("cat-file", "-t", target).strip() != b"tree":
        raise GitError(f"{target} is not a tree", hint="give the tree of a snapshot")
    taken: list[tuple[str, Snapshot]] = []
    for _ in range(_ROUNDS):
        ref = _find_free_ref(project, keep)
        taken.append((ref, take(project, ref, also=_find_covered(project, shadow, target))))
        changes = find_differences(shadow, taken[-1][1].tree, target)
        left = {
            one.new.path
            for one in changes
            if LINK in (one.old.mode, one.new.mode) and not _restore_nested(project, one, keep)
        }
        left.update(os.fsencode(path) for path in leave)
        wanted = [
            one.new
            for one in changes
            if one.new.path not in left and LINK not in (one.old.mode, one.new.mode)
        ]
        # The snapshot's ignore rules come first: they decide which other files are restored.
        rules = [one for one in wanted if one.path.rpartition(b"/")[2] == b".gitignore"]
        _apply(shadow, rules or wanted)
        if not rules:
            break
    _check_restored(shadow, read_tree(project), target, left)
    names = tuple(display_path(path) for path in sorted(left) if os.fsdecode(path) not in leave)
    return RestoreResult(taken[0][1], tuple(ref for ref, _ in taken), names)


def _restore_nested(project: Project, one: TreeDifference, keep: str) -> bool:
    """Restore the files of a nested repository; False if its HEAD is not that of the snapshot."""
    repo = nested.open_repo(project, one.new.path) if one.old.mode == one.new.mode else None
    trees = nested.find_trees(repo, one.old.oid, one.new.oid) if repo is not None else None
    if repo is None or trees is None:
        return False
    return not restore(Project(repo.root, repo), trees[1], keep).left


def _find_covered(project: Project, shadow: ShadowGit, target: str) -> list[str]:
    """Return the ignored files that the restore would overwrite."""
    return [
        os.fsdecode(one.new.path)
        for one in find_differences(shadow, read_tree(project), target)
        if one.status == "A" and one.new.mode != LINK and _is_file(shadow, one.new.path)
    ]


def _apply(shadow: ShadowGit, entries: Sequence[TreeEntry]) -> None:
    root = os.open(shadow.repo.root, _DIRECTORY)
    try:
        for path in sorted((one.path for one in entries if one.mode == _ABSENT), reverse=True):
            _remove(root, path)
        for one, data in _read_contents(shadow, [one for one in entries if one.mode != _ABSENT]):
            _write_entry(root, one, data)
    finally:
        os.close(root)


def _check_restored(shadow: ShadowGit, now: str, target: str, left: Collection[bytes]) -> None:
    changes = find_differences(shadow, now, target)
    wrong = [one.new.path for one in changes if one.new.path not in left]
    if wrong:
        names = ", ".join(display_path(path) for path in wrong[:3])
        raise FileError(
            f"{count_noun(len(wrong), 'path')} could not be restored: {names}",
            hint="another process may write there, or a rule ignore them: check, and try again",
        )


def _find_free_ref(project: Project, keep: str) -> str:
    """Return an unused ref name: a second run must not replace the first state."""
    name = check_ref(keep)
    taken = set(list_refs(project, name.split("/")[2]))
    number = 1
    free = name
    while free in taken:
        number += 1
        free = check_ref(f"{name[:110]}-{number}")
    return free


def _is_file(shadow: ShadowGit, path: bytes) -> bool:
    try:
        mode = os.lstat(os.fsencode(shadow.repo.root) + b"/" + path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _read_contents(
    shadow: ShadowGit, entries: Sequence[TreeEntry]
) -> Iterator[tuple[TreeEntry, bytes]]:
    """Yield the entries with their bytes, a batch at a time."""
    for start in range(0, len(entries), _BATCH):
        batch = entries[start : start + _BATCH]
        ids = "".join(f"{one.oid}\n" for one in batch).encode()
        out = io.BytesIO(shadow.git("cat-file", "--batch", input=ids))
        for one in batch:
            head = out.readline().split()
            if head[-1] == b"missing":
                raise GitError(
                    f"the bytes of {display_path(one.path)} are missing",
                    hint="the snapshot was dropped, or git has garbage-collected it",
                )
            yield one, out.read(int(head[-1]))
            out.readline()


@contextlib.contextmanager
def _parent(root: int, path: bytes, *, make: bool) -> Iterator[tuple[int, bytes]]:
    """Open the directory that holds the path; yield its descriptor and the file's name."""
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
    """Delete the file or link, and the directories that it leaves empty."""
    try:
        with _parent(root, path, make=False) as (at, name):
            os.unlink(name, dir_fd=at)
    except IsADirectoryError:
        return
    except OSError as error:
        if error.errno in _GONE:
            return
        raise files.file_error("delete", Path(os.fsdecode(path)), error) from error
    above = path.rpartition(b"/")[0]
    while above:
        try:
            with _parent(root, above, make=False) as (at, name):
                os.rmdir(name, dir_fd=at)
        except OSError:
            return
        above = above.rpartition(b"/")[0]


def _write_entry(root: int, one: TreeEntry, data: bytes) -> None:
    """Replace the path atomically."""
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
                f"cannot restore {display_path(one.path)}: an ignored file is in its place",
                hint="move it away and try again; a snapshot keeps what was there before",
            ) from error
        raise files.file_error("restore", Path(os.fsdecode(one.path)), error) from error


def _clear(at: int, name: bytes) -> None:
    """Remove an empty directory at the path; one with ignored files stays, and the rename fails."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.rmdir(name, dir_fd=at)


def _write(at: int, name: bytes, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=at), "wb") as file:
        file.write(data)
        os.fchmod(file.fileno(), mode)


def _mode(at: int, name: bytes, wanted: str) -> int:
    """Return the permissions: the present ones, with execute for every reader of a program."""
    mode = 0o666 & ~_umask()
    with contextlib.suppress(OSError):
        status = os.stat(name, dir_fd=at, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            mode = stat.S_IMODE(status.st_mode)
    mode &= ~0o111
    return mode | (mode & 0o444) >> 2 if wanted == PROGRAM else mode


def _umask() -> int:
    mask = os.umask(0o077)  # strict, in case another thread creates a file just now
    os.umask(mask)
    return mask
