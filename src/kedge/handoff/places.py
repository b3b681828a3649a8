"""Files that a repository's own text names: never outside the repository, never without bound."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kedge.errors import FileError, InvalidValue
from kedge.host import files
from kedge.host.project import Project
from kedge.host.text import clean, shortened

MAX_TEXT = 8 << 20
MAX_NAME = 1000
_BELOW = "write the path relative to the top of the repository"


class Unreadable(FileError):
    """A file inside the repository that is not what it has to be."""


def shown(text: str) -> str:
    """Text of others for a message: one short line, nothing in it that a terminal obeys."""
    safe = text.encode("utf-8", "replace").decode()
    return shortened(clean(safe), 120)


def relative(name: str, *, what: str = "path") -> str:
    """A path below the root as git writes it, a directory's with `/` at its end."""
    if not name.strip():
        raise InvalidValue(f"a {what} is empty", hint=_BELOW)
    if "\0" in name:
        raise InvalidValue(f"{what} {shown(name)!r} has a NUL in it", hint=_BELOW)
    if len(name) > MAX_NAME:
        raise InvalidValue(
            f"{what} {shown(name)!r} has more than {MAX_NAME} characters", hint=_BELOW
        )
    if name.startswith("/"):
        raise InvalidValue(f"{what} {shown(name)!r} is absolute", hint=_BELOW)
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise InvalidValue(f"{what} {shown(name)!r} leads out with '..'", hint=_BELOW)
    return "/".join(parts) + ("/" if name.endswith("/") and parts else "") or "."


def inside(project: Project, name: str) -> Path:
    """The real place of a relative path; FileError when a link leads out of the repository."""
    try:
        return project.path(*relative(name).rstrip("/").split("/"))
    except (ValueError, OSError) as error:  # a name that no file system has
        raise FileError(f"{shown(name)} cannot be a path here") from error


def read(project: Project, name: str, limit: int = MAX_TEXT) -> bytes | None:
    """The bytes of a file of the repository, None when there is none.

    FileError for a path that leads out, or into git's own directory; Unreadable for what is no
    plain file or has more than `limit` bytes.
    """
    path = inside(project, name)
    if any(part.lower() == ".git" for part in relative(name).split("/")):
        raise FileError(f"{shown(name)} belongs to git itself", hint="name a file of the work tree")
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise Unreadable(f"{shown(name)} cannot be read", hint="check its permissions") from error
    try:
        data = bounded(fd, limit)
    except OSError as error:
        raise files.file_error("read", Path(name), error) from error
    if data is None:
        raise Unreadable(f"{shown(name)} is not a file", hint="name a plain file")
    if len(data) > limit:
        raise Unreadable(
            f"{shown(name)} has more than {limit >> 20} MiB", hint="split it, or cite a part of it"
        )
    return data


def bounded(fd: int, limit: int) -> bytes | None:
    """What an open file holds, one byte more than the limit at most; None for no plain file."""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(limit + 1)
    finally:
        os.close(fd)


def text(project: Project, name: str, limit: int = MAX_TEXT) -> str | None:
    """The file as UTF-8 text without its byte order mark; Unreadable when it is none."""
    data = read(project, name, limit)
    if data is None:
        return None
    return decoded(data, name)


def decoded(data: bytes, name: str) -> str:
    try:
        found = data.decode().removeprefix("\ufeff")
        bad = found.find("\0")
        if bad < 0:
            return found
        line, why = found.count("\n", 0, bad) + 1, "there is a NUL in it"
    except UnicodeDecodeError as error:
        line, why = data.count(b"\n", 0, error.start) + 1, "it is not UTF-8"
    raise Unreadable(f"{shown(name)}:{line}: {why}", hint="save the file as UTF-8 text")
