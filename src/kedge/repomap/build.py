"""Making the map: list the files, read them, rank them, render the best."""

from __future__ import annotations

import marshal
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from kedge import __version__
from kedge.errors import FileError
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.host.redact import redact_value
from kedge.host.text import count_noun
from kedge.repomap import files
from kedge.repomap.cache import Cache
from kedge.repomap.listing import Listing, list_files
from kedge.repomap.neighbours import has_neighbours
from kedge.repomap.progress import Tick, no_tick

if TYPE_CHECKING:
    from kedge.repomap.definitions import Definition
    from kedge.repomap.rank import Ranker
    from kedge.repomap.render import RenderedMap
    from kedge.repomap.symbol_reader import SymbolReader
    from kedge.repomap.tree_data import Overview, TreeData
    from kedge.repomap.users import UserFinder


TOKENS = 1500
_DRAWN = 40  # files in the drawing


@dataclass(frozen=True, slots=True)
class MapRequest:
    """A text to rank for, and a budget of tokens; 0 lets the budget grow with the repository."""

    text: str = ""
    budget: int = TOKENS
    health: str | None = None

    def cache_key(self, listing: Listing) -> str:
        what = (__version__, listing.state, self.text, repr(self.budget), repr(self.health))
        return digest(part.encode("utf-8", "surrogatepass") for part in what)

    def token_budget(self, listing: Listing) -> int:
        size = len(listing.lines)
        return self.budget or min(10 * TOKENS, 100 * round(10 + math.sqrt(size) / 5))


@dataclass(frozen=True, slots=True)
class Map:
    """A finished map; `data` is what `--json` prints."""

    text: str
    data: dict[str, Any]
    warnings: list[str]
    settled: bool = True  # False if files changed while they were read


def make_map(project: Project, request: MapRequest, cache: Cache, progress: Tick = no_tick) -> Map:
    listing = list_files(project)
    key = request.cache_key(listing)
    memo = cache.load_memo("map", key, marshal.loads)
    if memo is not None and (request.text or has_neighbours(cache, project, listing)):
        data, problems = memo
        return Map(data["text"], data, [*cache.warnings, *problems])
    result = _build_map(project, request, cache, listing, progress)
    if result.settled and not result.data["failed"]:
        cache.keep_memo("map", key, marshal.dumps((result.data, result.warnings)))
    return replace(result, warnings=[*cache.warnings, *result.warnings])


def _build_map(
    project: Project, request: MapRequest, cache: Cache, listing: Listing, progress: Tick
) -> Map:
    from kedge.repomap.definitions import raise_files
    from kedge.repomap.render import render
    from kedge.repomap.symbol_reader import SymbolReader
    from kedge.repomap.tree import divide_code
    from kedge.repomap.tree_data import TreeData
    from kedge.repomap.users import UserFinder

    tree = TreeData(project, listing, cache, progress)
    ranker, overview = tree.ranker, tree.load_overview()
    ranking = ranker.rank(request.text)
    budget = request.token_budget(listing)
    excluded = _find_excluded(request.text, listing, ranker)
    scores = excluded | {ranker.path(number): ranking.scores[number] for number in ranking.order}
    reader = SymbolReader(project.root, listing, cache)
    finder = UserFinder(project.root, listing, ranker.index, reader.symbols, cache)
    definitions = _rank_definitions(tree, reader, scores, request.text, budget)
    if request.text:
        scores = raise_files(scores, definitions)
    rendered = render(
        overview.structure,
        divide_code(_weigh_code(ranker, ranking.scores, excluded)),
        list(scores),
        definitions,
        lambda path, most: _list_users(finder, path, most),
        budget=budget,
        has_text=bool(request.text),
        health=request.health,
    )
    reader.keep()
    finder.keep()
    if not request.text and not tree.failed:
        from kedge.repomap import neighbour_writer

        neighbour_writer.keep_neighbours(cache, project, listing, ranker)
    reader.failed |= tree.failed
    data = redact_value(_to_json(rendered, overview, reader, finder, budget, scores))
    problems = [*overview.structure.problems, *reader.failed.values()]
    if overview.unprintable:
        count = count_noun(overview.unprintable, "file")
        problems.append(f"{count} left out because of an unprintable name")
    return Map(data["text"], data, problems, tree.settled)


def _rank_definitions(
    tree: TreeData, reader: SymbolReader, scores: Mapping[str, float], text: str, budget: int
) -> list[Definition]:
    """Rank the definitions of the best files that are no documents."""
    from kedge.repomap.definitions import Source, count_files, rank_definitions

    best = max(scores.values(), default=0.0) or 1.0
    changes = {} if text else tree.load_changes()  # they say little beside a text
    paths = islice(filter(_is_code, scores), count_files(text, budget))
    sources = [
        Source(
            path,
            scores[path] / best,
            place,
            reader.read(path),
            reader.symbols(path),
            changes.get(path, {}),
        )
        for place, path in enumerate(paths)
    ]
    return rank_definitions(sources, text, tree.ranker.weigh_terms(text))


def open_ranker(project: Project, cache: Cache, progress: Tick = no_tick) -> Ranker:
    """Return a ranker of the project's files, and keep their neighbours if none are kept."""
    from kedge.repomap import neighbour_writer
    from kedge.repomap.tree_data import TreeData

    listing = list_files(project)
    tree = TreeData(project, listing, cache, progress)
    if not tree.failed and not has_neighbours(cache, project, listing):
        neighbour_writer.keep_neighbours(cache, project, listing, tree.ranker)
    return tree.ranker


