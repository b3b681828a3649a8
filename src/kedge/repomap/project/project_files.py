"""The files of a repository, with lookups by name and directory; each is read and parsed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from kedge.repomap.project import formats
from kedge.repomap.project.census import Census, is_aside
from kedge.repomap.project.parts import FileSource, ancestors, join, parent
from kedge.repomap.project.yaml_values import parse_yaml

MAX_BYTES = 1_000_000
# for slow parsers
MAX_STRUCTURED = 256_000
MAX_HEAD = 65_536
MAX_TOP = 8_192


class ProjectFiles:
    """Lookups in a repository. Files that cannot be read or parsed are listed in `problems`."""

    def __init__(self, source: FileSource) -> None:
        self.source = source
        self.problems: dict[str, str] = {}
        self._read: dict[str, bytes | None] = {}
        self._parsed: dict[tuple[str, str], Any] = {}
        self._names: dict[str, list[str]] = {}  # of the files in each directory
        self._homes: dict[str, list[str]] = {}  # of the files of each name
        self._files = frozenset(path for path in source.paths if path.isprintable())
        for path in source.paths:
            if path in self._files:
                directory, _, name = path.rpartition("/")
                self._names.setdefault(directory, []).append(name)
                self._homes.setdefault(name, []).append(directory)

    @cached_property
    def census(self) -> Census:
        return Census(self._homes)

    @cached_property
    def directories(self) -> frozenset[str]:
        return frozenset(up for name in self._names for up in (name, *ancestors(name)) if up)

    @property
    def names(self) -> Iterable[str]:
        """The file names, without directories."""
        return self._homes

    def find_named(self, name: str) -> list[str]:
        """The files with this name, the least nested first."""
        found = [join(home, name) for home in self._homes.get(name, ())]
        return sorted(found, key=_depth) if len(found) > 1 else found

    def find_ending(self, *endings: str) -> list[str]:
        """The files whose names end with one of these, the least nested first."""
        found = [
            join(home, name)
            for name in self._homes
            if name.endswith(endings)
            for home in self._homes[name]
        ]
        return sorted(found, key=_depth)

    def has(self, *paths: str) -> bool:
        return any(path in self._files for path in paths)

    def exists(self, path: str) -> bool:
        """True if the file exists, also if it is not among the paths, as a lock file."""
        if path in self._files:
            return True
        return self._bytes(path) is not None

    def first(self, directory: str, *names: str) -> str | None:
        """The first of these files that exists in the directory."""
        for name in names:
            if (path := join(directory, name)) in self._files:
                return path
        return None

    def inside(self, directory: str) -> list[str]:
        """The files directly in the directory."""
        return [join(directory, name) for name in self._names.get(directory, ())]

    def homes(self, *names: str, limit: int = 4) -> list[str]:
        """The directories of projects with one of these manifests.

        Only the root if it has one; otherwise the least nested, without examples and tests.
        """
        if any(name in self._files for name in names):
            return [""]
        return self._shallow(names)[:limit]

    def below(self, *names: str, family: str) -> list[str]:
        """The project directories below the root, with code of the family."""
        return [home for home in self._shallow(names) if self.census.weight(family, home)]

    def _shallow(self, names: Sequence[str]) -> list[str]:
        directories = {parent(path) for name in names for path in self.find_named(name)} - {""}
        kept = {name for name in directories if name.count("/") < 3 and not is_aside(name)}
        tops = {name for name in kept if not any(up in kept for up in ancestors(name))}
        return sorted(tops, key=lambda name: (-self.census.files_in(name), name))

    def text(self, path: str) -> str | None:
        """The text of a configuration file, or None if it is missing or too large."""
        found: str | None = self._once("text", path, str)
        return found

    def head(self, path: str) -> str:
        """The beginning of a file of any size; empty if there is none."""
        data = self._bytes(path) if path in self._files else None
        return _decode((data or b"")[:MAX_HEAD])

    def top(self, path: str) -> str:
        """The first lines of a file, enough to describe it."""
        return self.head(path)[:MAX_TOP]

    def _bytes(self, path: str) -> bytes | None:
        if path not in self._read:
            self._read[path] = self.source.read(path)
        return self._read[path]

    def json(self, path: str) -> formats.Table:
        return formats.as_table(self._once("json", path, formats.parse_json))

    def toml(self, path: str) -> formats.Table:
        return formats.as_table(self._once("toml", path, formats.parse_toml, MAX_STRUCTURED))

    def yaml(self, path: str) -> Any:
        return self._once("yaml", path, parse_yaml, MAX_STRUCTURED)

    def ini(self, path: str) -> dict[str, dict[str, str]]:
        return self._once("ini", path, formats.parse_ini, MAX_STRUCTURED) or {}

    def _once(
        self, kind: str, path: str, parse: Callable[[str], Any], limit: int = MAX_BYTES
    ) -> Any:
        key = (kind, path)
        if key not in self._parsed:
            self._parsed[key] = self._parse(path, parse, limit)
        return self._parsed[key]

    def _parse(self, path: str, parse: Callable[[str], Any], limit: int) -> Any:
        if path not in self._files:
            return None
        data = self._bytes(path)
        if data is None:
            self.problems[path] = f"{path}: cannot be read"
            return None
        if len(data) > limit:
            self.problems[path] = f"{path}: larger than {limit // 1000} kB, not read"
            return None
        try:
            return parse(_decode(data))
        except formats.Broken as broken:
            self.problems[path] = f"{path}: {broken}"
            return None


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _decode(data: bytes) -> str:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    return data.decode(encoding, "replace").removeprefix("\ufeff").replace("\r\n", "\n")
