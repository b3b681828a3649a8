"""Files that are never half written, and locks that no crash can leave behind."""

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
    errno.EEXIST: "a part of the path is a file, or a symbolic link that leads nowhere",
    errno.EISDIR: "there is a directory of that name",
    errno.EINVAL: "there must be a plain file of that name, or none",
    errno.ELOOP: "a symbolic link is in the way, or points to itself",
    errno.ENAMETOOLONG: "the path is too long for this file system",
}


def read_bytes(path: Path) -> bytes | None:
    """The file's bytes, or None when there is no such file. What is no file is not waited for."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            kind = os.fstat(fd).st_mode
            if stat.S_ISDIR(kind):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not stat.S_ISREG(kind):
                raise FileError(f"{path} is not a file", hint="put a regular file there")
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
    """Replace the file's content so that a reader, or a crash, sees the old bytes or the new.

    An existing file keeps its mode, a symbolic link stays and its target is replaced. The
    directory is made when it is missing. What a kill leaves lies beside the target, or in
    `staging`, a directory of the same file system.
    """
    try:
        target = _target(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with _staged(target, staging or target.parent) as (fd, staged):
            os.fchmod(fd, _mode_for(target) if mode is None else mode)
            os.ftruncate(fd, 0)
            _write_all(fd, data)
            os.fsync(fd)
            staged.replace(target)
        sync_directory(target.parent)
    except OSError as error:
        raise file_error("write", path, error) from error


def append_line(path: Path, line: bytes) -> None:
    """Add one line durably. A last line that a crash left unfinished is closed first."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _take(fd, path)
            size = os.fstat(fd).st_size
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            _write_all(fd, (b"\n" if torn else b"") + line + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)
        if size == 0:
            sync_directory(path.parent)
    except OSError as error:
        raise file_error("append to", path, error) from error


@contextlib.contextmanager
def lock(path: Path, *, timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
    """Hold the advisory lock of one resource; the kernel frees it however its holder ends.

    `path` is the lock's own file. It stays, empty but for the holder's process id, in a
    directory that keeps itself out of git.
    """
    try:
        fd = _locked(path, timeout)
    except OSError as error:
        raise file_error("lock", path, error) from error
    try:
        with contextlib.suppress(OSError):  # only for the message of whoever waits
            os.ftruncate(fd, 0)
            os.pwrite(fd, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(fd)


def file_error(verb: str, path: Path, error: OSError) -> FileError:
    reason = (error.strerror or str(error)).lower()
    hint = _HINTS.get(error.errno or 0, "check the file and the file system that it is on")
    return FileError(f"cannot {verb} {path}: {reason}", hint=hint)


def sync_directory(path: Path) -> None:
    """Make a rename in the directory durable, where the file system can."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        return  # one may write in a directory that one may not list
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


@contextlib.contextmanager
def _staged(target: Path, directory: Path) -> Iterator[tuple[int, Path]]:
    """An open file to become the target, for one writer at a time.

    Its name is fixed, so that what a killed writer left is overwritten by the next one instead
    of piling up; the lock on it keeps two writers from sharing it.
    """
    staged = directory / f".{target.name}.kedge-new"
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        try:
            fd = os.open(staged, flags, 0o600)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            staged.unlink(missing_ok=True)  # a planted link must not lead the bytes elsewhere
            continue
        try:
            _take(fd, target)
            if _same_file(fd, staged):
                break
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # the writer before us has renamed it to the target: take a new one
    try:
        yield fd, staged
    except BaseException:
        with contextlib.suppress(OSError):
            if _same_file(fd, staged):
                staged.unlink()
        raise
    finally:
        os.close(fd)


def _target(path: Path) -> Path:
    """The plain file that `path` names or will name. What is no plain file is not replaced."""
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    try:
        kind = target.stat(follow_symlinks=False).st_mode
    except FileNotFoundError:
        return target
    if not stat.S_ISREG(kind):
        known = {stat.S_IFDIR: errno.EISDIR, stat.S_IFLNK: errno.ELOOP}
        number = known.get(stat.S_IFMT(kind), errno.EINVAL)
        raise OSError(number, os.strerror(number))
    return target


def _same_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _mode_for(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0o077)  # strict, for a file that another thread makes just then
        os.umask(mask)
        return 0o666 & ~mask


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _locked(path: Path, timeout: float) -> int:
    """The lock's file, open and locked."""
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
            if _same_file(fd, path):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # it was removed while we waited: what we hold, nobody else sees


def _take(fd: int, path: Path) -> None:
    """Lock a file that is being written for as long as it is open."""
    if not _flock(fd, time.monotonic() + LOCK_TIMEOUT):
        raise LockTimeout(
            f"another process writes {path} for more than {LOCK_TIMEOUT:g} s",
            hint="wait for that process, or end it, and try again",
        )


def _flock(fd: int, deadline: float) -> bool:
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
