"""Read files that the repository's own text names: only inside it, and only up to a limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kedge.errors import FileError, InvalidValue
from kedge.host import files
from kedge.host.project import Project
from kedge.host.text import clean, shorten

MAX_TEXT = 8 << 20
MAX_NAME = 1000
_HINT = "write the path relative to the root of the repository"


class UnreadableFile(FileError):
    """A file inside the repository that is too large, not a plain file, or not text."""


def display_text(text: str) -> str:
    """Make foreign text safe for a message: one short line without control characters."""
    safe = text.encode("utf-8", "replace").decode()
    return shorten(clean(safe), 120)


def parse_relative(name: str, *, what: str = "path") -> str:
    """Return the path as git writes it, relative to the root, a directory's with a final `/`."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    problems = {
        "is empty": not name.strip(),
        "contains a NUL": "\0" in name,
        f"has more than {MAX_NAME} characters": len(name) > MAX_NAME,
        "is absolute": name.startswith("/"),
        "leaves the repository with '..'": ".." in parts,
    }
    for problem, is_true in problems.items():
        if is_true:
            raise InvalidValue(f"{what} {display_text(name)!r} {problem}", hint=_HINT)
    return "/".join(parts) + ("/" if name.endswith("/") and parts else "") or "."


def resolve_inside(project: Project, name: str) -> Path:
    """Resolve a relative path; FileError if a link leads outside the repository."""
    try:
        return project.path(*parse_relative(name).rstrip("/").split("/"))
    except (ValueError, OSError) as error:  # a name that the file system cannot have
        raise FileError(f"{display_text(name)} is not a possible path here") from error


def read_file(project: Project, name: str, limit: int = MAX_TEXT) -> bytes | None:
    """Return the bytes of a file in the repository, None if there is none.

    FileError for a path that leads outside, or into `.git`; UnreadableFile for anything but a
    plain file of at most `limit` bytes.
    """
    path = resolve_inside(project, name)
    if any(part.lower() == ".git" for part in parse_relative(name).split("/")):
        raise FileError(
            f"{display_text(name)} belongs to git itself", hint="name a file of the work tree"
        )
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UnreadableFile(
            f"{display_text(name)} cannot be read", hint="check its permissions"
        ) from error
    try:
        data = read_bounded(fd, limit)
    except OSError as error:
        raise files.file_error("read", Path(name), error) from error
    if data is None:
        raise UnreadableFile(f"{display_text(name)} is not a file", hint="name a plain file")
    if len(data) > limit:
        raise UnreadableFile(
            f"{display_text(name)} has more than {limit >> 20} MiB",
            hint="split it, or cite a part of it",
        )
    return data


def read_bounded(fd: int, limit: int) -> bytes | None:
    """Read at most `limit + 1` bytes and close the file; None if it is not a plain file."""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(limit + 1)
    finally:
        os.close(fd)


def read_text(project: Project, name: str, limit: int = MAX_TEXT) -> str | None:
    """Return the file as text without its byte order mark; UnreadableFile if not UTF-8."""
    data = read_file(project, name, limit)
    if data is None:
        return None
    return decode_text(data, name)


def decode_text(data: bytes, name: str) -> str:
    try:
        text = data.decode().removeprefix("\ufeff")
        bad = text.find("\0")
        if bad < 0:
            return text
        line, why = text.count("\n", 0, bad) + 1, "it contains a NUL"
    except UnicodeDecodeError as error:
        line, why = data.count(b"\n", 0, error.start) + 1, "it is not UTF-8"
    raise UnreadableFile(f"{display_text(name)}:{line}: {why}", hint="save the file as UTF-8 text")
