"""Making the map: list, read, rank, show."""

from __future__ import annotations

import marshal
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from kedge import __version__
from kedge.errors import FileError
from kedge.host.digest import blob, digest
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.repomap import files
from kedge.repomap.cache import Cache
from kedge.repomap.files import File, Listing
from kedge.repomap.progress import Tick, no_tick

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.repomap.knowledge import Overview
    from kedge.repomap.rank import Known
    from kedge.repomap.render import Shown
    from kedge.repomap.symbols import Symbol

TOKENS = 1500
_USERS = 3  # files named as users of a file
_BRANCH = 100  # tokens of the budget for each line of the tree
_DRAWN = 40  # files in the drawing
_MANY = 20  # files that have a name, above which more do not matter
_NAMED_BY_FILE = ("vue", "svelte", "astro")  # components
_TYPES = frozenset({"class", "interface", "trait", "struct", "enum", "type"})


class Ask(NamedTuple):
    """What the map is to be about, and how many tokens it may have; 0 for what fits the size."""

    text: str = ""
    budget: int = TOKENS
    health: str | None = None

    def key(self, listing: Listing) -> str:
        what = (__version__, listing.state, self.text, repr(self.budget), repr(self.health))
        return digest(part.encode("utf-8", "surrogatepass") for part in what)

    def tokens(self, listing: Listing) -> int:
        size = len(listing.lines)
        return self.budget or min(10 * TOKENS, 100 * round(10 + math.sqrt(size) / 5))


class Map(NamedTuple):
    """The map and what it was made from; `data` is what `--json` prints."""

    text: str
    data: dict[str, Any]
    warnings: list[str]
    listing: Listing
    settled: bool = True  # whether the files stayed as they were while they were read


def make(project: Project, ask: Ask, cache: Cache, progress: Tick = no_tick) -> Map:
    listing = files.listing(project, cache)
    key = ask.key(listing)
    memo = cache.memo("map", key, marshal.loads)
    if memo is not None and (ask.text or _neighbours_kept(project, cache, listing)):
        data, problems = memo
        return Map(data["text"], data, [*cache.warnings, *problems], listing)
    made = _make(project, ask, cache, listing, progress)
    if made.settled and not made.data["failed"]:
        cache.keep_memo("map", key, marshal.dumps((made.data, made.warnings)))
    return made._replace(warnings=[*cache.warnings, *made.warnings])


def _neighbours_kept(project: Project, cache: Cache, listing: Listing) -> bool:
    from kedge.repomap import neighbours

    return neighbours.are_kept(cache, project, listing)


