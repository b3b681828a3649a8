"""Atomic and durable file writes, and locks that the kernel releases when their holder ends."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from kedge.errors import FileError, LockTimeout

LOCK_TIMEOUT = 10.0
_HINTS = {
    errno.EACCES: "check the permissions of the file and its directory",
    errno.EPERM: "check the permissions of the file and its directory",
    errno.EROFS: "the file system is mounted read-only",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than the system allows",
    errno.ENOTDIR: "a part of the path is a file",
    errno.EEXIST: "a part of the path is a file, or a dangling symbolic link",
    errno.EISDIR: "a directory has that name",
    errno.EINVAL: "that name must be a regular file, or unused",
    errno.ELOOP: "a symbolic link is in the way, or points to itself",
    errno.ENAMETOOLONG: "the path is too long for this file system",
}


def read_bytes(path: Path) -> bytes | None:
    """Return the file's bytes, or None if it does not exist. A pipe is refused, not waited for."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            kind = os.fstat(fd).st_mode
            if stat.S_ISDIR(kind):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not stat.S_ISREG(kind):
                raise FileError(f"{path} is not a regular file", hint="put a regular file there")
            with os.fdopen(fd, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise file_error("read", path, error) from error


def write_atomic(
    path: Path, data: bytes, *, mode: int | None = None, staging: Path | None = None
) -> None:
    """Replace the file's content so that a reader, or a crash, sees the old bytes or the new ones.

    An existing file keeps its mode, owner and extended attributes; a symbolic link stays and its
    target is replaced. A missing parent directory is created. A killed writer leaves a temporary
    file beside the target, or in `staging`, a directory of the same file system.
    """
    _replace(path, data, mode, staging, None)


def replace_atomic(path: Path, before: bytes | None, data: bytes) -> None:
    """Like `write_atomic`, but raise FileError if the file is not `before` (None: missing) any
    more, as when somebody saved it meanwhile."""
    _replace(path, data, None, None, (before,))


def _replace(
    path: Path,
    data: bytes,
    mode: int | None,
    staging: Path | None,
    before: tuple[bytes | None] | None,
) -> None:
    try:
        target = _target(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with _stage(target, staging or target.parent) as (fd, staged):
            _copy_owner(target, fd)
            os.fchmod(fd, _mode_for(target) if mode is None else mode)
            _copy_attributes(target, fd)
            os.ftruncate(fd, 0)
            _write(fd, data)
            os.fsync(fd)
            if before is not None and read_bytes(target) != before[0]:
                raise FileError(
                    f"{path} was saved by somebody else meanwhile; kedge did not touch it",
                    hint="run the command again",
                )
            staged.replace(target)
        sync_directory(target.parent)
    except OSError as error:
        raise file_error("write", path, error) from error


def append_line(path: Path, line: bytes) -> None:
    """Append one line durably. A partial line that a crash left at the end is terminated first."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _lock_for_writing(fd, path)
            size = os.fstat(fd).st_size
            partial = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            _write(fd, (b"\n" if partial else b"") + line + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)
        if size == 0:
            sync_directory(path.parent)
    except OSError as error:
        raise file_error("append to", path, error) from error


@contextlib.contextmanager
def lock(path: Path, *, timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
    """Hold an advisory lock; the kernel releases it however the holder ends.

    `path` is the lock file. It is never deleted, holds the process id of its last holder, and lies
    in a directory that git ignores.
    """
    try:
        fd = _open_locked(path, timeout)
    except OSError as error:
        raise file_error("lock", path, error) from error
    try:
        with contextlib.suppress(OSError):  # the id is only for the message of a process that waits
            os.ftruncate(fd, 0)
            os.pwrite(fd, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(fd)


def file_error(verb: str, path: Path, error: OSError) -> FileError:
    """Return a FileError that says which operation failed, why, and what to check."""
    reason = (error.strerror or str(error)).lower()
    hint = _HINTS.get(error.errno or 0, "check the file and its file system")
    return FileError(f"cannot {verb} {path}: {reason}", hint=hint)


def sync_directory(path: Path) -> None:
    """Make a rename in the directory durable, where the file system supports it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        return  # a directory may be writable and not readable
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


@contextlib.contextmanager
def _stage(target: Path, directory: Path) -> Iterator[tuple[int, Path]]:
    """Open the temporary file that will replace the target, for one writer at a time.

    Its name is fixed, so that the next writer overwrites what a killed writer left; its lock keeps
    two writers from sharing it.
    """
    staged = directory / f".{target.name}.kedge-new"
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        try:
            fd = os.open(staged, flags, 0o600)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            staged.unlink(missing_ok=True)  # a planted link must not redirect the write
            continue
        try:
            _lock_for_writing(fd, target)
            if _is_same_file(fd, staged):
                break
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # the writer before us renamed it to the target: open a new one
    try:
        yield fd, staged
    except BaseException:
        with contextlib.suppress(OSError):
            if _is_same_file(fd, staged):
                staged.unlink()
        raise
    finally:
        os.close(fd)


def _target(path: Path) -> Path:
    """Return the file to replace, links resolved. Raises OSError if it is not a regular file."""
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    try:
        kind = target.lstat().st_mode
    except FileNotFoundError:
        return target
    if not stat.S_ISREG(kind):
        known = {stat.S_IFDIR: errno.EISDIR, stat.S_IFLNK: errno.ELOOP}
        number = known.get(stat.S_IFMT(kind), errno.EINVAL)
        raise OSError(number, os.strerror(number))
    return target


def _is_same_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False


def _mode_for(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0o077)  # strict, in case another thread creates a file just then
        os.umask(mask)
        return 0o666 & ~mask


def _copy_owner(target: Path, fd: int) -> None:
    """Give the file the target's owner and group, as far as this user may."""
    with contextlib.suppress(FileNotFoundError):
        wanted, own = target.stat(), os.fstat(fd)
        for owner, group in ((wanted.st_uid, -1), (-1, wanted.st_gid)):
            if owner not in (-1, own.st_uid) or group not in (-1, own.st_gid):
                with contextlib.suppress(PermissionError):
                    os.fchown(fd, owner, group)


def _copy_attributes(target: Path, fd: int) -> None:
    """Give the file the target's extended attributes, such as access lists, where there are any."""
    if not hasattr(os, "listxattr"):  # not on macOS
        return
    try:
        names = os.listxattr(target)
    except OSError:  # no file yet, or a file system without attributes
        return
    for name in names:
        with contextlib.suppress(OSError):  # some belong to the system
            os.setxattr(fd, name, os.getxattr(target, name))


def _write(fd: int, data: bytes) -> None:
    """Write all the bytes, also where the system takes them in parts."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _open_locked(path: Path, timeout: float) -> int:
    """Open and lock the lock file; return its descriptor."""
    ignore = path.parent / ".gitignore"
    if not os.path.lexists(ignore):
        write_atomic(ignore, b"*\n")
    deadline = time.monotonic() + timeout
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            if not _flock(fd, deadline):
                holder = os.pread(fd, 32, 0).decode("ascii", "replace")
                raise LockTimeout(
                    f"{path.stem} is locked by process {holder if holder.isdigit() else 'unknown'}"
                    f" for more than {timeout:g} s",
                    hint="wait for that process, or end it, and try again",
                )
            if _is_same_file(fd, path):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # the file was removed while we waited: nobody else would see this lock


def _lock_for_writing(fd: int, path: Path) -> None:
    """Lock a file for as long as the descriptor is open."""
    if not _flock(fd, time.monotonic() + LOCK_TIMEOUT):
        raise LockTimeout(
            f"another process has been writing {path} for more than {LOCK_TIMEOUT:g} s",
            hint="wait for that process, or end it, and try again",
        )


def _flock(fd: int, deadline: float) -> bool:
    """Take the exclusive lock; return False if it is still taken at the deadline."""
    pause = 0.001
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            left = deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(pause, left))
        pause = min(pause * 2, 0.05)
