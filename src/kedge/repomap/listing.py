"""The files of a project: what git tracks, and untracked files that it does not ignore."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.host.digest import blob, digest
from kedge.host.project import Project
from kedge.repomap.files import (
    MAX_BYTES,
    File,
    decode_path,
    encode_path,
    is_excluded,
    read_content,
    sort_by_path,
)

if TYPE_CHECKING:
    from kedge.host.git import Repo


_SUBMODULE = b"160000"
_TRACKED = ("--cached", "--stage", "--modified")
_UNTRACKED = ("--others", "--exclude-standard")


class Listing:
    """The files of a project, each as a line of `git ls-files --stage`.

    `state` identifies the whole listing. It is cheap, so that an unchanged map is found in the
    cache by it; `lines` and `files` are computed when they are first used.
    """

    def __init__(
        self,
        index: bytes,
        changed: Iterable[bytes],
        on_disk: Mapping[bytes, bytes | None],
        history_key: str | None,
    ) -> None:
        """`index` has the lines of git's index, sorted by path. `changed` are the paths that
        differ from it, and `on_disk` their lines (None for a file that cannot be read)."""
        self._index = index
        self._changed = frozenset(changed)
        self._on_disk = {name: line for name, line in on_disk.items() if line}
        self.unreadable = [decode_path(name) for name, line in on_disk.items() if line is None]
        self.history_key = history_key  # identifies HEAD, and how much of its history is here
        parts = (*sorted(self._changed), b"", *self._on_disk.values())
        index_id = digest([index]) if index else ""
        self.state = digest((index_id.encode(), (history_key or "").encode(), *parts))

    @cached_property
    def _by_name(self) -> dict[bytes, bytes]:
        """The lines by path. A path in conflict has several in the index, but one on disk."""
        lines = {_name(line): line for line in self._index.split(b"\0")[:-1]}
        for name in self._changed:
            lines.pop(name, None)
        return lines | self._on_disk

    @cached_property
    def lines(self) -> frozenset[bytes]:
        return frozenset(self._by_name.values())

    @cached_property
    def files(self) -> tuple[File, ...]:
        """The files that may be in the map, sorted by path."""
        return tuple(sort_by_path(file for line in self.lines if (file := parse_line(line))))

    def find(self, paths: Iterable[str]) -> dict[str, File]:
        """These files by path, excluded ones too."""
        lines = [line for path in paths if (line := self.find_line(path))]
        files = (parse_line(line, with_excluded=True) for line in lines)
        return {file.path: file for file in files if file}

    def find_line(self, path: str) -> bytes | None:
        return self._by_name.get(encode_path(path))

    @property
    def unprintable(self) -> int:
        """How many files are left out because their names are not printable UTF-8."""
        return sum(not decode_path(name).isprintable() for name in self.names)

    @property
    def names(self) -> Collection[bytes]:
        """The paths of all files, excluded ones too."""
        return self._by_name.keys()


def _name(line: bytes) -> bytes:
    return line[line.index(b"\t") + 1 :]


def parse_line(line: bytes, *, with_excluded: bool = False) -> File | None:
    """The file of a line; None for a link or submodule, and by default for an excluded file."""
    from kedge.repomap.languages import language_of

    head, _, name = line.partition(b"\t")
    path = decode_path(name)
    mode, key, stage = head.split()[-3:]
    if mode not in (b"100644", b"100755") or stage != b"0":
        return None
    if not path.isprintable() or (is_excluded(path) and not with_excluded):
        return None
    return File(path, key.decode(), language_of(path))


def list_files(project: Project) -> Listing:
    repo = project.repo
    if repo is None:
        from kedge.repomap.outside_git import list_paths

        names = list_paths(project.root)
        return Listing(b"", names, _read_lines(project.root, names), None)
    index, names = _ask_git(repo)
    names = sorted({name for name in names if not name.startswith(b".kedge/")})
    head = repo.head()
    history_key = f"{head} {repo.shallow()}" if head else None
    return Listing(index, names, _read_lines(project.root, names), history_key)


def _ask_git(repo: Repo) -> tuple[bytes, list[bytes]]:
    """The lines of git's index, and the paths of files that may differ from it."""
    # A tracked file is `H mode blob stage<tab>path`, repeated with `C` if it changed; an untracked
    # one is `? path`. Other letters mark files in conflict, or that git is told not to compare.
    raw = repo.git("ls-files", "-z", "-v", *_TRACKED, *_UNTRACKED)
    names: list[bytes] = []
    if extra := re.findall(rb"(?<![^\0])[?Cc] [^\0]*\0", raw):
        raw = re.sub(rb"(?<![^\0])[?Cc] [^\0]*\0", b"", raw)
        for line in extra:
            if line[:1] == b"?":
                names.append(line[2:-1])
            elif line[2:8] != _SUBMODULE:
                names.append(_name(line[:-1]))
    uncompared = [_name(line) for line in re.findall(rb"\0([^H\0][^\0]*)", b"\0" + raw)]
    return raw, uncompared + names


def _read_lines(root: Path, names: Iterable[bytes]) -> dict[bytes, bytes | None]:
    """The line of each file as it is on disk, None if it cannot be read. A path behind a symbolic
    link is left out: git lists what was there before the link."""
    top = os.path.realpath(os.fsencode(root))
    is_link_free: dict[bytes, bool] = {}
    lines: dict[bytes, bytes | None] = {}
    for name in names:
        folder = name.rpartition(b"/")[0]
        if folder not in is_link_free:
            place = top + b"/" + folder if folder else top
            is_link_free[folder] = os.path.realpath(place) == place
        if is_link_free[folder] and (line := _read_line(root, name)) != b"":
            lines[name] = line
    return lines


def _read_line(root: Path, name: bytes) -> bytes | None:
    """The line that git would have for the file; the size stands for the content of a large one.

    Empty if there is no regular file, None if it cannot be read.
    """
    try:
        data, size = read_content(root, name)
    except OSError:
        return None
    if data is None:
        return b""
    content = data if size <= MAX_BYTES else b"%d" % size
    return b"H 100644 %s 0\t%s" % (blob(content).encode(), name)
