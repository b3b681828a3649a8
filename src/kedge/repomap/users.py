"""Who uses a file: the files that import it, or that mention a name that only it defines.

The index proposes candidates: files with one of its import keys or one of its names. Each one is
read, and listed only if it certainly uses the file.

What was found for a file is cached with everything that it depends on: the candidates, the names
that other files define as well, all paths, and the contents of the files that were read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from kedge.host.digest import blob, digest
from kedge.repomap import files
from kedge.repomap.cache import Cache
from kedge.repomap.code import is_script
from kedge.repomap.index import COUNT, DEFINED, IMPORTED, Index
from kedge.repomap.languages import language_of
from kedge.repomap.listing import Listing
from kedge.repomap.mentions import Definitions, Source, has_mention
from kedge.repomap.resolve import EVERYTHING, MANIFESTS, Import, Resolver
from kedge.repomap.symbol import Symbol

_MOST_READ = 8  # candidates that are read for a file
_DEEPEST = 3  # files that pass a name on to each other
_IMPORT = 3.0  # weight of an import, relative to a name
_PASSING = frozenset({"__init__.py", "mod.rs", "lib.rs"})
_JVM = frozenset({"java", "kotlin", "scala", "groovy"})
_C = frozenset({"c", "cpp", "objc"})


class UserFinder:
    """Finds the users of files. What is read of a user is kept for the other files."""

    def __init__(
        self,
        root: Path,
        listing: Listing,
        index: Index,
        symbols: Callable[[str], Sequence[Symbol]],
        cache: Cache,
    ) -> None:
        self._root = root
        self._listing = listing
        self._index = index
        self._symbols = symbols
        self._cache = cache
        self._number = {path: n for n, path in enumerate(index.paths) if path is not None}
        self._sources: dict[str, Source | None] = {}
        self._imports: dict[str, list[Import]] = {}
        self._opened: set[str] = set()  # for the file whose users are being looked for
        self._fresh: dict[str, tuple[Any, ...]] = {}
        self.found: dict[str, list[str]] = {}

    def find(self, path: str, most: int) -> list[str]:
        """Files that certainly use this one, the strongest first. Tests are only listed if there
        are no others."""
        if path not in self.found:
            number = self._number.get(path)  # None for an excluded file
            self.found[path] = [] if number is None else self._load(path, number, most)
        return self.found[path]

    def keep(self) -> None:
        self._cache.keep_contents("map_symbols", self._fresh)

    def _load(self, path: str, number: int, most: int) -> list[str]:
        """Load the users of a file from the cache, or find them if something has changed."""
        groups, rivals = self._propose(path, number), self._find_rivals(number)
        asked = digest([repr((most, groups, sorted(rivals.items()))).encode(), self._paths])
        key = f"users:{path}"
        kept = self._cache.load_content("map_symbols", key)
        if kept is not None and kept[0] == asked and self._listing.lines.issuperset(kept[1]):
            return list(kept[2])
        self._opened = {path}
        users = self._find(path, groups, rivals, most)
        if None not in (lines := [self._find_line(one) for one in sorted(self._opened)]):
            self._fresh[key] = (asked, lines, users)
        return users

    def _find(
        self,
        path: str,
        groups: Sequence[Sequence[str]],
        rivals: Mapping[str, Sequence[str] | None],
        most: int,
    ) -> list[str]:
        source = self._open(path)
        if source is None:
            return []
        package = self._resolver.find_go_package(path) if source.language == "go" else ""
        definitions = Definitions(source, self._symbols(path), rivals, package)
        for group in groups:
            users = (user for user in group if self._is_user(user, definitions))
            if found := list(islice(users, most)):
                return found
        return []

    @cached_property
    def _resolver(self) -> Resolver:
        return Resolver(map(files.decode_path, self._listing.names), self._read)

    @cached_property
    def _paths(self) -> bytes:
        """A digest of all paths and of the files that say how packages are named."""
        names = sorted(self._listing.names)
        manifests = [files.decode_path(name) for name in names if name.endswith(MANIFESTS)]
        keys = [file.key.encode() for file in self._listing.find(manifests).values()]
        return digest([*names, b"", *keys]).encode()

    def _find_line(self, path: str) -> bytes | None:
        """The line of a file in the listing; None if it was not read as it is listed."""
        source, file = self._open(path), self._listing.find([path]).get(path)
        if source is None or file is None or blob(source.data, file.key) != file.key:
            return None
        return self._listing.find_line(path)

    def _is_user(self, path: str, used: Definitions) -> bool:
        user = self._open(path)
        if user is None:
            return False
        imports = self._resolve(path)
        if any(one.path == used.source.path for one in imports):
            return True
        offered = {one.name for one in used.symbols if one.parent is None}
        return any(
            one.name in offered and self._passes_on(one, used.source.path) for one in imports
        ) or has_mention(user, used)

    def _passes_on(self, what: Import, path: str, depth: int = _DEEPEST) -> bool:
        """True if a file offers a name only because it imports it from the other file."""
        for one in self._resolve(what.path):
            if one.name in (what.name, EVERYTHING):
                if one.path == path:
                    return True
                if depth and self._passes_on(Import(one.path, what.name), path, depth - 1):
                    return True
        return False

    def _resolve(self, path: str) -> list[Import]:
        self._opened.add(path)
        if path not in self._imports:
            self._imports[path] = []
            if source := self._open(path):
                found = self._resolver.resolve(path, source.language, source.text)
                self._imports[path] = sorted(found)
        return self._imports[path]

    def _propose(self, path: str, number: int) -> tuple[list[str], list[str]]:
        """The files of code, and the tests, that have an import key or a name of a file."""
        index = self._index
        found: dict[int, float] = {}
        parts = {one.name.rpartition(".")[2] for one in self._symbols(path) if "." in one.name}
        for entry in index.names_in(number):
            name = entry >> 8
            few = len(index.definers(name))
            if not entry & DEFINED:
                if not parts or index.text_of(name) not in parts:
                    continue
                few = 1
            for post in index.posts(name):
                share = _IMPORT if post & IMPORTED else 0.0
                if few and post & COUNT and not post & DEFINED:
                    share = (1 + math.log(post & COUNT)) / few
                if share:
                    found[post >> 8] = found.get(post >> 8, 0.0) + share
        found.pop(number, None)
        family, paths = _family_of(path), index.paths
        groups: tuple[list[str], list[str]] = ([], [])
        for other in sorted(found, key=lambda one: (_passes(paths[one]), -found[one], paths[one])):
            group, user = groups[index.is_test_file(other)], paths[other] or ""
            if len(group) < _MOST_READ and _family_of(user) == family:
                group.append(user)
        return groups

    def _find_rivals(self, number: int) -> dict[str, Sequence[str] | None]:
        """The names that a file defines, with the other files that define them."""
        index = self._index
        found: dict[str, Sequence[str] | None] = {}
        for entry in index.names_in(number):
            if entry & DEFINED:
                name = entry >> 8
                definers = index.definers(name)
                others = [index.paths[one] or "" for one in definers if one != number]
                found[index.text_of(name)] = others if definers else None
        return found

    def _open(self, path: str) -> Source | None:
        self._opened.add(path)
        if path not in self._sources:
            self._sources[path] = None
            language, data = language_of(path), self._read(path)
            if language is not None and data is not None:
                self._sources[path] = Source(path, language.name, data)
        return self._sources[path]

    def _read(self, path: str) -> bytes | None:
        return files.read(self._root, path)


def _passes(path: str | None) -> bool:
    """True for a file that mostly passes on the names of others."""
    return (path or "").rpartition("/")[2] in _PASSING


def _family_of(path: str) -> str | None:
    language = language_of(path)
    return _family(language.name) if language else None


def _family(language: str) -> str:
    if is_script(language):
        return "script"
    return "jvm" if language in _JVM else "c" if language in _C else language
