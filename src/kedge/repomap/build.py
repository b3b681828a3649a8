"""Making the map: list, read, rank, show."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kedge import __version__
from kedge.errors import FileError
from kedge.host.project import Project
from kedge.repomap import files, rank
from kedge.repomap.cache import Cache
from kedge.repomap.files import File, Listing
from kedge.repomap.index import Index, index
from kedge.repomap.rank import Ranking
from kedge.repomap.render import Shown, render
from kedge.repomap.structure import Structure, describe
from kedge.repomap.symbols import Symbol, extract

TOKENS = 1500
_USERS = 3  # files named as users of a file


@dataclass(frozen=True, slots=True)
class Ask:
    """What the map is to be about, and how long it may be."""

    text: str = ""
    budget: int = TOKENS
    health: str | None = None

    def key(self, listing: Listing) -> str:
        what = json.dumps([__version__, listing.state, self.text, self.budget, self.health])
        return hashlib.sha256(what.encode()).hexdigest()


@dataclass(slots=True)
class Map:
    """The map and what it was made from; `data` is what `--json` prints."""

    text: str
    data: dict[str, Any]
    warnings: list[str] = field(default_factory=list)


def make(project: Project, ask: Ask, cache: Cache) -> Map:
    listing = files.listing(project)
    key = ask.key(listing)
    memo = cache.memo("map", key)
    if memo is not None:
        data = json.loads(memo)
        return Map(data["text"], data, list(cache.warnings))
    made = index(project, listing, cache)
    structure = describe(Tree(project.root, listing.files), made.history.recent)
    ranked = ranking(made, ask.text)
    reader = Reader(project.root, listing.files, cache)
    shown = render(
        structure,
        [made.paths[i] for i in rank.order(ranked.scores, made.paths)],
        lambda path: reader.best(path, ask.text),
        _users(made),
        title=project.root.name,
        budget=ask.budget,
        health=ask.health,
    )
    reader.keep()
    if listing.unnamed:
        reader.failed[""] = f"{listing.unnamed} files whose names cannot be printed are left out"
    data = _data(shown, structure, listing, reader, ask, made, ranked.scores)
    cache.keep_memo("map", key, json.dumps(data).encode())
    return Map(shown.text, data, [*cache.warnings, *structure.problems, *reader.failed.values()])


def ranking(made: Index, text: str) -> Ranking:
    if text.strip():
        return rank.for_text(text, made.paths, made.words, made.graph, made.history, made.weak)
    return rank.without_text(made.rank, made.history, made.weak)


def explain(project: Project, ask: Ask, cache: Cache, path: str) -> dict[str, Any]:
    """Why a file stands where it does: its place, its score, and what that is made of."""
    listing = files.listing(project)
    made = index(project, listing, cache)
    if path not in made.paths:
        raise FileError(f"{path} is not in the map", hint=_why_not(listing, path))
    ranked = ranking(made, ask.text)
    number = made.paths.index(path)
    near = made.graph.neighbours(number)[:8]
    return {
        "path": path,
        "place": rank.order(ranked.scores, made.paths).index(number) + 1,
        "of": len(made.paths),
        "score": round(ranked.scores[number], 4),
        "parts": {name: round(values[number], 4) for name, values in ranked.parts.items()},
        "factor": ranked.factor[number],
        "near": [made.paths[other] for other, _ in near],
        "changes_with": [made.paths[other] for other, _ in made.history.partners[number]],
    }


def _why_not(listing: Listing, path: str) -> str:
    found = next((file for file in listing.files if file.path == path), None)
    if found is not None:
        return "it is empty, too large, generated, or in no language that kedge reads"
    if files.is_foreign(path):
        return "its name says that it is vendored, generated or minified"
    return "give its path from the root of the repository; ignored files are left out"


class Reader:
    """Definitions of the files that are shown, read when they are asked for."""

    def __init__(self, root: Path, listed: Sequence[File], cache: Cache) -> None:
        self._root = root
        self._files = {file.path: file for file in listed}
        self._cache = cache
        self._fresh: dict[str, list[tuple[Any, ...]]] = {}
        self.read: Counter[str] = Counter()
        self.failed: dict[str, str] = {}

    def symbols(self, path: str) -> list[Symbol]:
        file = self._files[path]
        if file.language is None:
            return []
        key = f"{file.language.name}:{file.key}"
        kept = self._cache.contents("map_symbols", [key]).get(key)
        if kept is None:
            data = files.read(self._root, path)
            if data is None:
                return []
            found = extract(file.language, data, path)
            if found.failed:
                self.failed[path] = f"{path}: {found.failed}"
                return []
            kept = self._fresh[key] = [tuple(symbol) for symbol in found.symbols]
        self.read[file.language.name] += 1
        return [Symbol(*values) for values in kept]

    def best(self, path: str, text: str) -> list[Symbol]:
        """The symbols that say most about the file, for this text if there is one."""
        from kedge.repomap import terms

        asked = terms.of_text(text) if text else {}
        found = self.symbols(path)

        def worth(place: int) -> tuple[float, int]:
            symbol = found[place]
            told = sum(asked.get(term, 0.0) for term in terms.of_name(symbol.name))
            public = 0.0 if symbol.name.startswith("_") else 0.5
            kind = 0.6 if symbol.kind in _TYPES else 0.3 if symbol.parent is None else 0.0
            return -(told + public + kind), place

        return [found[place] for place in sorted(range(len(found)), key=worth)]

    def keep(self) -> None:
        self._cache.keep_contents("map_symbols", self._fresh)


_TYPES = {"class", "interface", "trait", "struct", "enum", "type"}


@dataclass(frozen=True, slots=True)
class Tree:
    root: Path
    files: Sequence[File]

    @property
    def paths(self) -> Sequence[str]:
        return [file.path for file in self.files]

    def read(self, path: str) -> bytes | None:
        return files.read(self.root, path)


def _users(made: Index) -> Any:
    number = {path: i for i, path in enumerate(made.paths)}

    def used_by(path: str) -> list[str]:
        near = made.graph.neighbours(number[path])
        strong = [other for other, _ in near if not made.weak[other]][:_USERS]
        return [made.paths[other].rpartition("/")[2] for other in strong]

    return used_by


def _data(
    shown: Shown,
    structure: Structure,
    listing: Listing,
    reader: Reader,
    ask: Ask,
    made: Index,
    scores: list[float],
) -> dict[str, Any]:
    number = {path: i for i, path in enumerate(made.paths)}
    by_language = Counter(file.language.title for file in listing.files if file.language)
    failed = Counter(
        file.language.name for file in listing.files if file.path in reader.failed and file.language
    )
    names = {file.language.title: file.language.name for file in listing.files if file.language}
    ranks = {path: round(scores[number[path]], 4) for path in shown.files}
    return {
        "tokens": shown.tokens,
        "budget": ask.budget,
        "files": [{"path": path, "rank": ranks[path]} for path in shown.files],
        "symbols": [
            {"path": path, **symbol._asdict(), "rank": ranks[path]}
            for path, symbol in shown.symbols
        ],
        "stack": list(structure.stack),
        "commands": [
            {"kind": c.kind, "command": c.command, "source": c.source} for c in structure.commands
        ],
        "languages": [
            {
                "name": title,
                "files": count,
                "parsed": reader.read[names[title]],
                "failed": failed[names[title]],
            }
            for title, count in sorted(by_language.items(), key=lambda pair: (-pair[1], pair[0]))
        ],
        "failed": dict(reader.failed),
        "text": shown.text,
    }
