"""Remember files as they are, and put back those that somebody has changed since.

What is put back was changed by a program that nobody trusts, perhaps through links and with other
kinds of files. So no link is followed below a place, and the changed version is moved aside, where
its owner finds it if it was good after all.
"""

from __future__ import annotations

import base64
import os
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kedge.errors import FileError
from kedge.host import files

FILE, LINK, FOLDER, OTHER = "file", "link", "folder", "other"
_LARGEST = 4 << 20  # bytes of a file


@dataclass(frozen=True, slots=True)
class Entry:
    """A file with its mode and content, a link with its target, or a directory."""

    kind: str
    mode: int = 0
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Places:
    """What is guarded: single files or links, and directories with everything below them.

    In the place of a `frames` directory there may be nothing else, such as a link.
    """

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()

    def __or__(self, other: Places) -> Places:
        return Places(
            tuple(dict.fromkeys(self.files + other.files)),
            tuple(dict.fromkeys(self.folders + other.folders)),
            tuple(dict.fromkeys(self.frames + other.frames)),
        )

    def read(self) -> dict[str, Entry]:
        """Return what is there, by its path."""
        found: dict[str, Entry] = {}
        for path in self.frames:
            if (entry := _read(path)) is not None and entry.kind != FOLDER:
                found[path] = entry
        for path in self.files:
            if path not in found and (entry := _read(path)) is not None:
                found[path] = entry
        for path in self.folders:
            _read_below(path, found)
        return found


def find_changes(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> list[str]:
    """Return the paths that differ, parents before what is in them."""
    return sorted(one for one in before.keys() | after.keys() if before.get(one) != after.get(one))


def put_back(places: Places, before: Mapping[str, Entry], aside: Path) -> list[str]:
    """Make all places what they were; return the paths that had changed.

    Changed versions are moved to the directory `aside`, under their number in the list.
    """
    try:
        changed: list[str] = []
        # Behind a link in the place of a directory everything seems to have changed: once it is
        # put back, the rest is compared again.
        while moved := [one for one in find_changes(before, places.read()) if one not in changed]:
            for path in moved:
                _move_away(path, before.get(path), aside / f"{len(changed)}-{Path(path).name}")
                changed.append(path)
            for path in moved:
                if (entry := before.get(path)) is not None:
                    _create(path, entry)
        return changed
    except OSError as error:
        raise files.file_error("put back", Path(error.filename or ""), error) from error


def encode(entries: Mapping[str, Entry]) -> dict[str, Any]:
    """Return the entries as JSON."""
    return {
        path: [one.kind, one.mode, base64.b64encode(one.data).decode()]
        for path, one in entries.items()
    }


def decode(data: Mapping[str, Any]) -> dict[str, Entry]:
    return {
        path: Entry(kind, mode, base64.b64decode(text)) for path, (kind, mode, text) in data.items()
    }


def _read(path: str) -> Entry | None:
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return Entry(LINK, 0, os.fsencode(Path(path).readlink()))
    if stat.S_ISDIR(status.st_mode):
        return Entry(FOLDER, mode)
    if not stat.S_ISREG(status.st_mode):
        return Entry(OTHER)
    if status.st_size > _LARGEST:
        raise FileError(
            f"{path} has {status.st_size} bytes", hint="kedge run reads it as a setting"
        )
    return Entry(FILE, mode, files.read_bytes(Path(path)) or b"")


def _read_below(path: str, found: dict[str, Entry]) -> None:
    entry = _read(path)
    if entry is None:
        return
    found[path] = entry
    if entry.kind == FOLDER:
        with os.scandir(path) as inner:
            names = sorted(one.path for one in inner)
        for name in names:
            _read_below(name, found)


def _move_away(path: str, wanted: Entry | None, aside: Path) -> None:
    """Take what is in the place of an entry out of the way, unless it only has to be changed."""
    now = _read(path)
    if now is None or (wanted is not None and now.kind == wanted.kind == FOLDER):
        return
    aside.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(path, aside)


def _create(path: str, entry: Entry) -> None:
    if entry.kind == FOLDER:
        Path(path).mkdir(exist_ok=True)
        if entry.mode:
            Path(path).chmod(entry.mode)
    elif entry.kind == LINK:
        Path(path).symlink_to(os.fsdecode(entry.data))
    elif entry.kind == FILE:
        files.write_atomic(Path(path), entry.data, mode=entry.mode)