def _make(project: Project, ask: Ask, cache: Cache, listing: Listing, progress: Tick) -> Map:
    from kedge.repomap.knowledge import Knowledge
    from kedge.repomap.render import WITH_TEXT, WITHOUT, render
    from kedge.repomap.tree import branches

    known = Knowledge(project, listing, cache, progress)
    ranks, overview = known.ranks, known.overview()
    ranked = ranks.ranking(ask.text)
    budget = ask.tokens(listing)
    foreign = _foreign(ask.text, listing, ranks)
    scores = foreign | {ranks.path(number): ranked.scores[number] for number in ranked.order}
    reader = Reader(project.root, listing, cache)
    shown = render(
        overview.structure,
        branches(_code(ranks, ranked.scores, foreign), budget // _BRANCH),
        list(scores),
        lambda path: reader.best(path, ask.text, ranks.offers(path)),
        lambda path: _users(ranks, path),
        budget=budget,
        shares=WITH_TEXT if ask.text else WITHOUT,
        health=ask.health,
    )
    reader.keep()
    if not ask.text and not known.failed:
        from kedge.repomap import nearest

        nearest.keep(cache, project, listing, ranks)
    reader.failed |= known.failed
    data = _data(shown, overview, reader, budget, scores)
    problems = [*overview.structure.problems, *reader.failed.values()]
    if overview.unnamed:
        problems.append(f"{overview.unnamed} files whose names cannot be printed are left out")
    return Map(shown.text, data, problems, listing, known.settled)


def _foreign(text: str, listing: Listing, ranks: Known) -> dict[str, float]:
    """Files that nobody here wrote, which the text asks for by their full paths."""
    from kedge.repomap import terms

    asked = [path for path in terms.paths_in(text) if path not in ranks.number]
    return dict.fromkeys(sorted(listing.find(asked)), 2.0)


def _code(
    ranks: Known, scores: Mapping[int, float], foreign: Mapping[str, float]
) -> dict[str, float]:
    """What code weighs: without prose, and so that a few good files beat many others."""
    prose = ranks.index.prose
    own = {ranks.path(n): score * score for n, score in scores.items() if not prose(n)}
    return own | {path: score * score for path, score in foreign.items() if _is_code(path)}


def _is_parsed(path: str) -> bool:
    from kedge.repomap.languages import language_of

    language = language_of(path)
    return language is not None and language.grammar is not None


def _is_code(path: str) -> bool:
    from kedge.repomap.languages import PROSE, language_of

    language = language_of(path)
    return language is not None and language.name not in PROSE


def explain(
    project: Project, ask: Ask, cache: Cache, path: str, progress: Tick = no_tick
) -> dict[str, Any]:
    """Why a file stands where it does: its place, its score, and what that is made of."""
    from kedge.repomap.knowledge import Knowledge

    listing = files.listing(project, cache)
    ranks = Knowledge(project, listing, cache, progress).ranks
    number = ranks.number.get(path)
    if number is None:
        raise FileError(f"{path} is not in the map", hint=_why_not(listing, path))
    ranked = ranks.ranking(ask.text)
    near = ranks.graph.neighbours(number)[:8]
    return {
        "path": path,
        "place": ranked.order.index(number) + 1,
        "of": len(ranked.order),
        "score": round(ranked.scores[number], 4),
        "parts": {name: round(values.get(number, 0), 4) for name, values in ranked.parts.items()},
        "factor": ranked.factor.get(number, 1.0),
        "near": [ranks.path(other) for other, _ in near],
        "changes_with": [other for other, _ in ranks.partners(path)],
    }


def drawing(project: Project, ask: Ask, cache: Cache, progress: Tick = no_tick) -> str:
    """The files that matter most and who uses whom, as an SVG."""
    from kedge.repomap.draw import Node, draw
    from kedge.repomap.knowledge import Knowledge

    ranks = Knowledge(project, files.listing(project, cache), cache, progress).ranks
    ranked = ranks.ranking(ask.text)
    top = [number for number in ranked.order if _is_code(ranks.path(number))][:_DRAWN]
    place = {number: at for at, number in enumerate(top)}
    nodes = [
        Node(ranks.path(number), ranked.scores[number], ranks.index.weak(number)) for number in top
    ]
    edges = [
        (place[user], place[used], float(weight))
        for user in top
        for used, weight in ranks.graph.uses(user)
        if used in place
    ]
    edges.sort(key=lambda edge: (-edge[2], edge))
    return draw(project.root.name, nodes, edges[: _DRAWN * 4])


def _why_not(listing: Listing, path: str) -> str:
    found = next((file for file in listing.files if file.path == path), None)
    if found is not None:
        return "it is empty, too large, generated, or in no language that kedge reads"
    if files.is_foreign(path):
        return "its name says that it is vendored, generated or minified"
    from difflib import get_close_matches

    near = get_close_matches(path, [file.path for file in listing.files], n=1, cutoff=0.8)
    if near:
        return f"did you mean {near[0]}?"
    return "give its path from the root of the repository; ignored files are left out"


def _users(ranks: Known, path: str) -> list[str]:
    if path not in ranks.number:
        return []
    users = ranks.graph.used_by(ranks.number[path])
    strong = [ranks.path(other) for other, _ in users if not ranks.index.weak(other)]
    return [_near(other, path) for other in strong if _is_parsed(other)][:_USERS]


def _near(path: str, other: str) -> str:
    """The path in short, seen from another."""
    folder, _, name = path.rpartition("/")
    if folder == other.rpartition("/")[0] or not folder:
        return name
    return f"{folder.rpartition('/')[2]}/{name}"


class Reader:
    """Definitions of the files that are shown, read when they are asked for."""

    def __init__(self, root: Path, listing: Listing, cache: Cache) -> None:
        self._root = root
        self._listing = listing
        self._cache = cache
        self._fresh: dict[str, list[tuple[Any, ...]]] = {}
        self.read: Counter[str] = Counter()
        self.failed: dict[str, str] = {}

    def symbols(self, path: str) -> list[Symbol]:
        from kedge.repomap.render import plain
        from kedge.repomap.symbols import Symbol, extract

        file = self._listing.find([path]).get(path)
        if file is None or file.language is None:
            return []
        key = _key(file)
        kept = self._cache.content("map_symbols", key)
        if kept is None:
            data = files.read(self._root, path)
            if data is None:
                return []
            found = extract(file.language, data, path)
            if found.failed:
                self.failed[path] = f"{path}: {found.failed}"
                return []
            kept = [
                tuple(plain(one) if isinstance(one, str) else one for one in symbol)
                for symbol in found.symbols
            ]
            if blob(data, file.key) == file.key:  # else a filter or an edit came between
                self._fresh[key] = kept
        self.read[file.language.title] += 1
        return [Symbol(*values) for values in kept]

    def best(self, path: str, text: str, known: Mapping[str, int]) -> list[Symbol]:
        """The symbols that say most about the file, for this text if there is one. `known` tells
        how many files have each of its names."""
        from kedge.repomap import terms

        asked = terms.of_text(text) if text else {}
        found = self.symbols(path)

        def worth(place: int) -> tuple[float, int]:
            symbol = found[place]
            told = sum(asked.get(term, 0.0) for term in terms.of_name(symbol.name)) if asked else 0
            used = min(known.get(symbol.name, 1), _MANY) / _MANY
            public = 0.0 if symbol.name.startswith("_") else 0.5
            kind = 0.6 if symbol.kind in _TYPES else 0.3 if symbol.parent is None else 0.0
            return -(told + used + public + kind), place

        once: dict[tuple[str, str | None], Symbol] = {}  # an overload says no more
        for place in sorted(range(len(found)), key=worth):
            once.setdefault((found[place].name, found[place].parent), found[place])
        return list(once.values())

    def keep(self) -> None:
        self._cache.keep_contents("map_symbols", self._fresh)


def _key(file: File) -> str:
    """The content and all else that its definitions depend on."""
    name = file.path.rpartition("/")[2]
    language = file.language.name if file.language else ""
    also = name if language in _NAMED_BY_FILE else name.endswith(".h")
    return f"{language}:{also}:{file.key}"


def _data(
    shown: Shown, overview: Overview, reader: Reader, budget: int, scores: Mapping[str, float]
) -> dict[str, Any]:
    from kedge.repomap.languages import language_of

    structure = overview.structure
    rank = {path: round(scores[path], 4) for path in shown.files}
    languages = (language_of(path) for path in reader.failed)
    failed = Counter(language.title for language in languages if language)
    return {
        "tokens": shown.tokens,
        "budget": budget,
        "files": [{"path": path, "rank": rank[path]} for path in shown.files],
        "symbols": [
            {"path": path, **symbol._asdict(), "rank": rank[path]} for path, symbol in shown.symbols
        ],
        "stack": list(structure.stack),
        "commands": [
            {"kind": c.kind, "command": c.command, "source": c.source} for c in structure.commands
        ],
        "languages": [
            {"name": name, "files": count, "parsed": reader.read[name], "failed": failed[name]}
            for name, count in overview.languages
        ],
        "failed": dict(reader.failed),
        "text": shown.text,
    }
