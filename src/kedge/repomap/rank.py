"""Ranking of files: for a text, or by importance in general."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kedge.repomap.graph import Graph
from kedge.repomap.history import History
from kedge.repomap.index import TEST, TEXT, Index
from kedge.repomap.search import find_lines, find_matches, relevance
from kedge.text import words
from kedge.text.bm25 import rarity, score_documents

# The parts of a score, each from 0 to 1, and their weights, which were fitted to commits
# of ten repositories, older than those that benchmarks/map reports.
WORDS = "words of the file"
PATH = "words of its path"
PAST = "subjects of its commits"
JOINED = "words of the text as one name"
NAMED = "named in the text"
NEAR = "near such files"
CHURN = "changes often"
TOGETHER = "changes with such files"
USED = "used by others"
_WEIGHTS = {
    WORDS: 1.0, PATH: 0.4, PAST: 0.35, JOINED: 0.3, NAMED: 2.0, NEAR: 0.2, CHURN: 0.25,
    TOGETHER: 0.1,
}  # fmt: skip
_BASE = {WORDS: 1.0, PAST: 0.5, NAMED: 2.0}  # whose best files make others near
# How much a file has to do with the text is something else than how likely it changes.
RELEVANCE = {WORDS: 1.0, PAST: 0.5, NEAR: 0.3, CHURN: 0.1, TOGETHER: 0.3}
WEAK = 0.5  # factor for tests, unless the text is about tests
PROSE = 0.7  # factor for documents, unless the text is about documents
CENTRAL = 0.35  # without a text: weight of PageRank, relative to churn
WEAKER = 0.3  # without a text: factor for tests and documents

_LEADERS = 10  # best files whose partners count
_SEEDS = 12  # best files whose neighbours count
_TESTS = ("test", "testing", "spec", "flaky")
_DOCUMENTS = ("doc", "readme", "changelog", "documentation", "css", "style", "html", "markdown")

Scores = dict[int, float]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The score of each file: the weighted sum of its parts, times `factor` for tests and
    documents. With a text each part is from 0 to 1."""

    scores: Scores
    parts: dict[str, Scores]
    weights: Mapping[str, float]
    factor: dict[int, float]
    order: list[int]  # best first; equal scores by path


