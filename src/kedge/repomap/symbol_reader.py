"""The definitions of the files that may be shown, cached by content."""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple
from pathlib import Path
from typing import Any

from kedge.host.digest import blob
from kedge.repomap import files
from kedge.repomap.cache import Cache
from kedge.repomap.files import File
from kedge.repomap.listing import Listing
from kedge.repomap.render import plain
from kedge.repomap.symbol import Symbol
from kedge.repomap.symbols import extract

_NAMED_BY_FILE = ("vue", "svelte", "astro")  # a component has the name of its file


class SymbolReader:
    """Reads the definitions of files, cached by content, and counts what it read."""

    def __init__(self, root: Path, listing: Listing, cache: Cache) -> None:
        self._root = root
        self._listing = listing
        self._cache = cache
        self._fresh: dict[str, list[tuple[Any, ...]]] = {}
        self.parsed: Counter[str] = Counter()  # files by language
        self.failed: dict[str, str] = {}
        self._known: dict[str, list[Symbol]] = {}

    def symbols(self, path: str) -> list[Symbol]:
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def _read(self, path: str) -> list[Symbol]:
        file = self._listing.find([path]).get(path)
        if file is None or file.language is None:
            return []
        key = _key(file)
        kept = self._cache.load_content("map_symbols", key)
        if kept is None:
            data = files.read(self._root, path)
            if data is None:
                return []
            result = extract(file.language, data, path)
            if result.failed:
                self.failed[path] = f"{path}: {result.failed}"
                return []
            kept = [
                tuple(plain(one) if isinstance(one, str) else one for one in astuple(symbol))
                for symbol in result.symbols
            ]
            if blob(data, file.key) == file.key:  # not if a filter or an edit changed the bytes
                self._fresh[key] = kept
        self.parsed[file.language.title] += 1
        return [Symbol(*values) for values in kept]

    def read(self, path: str) -> str:
        """Return the text of a file."""
        return (files.read(self._root, path) or b"").decode("utf-8", "replace")

    def keep(self) -> None:
        self._cache.keep_contents("map_symbols", self._fresh)


def _key(file: File) -> str:
    """The cache key of the file's definitions: its content, and what else they depend on."""
    name = file.path.rpartition("/")[2]
    language = file.language.name if file.language else ""
    also = name if language in _NAMED_BY_FILE else name.endswith(".h")
    return f"{language}:{also}:{file.key}"
