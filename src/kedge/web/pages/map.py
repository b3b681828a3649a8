"""The map: the best files for a text or in general, who uses whom, and where agents work."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from kedge.drift.report import account
from kedge.repomap import build
from kedge.repomap.cache import Cache
from kedge.repomap.listing import list_files
from kedge.store import overview
from kedge.web.map_graph import MapFile, draw_graph
from kedge.web.routes import Refused

if TYPE_CHECKING:
    from kedge.repomap.rank import Ranker
    from kedge.web.routes import Target
    from kedge.web.source import Source

_LISTED, _DRAWN = 80, 36  # files
_EDGES = 3  # lines for each file that is drawn
_STEPS = 40  # of a file
_FOLDERS = 40
_RANK, _HEAT = "rank", "heat"

_lock = threading.Lock()
_last: tuple[str, str, Ranker] | None = None  # of the work tree as it was at the last look


def load(source: Source, target: Target) -> tuple[str, dict[str, Any]]:
    path = target.text("file")
    if path:
        return _load_file(source, path)
    ranker = _open_ranker(source)
    words, folder = target.text("q"), target.text("dir").strip("/")
    by = target.choice("by", (_RANK, _HEAT)) or _RANK
    work = overview.count_work(source.db)
    ranking = ranker.rank(words)
    numbers = [n for n in ranking.order if _is_below(ranker.path(n), folder)]
    if words:
        numbers = [n for n in numbers if ranking.scores[n] > 0]
    if by == _HEAT:
        numbers = [n for n in numbers if work.get(ranker.path(n))]
        numbers.sort(key=lambda n: (-work[ranker.path(n)], ranker.path(n)))
    best = max((ranking.scores[n] for n in numbers), default=0.0) or 1.0
    most = max((work.get(ranker.path(n), 0) for n in numbers), default=0) or 1
    shown = numbers[:_LISTED]
    files = [
        MapFile(
            ranker.path(n),
            ranking.scores[n] / best,
            work.get(ranker.path(n), 0) / most,
            work.get(ranker.path(n), 0),
            ranker.index.is_test_file(n),
            len(ranker.graph.dependencies(n)),
            len(ranker.graph.dependents(n)),
        )
        for n in shown
    ]
    drawn = shown[:_DRAWN]
    return "map.html", {
        "title": "Map",
        "files": files,
        "graph": draw_graph(files[:_DRAWN], build.find_edges(ranker, drawn)[: _EDGES * _DRAWN])
        if files
        else "",
        "count": len(ranker.number),
        "found": len(numbers),
        "words": words,
        "folder": folder,
        "folders": list_folders(list(ranker.number)),
        "by": by,
        "steps": sum(work.values()),
    }


def _open_ranker(source: Source) -> Ranker:
    """Return a ranker of the files as they are; the last one if nothing has changed."""
    global _last  # noqa: PLW0603 - one for all requests
    with _lock:
        root, state = str(source.project.root), list_files(source.project).state
        if _last is None or _last[:2] != (root, state):
            cache = Cache(source.project.home())
            _last = root, state, build.open_ranker(source.project, cache)
            source.warnings += cache.warnings
        return _last[2]


def list_folders(paths: list[str]) -> list[str]:
    """Return the folders with the most files, two levels deep, by name."""
    counts: dict[str, int] = {}
    for path in paths:
        parts = path.split("/")[:-1]
        for depth in (1, 2):
            if len(parts) >= depth:
                name = "/".join(parts[:depth])
                counts[name] = counts.get(name, 0) + 1
    best = sorted(counts, key=lambda name: (-counts[name], name))[:_FOLDERS]
    return sorted(best)


def _is_below(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _load_file(source: Source, path: str) -> tuple[str, dict[str, Any]]:
    """Show one file: its place in the graph, and the latest steps that touched it."""
    ranker = _open_ranker(source)
    number = ranker.number.get(path)
    rows = overview.list_work(source.db, path, _STEPS)
    if number is None and not rows:
        raise Refused(404, "the map has no such file, and no agent has touched one")
    graph = ranker.graph
    uses = graph.dependencies(number) if number is not None else []
    used_by = graph.dependents(number) if number is not None else []
    ranking = ranker.rank("")
    return "map_file.html", {
        "title": path,
        "path": path,
        "place": ranking.order.index(number) + 1 if number is not None else 0,
        "of": len(ranking.order),
        "uses": [ranker.path(other) for other, _ in uses],
        "used_by": [ranker.path(other) for other, _ in used_by],
        "together": [other for other, _ in ranker.partners(path)],
        "steps": [(row["session"], account.build_step(row)) for row in rows],
        "short": source.short,
    }
