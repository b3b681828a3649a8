"""Files of the project that hold tasks: read with care, written all or none."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from kedge.errors import BrokenTasks, FileError
from kedge.host import files

MAX_BYTES = 8 << 20
BOM = "\ufeff"


def shown(root: Path, path: Path) -> str:
    """The path as it is named in messages: relative, on one line."""
    name = os.fsencode(path.relative_to(root).as_posix()).decode(errors="replace")
    return "".join(c if c.isprintable() else "\ufffd" for c in name)


def leads_out(root: Path, path: Path) -> bool:
    # not Path.resolve, which raises RuntimeError for a link that points to itself
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def read(root: Path, path: Path) -> bytes:
    """The bytes of a regular file inside the root; BrokenTasks, naming the file, otherwise."""
    name = shown(root, path)
    try:
        if leads_out(root, path):
            raise BrokenTasks(f"{name}: is a link that leads out of the repository")
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise BrokenTasks(f"{name}: is not a file")
        if status.st_size > MAX_BYTES:
            raise BrokenTasks(f"{name}: has more than {MAX_BYTES >> 20} MiB")
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BrokenTasks(f"{name}: cannot be read: {reason}") from error


def decode(root: Path, path: Path, data: bytes) -> str:
    try:
        text = data.decode()
        bad, what = text.find("\0"), "there is a NUL in it"
        line = text.count("\n", 0, bad) + 1
    except UnicodeDecodeError as error:
        bad, what = error.start, "it is not UTF-8"
        line = data.count(b"\n", 0, bad) + 1
    if bad >= 0:
        raise BrokenTasks(f"{shown(root, path)}:{line}: {what}", hint="save the file as UTF-8 text")
    return text


def write_all(changes: Iterable[tuple[Path, bytes | None, bytes]]) -> None:
    """Write files of which the old bytes are known (None: no file); put all back on an error."""
    touched: list[tuple[Path, bytes | None]] = []
    try:
        for path, old, new in changes:
            touched.append((path, old))
            files.write_atomic(path, new)
    except BaseException:
        for path, old in reversed(touched):
            with contextlib.suppress(FileError, OSError):
                if old is None:
                    path.unlink(missing_ok=True)
                elif files.read_bytes(path) != old:
                    files.write_atomic(path, old)
        raise