def _find_excluded(text: str, listing: Listing, ranker: Ranker) -> dict[str, float]:
    """Score the vendored or generated files that the text names by their full paths."""
    from kedge.text import words

    paths = [path for path in words.find_paths(text) if path not in ranker.number]
    return dict.fromkeys(sorted(listing.find(paths)), 2.0)


def _weigh_code(
    ranker: Ranker, scores: Mapping[int, float], excluded: Mapping[str, float]
) -> dict[str, float]:
    """The squared score of each file of code, so that few good files outweigh many poor ones."""
    prose = ranker.index.is_prose
    own = {ranker.path(n): score * score for n, score in scores.items() if not prose(n)}
    return own | {path: score * score for path, score in excluded.items() if _is_code(path)}


def _is_code(path: str) -> bool:
    from kedge.repomap.languages import PROSE, language_of

    language = language_of(path)
    return language is not None and language.name not in PROSE


def explain(
    project: Project, request: MapRequest, cache: Cache, path: str, progress: Tick = no_tick
) -> dict[str, Any]:
    """Explain the rank of a file: its place, its score and the parts of that score."""
    from kedge.repomap.tree_data import TreeData

    listing = list_files(project)
    ranker = TreeData(project, listing, cache, progress).ranker
    number = ranker.number.get(path)
    if number is None:
        raise FileError(f"{path} is not in the map", hint=_explain_absence(listing, path))
    ranking = ranker.rank(request.text)
    near = ranker.graph.neighbours(number)[:8]
    return {
        "path": path,
        "place": ranking.order.index(number) + 1,
        "of": len(ranking.order),
        "score": round(ranking.scores[number], 4),
        "parts": {
            name: round(weight * ranking.parts[name].get(number, 0.0), 4)
            for name, weight in ranking.weights.items()
        },
        "factor": ranking.factor.get(number, 1.0),
        "near": [ranker.path(other) for other, _ in near],
        "changes_with": [other for other, _ in ranker.partners(path)],
    }


def draw_graph(
    project: Project, request: MapRequest, cache: Cache, progress: Tick = no_tick
) -> str:
    """Draw the most important files and their dependencies as SVG."""
    from kedge.repomap.draw import Node, draw
    from kedge.repomap.tree_data import TreeData

    ranker = TreeData(project, list_files(project), cache, progress).ranker
    ranking = ranker.rank(request.text)
    top = [number for number in ranking.order if _is_code(ranker.path(number))][:_DRAWN]
    nodes = [
        Node(ranker.path(number), ranking.scores[number], ranker.index.is_test_file(number))
        for number in top
    ]
    return draw(project.root.name, nodes, find_edges(ranker, top)[: _DRAWN * 4])


def find_edges(ranker: Ranker, numbers: Sequence[int]) -> list[tuple[int, int, float]]:
    """Return which of these files uses which, by their places in the list; strongest first."""
    place = {number: at for at, number in enumerate(numbers)}
    edges = [
        (place[user], place[used], float(weight))
        for user in numbers
        for used, weight in ranker.graph.dependencies(user)
        if used in place
    ]
    return sorted(edges, key=lambda edge: (-edge[2], edge))


def _explain_absence(listing: Listing, path: str) -> str:
    if any(file.path == path for file in listing.files):
        return "it is empty, too large, generated, or in no language that kedge reads"
    if files.is_excluded(path):
        return "its name says that it is vendored, generated or minified"
    from difflib import get_close_matches

    near = get_close_matches(path, [file.path for file in listing.files], n=1, cutoff=0.8)
    if near:
        return f"did you mean {near[0]}?"
    return "give its path from the root of the repository; ignored files are left out"


def _list_users(finder: UserFinder, path: str, most: int) -> list[str]:
    return [_shorten_path(user, path) for user in finder.find(path, most)]


def _shorten_path(path: str, other: str) -> str:
    """The file's name, with its directory unless both files are in the same one."""
    folder, _, name = path.rpartition("/")
    if folder == other.rpartition("/")[0] or not folder:
        return name
    return f"{folder.rpartition('/')[2]}/{name}"


def _to_json(
    rendered: RenderedMap,
    overview: Overview,
    reader: SymbolReader,
    finder: UserFinder,
    budget: int,
    scores: Mapping[str, float],
) -> dict[str, Any]:
    from kedge.repomap.languages import language_of

    structure = overview.structure
    rank = {path: round(scores[path], 4) for path in rendered.files}
    languages = (language_of(path) for path in reader.failed)
    failed = Counter(language.title for language in languages if language)
    return {
        "tokens": rendered.tokens,
        "budget": budget,
        "files": [
            {"path": path, "rank": rank[path], "used_by": finder.found.get(path, [])}
            for path in rendered.files
        ],
        "symbols": [
            {"path": path, **asdict(symbol), "rank": rank[path]}
            for path, symbol in rendered.symbols
        ],
        "stack": list(structure.stack),
        "commands": [
            {"kind": c.kind, "command": c.command, "source": c.source} for c in structure.commands
        ],
        "languages": [
            {"name": name, "files": count, "parsed": reader.parsed[name], "failed": failed[name]}
            for name, count in overview.languages
        ],
        "failed": dict(reader.failed),
        "text": rendered.text,
    }