class Ranker:
    """Ranks the files of an index, with git's history."""

    def __init__(self, index: Index, history: History) -> None:
        self.index = index
        self.history = history
        self.graph = Graph(index)
        self.number = {path: i for i, path in enumerate(index.paths) if path is not None}
        self._own = [self.number.get(path, -1) for path in history.paths]

    @cached_property
    def known_paths(self) -> frozenset[str]:
        """The files and folders that the project has, or had in the commits that were read."""
        found: set[str] = set()
        for path in (*self.number, *self.history.paths):
            place = path
            while place and place not in found:
                found.add(place)
                place = place.rpartition("/")[0]
        return frozenset(found)

    def path(self, number: int) -> str:
        return self.index.paths[number] or ""

    def definitions(self, path: str) -> dict[str, int]:
        """The names that a file defines, each with the number of files that have it."""
        return self.index.definitions(self.number[path]) if path in self.number else {}

    def churn(self) -> Scores:
        """How often each file changed, on a logarithmic scale."""
        pairs = zip(self._own, self.history.changes, strict=True)
        return {number: math.log1p(count) for number, count in pairs if number >= 0 and count}

    def partners(self, path: str) -> list[tuple[str, float]]:
        """The files that change together with this one, with the share of its changes."""
        found = self.history.find_partners([path]).get(path, [])
        return [(other, share) for other, share in found if other in self.number]

    def rank(self, text: str) -> Ranking:
        query = words.weigh_terms(text)
        named = {self.number[path] for path in words.find_mentions(text, self.number)}
        parts = {
            WORDS: _scale(relevance(self.index, query, b=0.75)) if query else {},
            PATH: _scale(self._score_paths(query)) if query else {},
            PAST: _scale(self._score_subjects(query)) if query else {},
            JOINED: _scale(self._score_joined_names(text)),
            NAMED: dict.fromkeys(named, 1.0),
        }
        base = _sum(parts, _BASE)
        if not base:  # no text, or no word of it is known here
            return self._rank_without_text()
        seeds = {number: score * score for number, score in self._select_best(base, _SEEDS)}
        total = sum(seeds.values())
        near = self.graph.near({n: s / total for n, s in seeds.items()}, rounds=2, width=_SEEDS)
        parts |= {
            NEAR: _scale({n: math.log1p(1e4 * m) for n, m in near.items()}),
            CHURN: _scale(self.churn()),
            TOGETHER: _scale(self._score_partners(base)),
        }
        by_kind = {}
        if not any(word in query for word in _TESTS):
            by_kind[TEST] = WEAK
        if not any(word in query for word in _DOCUMENTS):
            by_kind[TEXT] = PROSE
        return self._combine(parts, _WEIGHTS, self._factors(by_kind, named))

    def find_relevance(self, text: str) -> dict[str, float]:
        """How much more each file has to do with the text than with any work, from -0.5 to 1.

        A file's score is a share of the best one; half of its general importance is taken off,
        because a file that often changes scores well for any text. That the text names a file does
        not count: its score would dwarf all others.
        """
        ranking = self.rank(text)
        general = self._rank_without_text().scores
        scores = general
        if WORDS in ranking.parts:
            scores = self._combine(ranking.parts, RELEVANCE, ranking.factor).scores
        best = max(scores.values(), default=0.0) or 1.0
        most = max(general.values(), default=0.0) or 1.0
        return {
            self.path(number): scores[number] / best - general[number] / most / 2
            for number in ranking.order
        }

    def weigh_terms(self, text: str) -> dict[str, float]:
        """The terms of a text, each with its weight: rare ones say more."""
        query = words.weigh_terms(text)
        lower = self.index.names.lower() if query else ""
        found = {}
        for term, weight in query.items():
            holders = {
                post >> 8
                for place in find_matches(self.index.names, lower, term)
                for post in self.index.posts(self.index.name_at(place))
            }
            found[term] = weight * rarity(len(self.number), len(holders))
        return found

    def _score_paths(self, query: Mapping[str, float]) -> Scores:
        """Score the words in each path for a query (BM25). Those of the file's name count twice."""
        paths = list(self.number)
        whole = "\n".join(("", *paths, ""))
        names = "\n".join(("", *(path.rpartition("/")[2] for path in paths), ""))
        rows: dict[str, dict[int, float]] = {term: {} for term in query}
        for text in (whole, names):
            lower = text.lower()
            for term, row in rows.items():
                line = before = 0
                for place in find_matches(text, lower, term):
                    line += lower.count("\n", before, place)
                    before = place
                    number = self.number[paths[line - 1]]
                    row[number] = row.get(number, 0.0) + 1.0
        lengths = {number: path.count("/") + 2.0 for path, number in self.number.items()}
        return score_documents(rows, query, lengths, b=0.3)

    def _score_joined_names(self, text: str) -> Scores:
        """Score names such as `TempDir` or `temp_dir` for the words `temp dir` in the title."""
        names = self.index.names
        lower = names.lower()
        found: Scores = {}
        for first, second in words.find_pairs(text):
            for joint in ("", "_"):
                for place in find_lines(lower, first + joint + second):
                    if joint or names[place + len(first)].isupper():
                        posts = self.index.posts(self.index.name_at(place))
                        weight = rarity(len(self.number), len(posts))
                        for post in posts:
                            found[post >> 8] = found.get(post >> 8, 0.0) + weight
        return found

    def _score_subjects(self, query: Mapping[str, float]) -> Scores:
        return self.history.score_subjects(query, 0.5, self._own, self.number.values())

    def _rank_without_text(self) -> Ranking:
        rank = self.graph.rank()
        parts = {
            CHURN: self.churn(),
            USED: {n: math.log1p(1e4 * mass) for n, mass in rank.items()},
        }
        weights = {CHURN: 1.0, USED: CENTRAL}
        return self._combine(parts, weights, self._factors({TEST: WEAKER, TEXT: WEAKER}, set()))

    def _factors(self, by_kind: Mapping[int, float], named: set[int]) -> dict[int, float]:
        kinds = self.index.kinds
        return {
            number: by_kind[kinds[number]]
            for number in self.number.values()
            if kinds[number] in by_kind and number not in named
        }

    def _combine(
        self, parts: dict[str, Scores], weights: Mapping[str, float], factor: dict[int, float]
    ) -> Ranking:
        sums = _sum(parts, weights)
        live = self.index.live
        scores = {number: sums.get(number, 0.0) * factor.get(number, 1.0) for number in live}
        order = sorted(live, key=scores.__getitem__, reverse=True)  # stable: by path
        return Ranking(scores, parts, weights, factor, order)

    def _select_best(self, scores: Mapping[int, float], most: int) -> list[tuple[int, float]]:
        paths = self.index.paths
        least = sorted(scores.values(), reverse=True)[:most][-1:]
        top = [pair for pair in scores.items() if pair[1] >= least[0]]
        return sorted(top, key=lambda pair: (-pair[1], paths[pair[0]]))[:most]

    def _score_partners(self, base: Scores) -> Scores:
        leaders = {self.path(number): score for number, score in self._select_best(base, _LEADERS)}
        partners = self.history.find_partners(leaders)
        found: Scores = {}
        for path, score in leaders.items():
            for other, share in partners.get(path, ()):
                if other in self.number:
                    number = self.number[other]
                    found[number] = found.get(number, 0.0) + score * share
        return found


def _sum(parts: Mapping[str, Scores], weights: Mapping[str, float]) -> Scores:
    found: Scores = {}
    for name, weight in weights.items():
        for number, score in parts.get(name, {}).items():
            found[number] = found.get(number, 0.0) + weight * score
    return found


def _scale(values: Mapping[int, float]) -> Scores:
    """Scale the values, which are above zero, so that the largest is 1."""
    if not values:
        return {}
    largest = max(values.values())
    return {n: value / largest for n, value in values.items()}
