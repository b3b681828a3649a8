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
    errno.ENOTDIR: "a part of the path is a file",
    errno.EISDIR: "there is a directory of that name",
    errno.ELOOP: "a symbolic link points to itself",
    errno.ENAMETOOLONG: "the path is too long for this file system",
}


def read_bytes(path: Path) -> bytes | None:
    """The file's bytes, or None when there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise file_error("read", path, error) from error


def write_atomic(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace the file's content so that a reader, or a crash, sees the old bytes or the new.

    An existing file keeps its mode, a symbolic link stays and its target is replaced. The
    directory is made when it is missing.
    """
    try:
        target = path.resolve() if path.is_symlink() else path
        target.parent.mkdir(parents=True, exist_ok=True)
        with _staged(target) as (fd, staged):
            os.ftruncate(fd, 0)
            _write_all(fd, data)
            os.fchmod(fd, _mode_for(target) if mode is None else mode)
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
            size = os.fstat(fd).st_size
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            _write_all(fd, (b"\n" if torn else b"") + line + b"\n")
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise file_error("append to", path, error) from error


@contextlib.contextmanager
def lock(path: Path, *, timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
    """Hold the advisory lock of one resource; the kernel frees it however its holder ends.

    `path` is the lock's own file. It stays, empty but for the holder's process id, in a
    directory that keeps itself out of git.
    """
    try:
        fd = _open_lock(path)
    except OSError as error:
        raise file_error("lock", path, error) from error
    try:
        _acquire(fd, path, timeout)
        with contextlib.suppress(OSError):  # only for the message of whoever waits
            os.ftruncate(fd, 0)
            os.pwrite(fd, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(fd)


def file_error(verb: str, path: Path, error: OSError) -> FileError:
    reason = (error.strerror or str(error)).lower()
    return FileError(f"cannot {verb} {path}: {reason}", hint=_HINTS.get(error.errno or 0))


def sync_directory(path: Path) -> None:
    """Make a rename in the directory durable, where the file system can."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


@contextlib.contextmanager
def _staged(target: Path) -> Iterator[tuple[int, Path]]:
    """An open file beside the target, for one writer at a time.

    Its name is fixed, so that what a killed writer left is overwritten by the next one instead
    of piling up; the lock on it keeps two writers from sharing it.
    """
    staged = target.with_name(f".{target.name}.kedge-new")
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        try:
            fd = os.open(staged, flags, 0o600)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            staged.unlink(missing_ok=True)  # a planted link must not lead the bytes elsewhere
            continue
        fcntl.flock(fd, fcntl.LOCK_EX)
        if _same_file(fd, staged):
            break
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


def _same_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _mode_for(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _open_lock(path: Path) -> int:
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / ".gitignore").write_text("*\n")
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _acquire(fd: int, path: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    pause = 0.001
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            pass
        if time.monotonic() >= deadline:
            holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise LockTimeout(
                f"{path.stem} is locked by process {holder} for more than {timeout:g} s",
                hint="wait for that process, or end it, and try again",
            )
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
