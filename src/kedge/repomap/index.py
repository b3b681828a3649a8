"""The index over a tree's files: their words, the graph between them, and their past."""

from __future__ import annotations

import marshal
from dataclasses import dataclass

from kedge.host.project import Project
from kedge.repomap import graph, history, scan, terms
from kedge.repomap.cache import Cache
from kedge.repomap.corpus import Corpus
from kedge.repomap.files import File, Listing, is_test
from kedge.repomap.graph import Graph
from kedge.repomap.history import History

_PROSE = frozenset({"markdown", "html", "css", "scss"})  # known by path and past alone
_DEFINED = 4  # what a definition counts beside a use
_PATH = 12


@dataclass(slots=True)
class Index:
    """By number of file, in the order of `paths`."""

    paths: list[str]
    weak: list[bool]
    words: Corpus
    graph: Graph
    history: History
    rank: list[float]

    def dump(self) -> bytes:
        return marshal.dumps(
            (
                self.paths,
                bytes(self.weak),
                self.words.dump(),
                self.graph.dump(),
                self.history.dump(),
                self.rank,
            )
        )

    @classmethod
    def load(cls, data: bytes) -> Index:
        paths, weak, words, edges, past, rank = marshal.loads(data)  # noqa: S302 - our own
        return cls(
            paths,
            [bool(byte) for byte in weak],
            Corpus.load(words),
            Graph.load(edges),
            History.load(past),
            rank,
        )


def index(project: Project, listing: Listing, cache: Cache) -> Index:
    """The index of these files, from the cache where it knows them."""
    kept = cache.memo("index", listing.state)
    if kept is not None:
        return Index.load(kept)
    found = _facts(project, listing, cache)
    made = _build(project, found)
    cache.keep_memo("index", listing.state, made.dump())
    return made


def _facts(project: Project, listing: Listing, cache: Cache) -> dict[str, scan.Facts]:
    sources = [file for file in listing.files if file.language and file.language.readable]
    keys = {
        file.path: f"{file.language.name}:{file.key}"
        for file in sources
        if file.language and file.language.name not in _PROSE
    }
    known = cache.contents("map_words", keys.values())
    missing: list[File] = [
        file for file in sources if file.path in keys and keys[file.path] not in known
    ]
    if missing:
        fresh = scan.scan(missing, project.root)
        cache.keep_contents("map_words", {keys[path]: fact for path, fact in fresh.items()})
        known.update((keys[path], fact) for path, fact in fresh.items())
    found: dict[str, scan.Facts] = {}
    for file in sources:
        fact: scan.Facts | None = ({}, [], [])
        if file.path in keys:
            fact = known.get(keys[file.path])
        if fact is not None:
            found[file.path] = fact
    return found


def _build(project: Project, found: dict[str, scan.Facts]) -> Index:
    paths = list(found)
    number = {path: index for index, path in enumerate(paths)}
    weak = [is_test(path) for path in paths]
    documents = []
    for path, (names, defined, _) in found.items():
        document = dict(names)
        for name in defined:
            document[name] = document.get(name, 0) + _DEFINED
        for term, count in terms.of_path(path).items():
            document[term] = document.get(term, 0) + _PATH * count
        documents.append(document)
    edges = graph.build(
        [names for names, _, _ in found.values()],
        [defined for _, defined, _ in found.values()],
        [() for _ in paths],
        weak,
    )
    past = history.build(history.log(project.repo), number)
    return Index(paths, weak, Corpus.build(documents, terms.of_name), edges, past, edges.rank())
