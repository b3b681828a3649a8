"""The project's documents (tasks, features, lessons): untrusted to read, written all or none."""

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


def display_path(root: Path, path: Path) -> str:
    """Return the path for messages: relative to the root, on one line, printable."""
    name = os.fsencode(path.relative_to(root).as_posix()).decode(errors="replace")
    return "".join(c if c.isprintable() else "\ufffd" for c in name)


def is_outside(root: Path, path: Path) -> bool:
    """True if the path leads out of the root through a symbolic link or `..`."""
    # not Path.resolve, which raises RuntimeError for a link that points to itself
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def read(root: Path, path: Path) -> bytes:
    """Return the bytes of a regular file inside the root. Raises BrokenTasks with the file's name
    for anything else."""
    name = display_path(root, path)
    try:
        if is_outside(root, path):
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
    """Return the bytes as text. Raises BrokenTasks with the line that is not UTF-8 text."""
    try:
        text = data.decode()
        bad, what = text.find("\0"), "there is a NUL in it"
        line = text.count("\n", 0, bad) + 1
    except UnicodeDecodeError as error:
        bad, what = error.start, "it is not UTF-8"
        line = data.count(b"\n", 0, bad) + 1
    if bad >= 0:
        raise BrokenTasks(
            f"{display_path(root, path)}:{line}: {what}", hint="save the file as UTF-8 text"
        )
    return text


def write_all(root: Path, changes: Iterable[tuple[Path, bytes | None, bytes]]) -> None:
    """Write each (path, old bytes or None, new bytes); restore the old bytes of all on an error.

    They are remembered as kedge's own edits.
    """
    from kedge.host import own_edits  # hooks read documents and never write one

    touched: list[tuple[Path, bytes | None, bytes]] = []
    try:
        for path, old, new in changes:
            touched.append((path, old, new))
            own_edits.note(
                root, [(path, old, new)]
            )  # before, so that no reader sees it unexplained
            files.replace_atomic(path, old, new)
    except BaseException:
        for path, old, new in reversed(touched):
            with contextlib.suppress(FileError, OSError):
                if old == new or files.read_bytes(path) != new:
                    continue  # not written, or saved by somebody else since
                if old is None:
                    path.unlink(missing_ok=True)
                else:
                    files.write_atomic(path, old)
        raise
