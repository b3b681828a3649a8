"""Which files matter: for a text, or without one."""

from __future__ import annotations

import math
from collections.abc import Mapping

from kedge.host.record import NamedTuple
from kedge.repomap import terms
from kedge.repomap.graph import Graph
from kedge.repomap.history import History
from kedge.repomap.index import TEST, TEXT, Index
from kedge.repomap.search import relevance

# Weights beside the relevance of a file's own words, which has weight 1. They were chosen on
# commits older than those that benchmarks/map reports.
PAST = 0.5
NEAR = 0.3
CHURN = 0.1
TOGETHER = 0.3
NAMED = 2.0
WEAK = 0.5  # what a test's score counts, unless the text is about tests
PROSE = 0.7  # and that of documents for people
CENTRAL = 0.35  # without a text: being used, beside changing often
WEAKER = 0.3  # and what tests and documents count

_LEADERS = 10  # files whose partners count
_SEEDS = 12  # files whose neighbours count
_TESTS = ("test", "testing", "spec", "flaky")
_DOCUMENTS = ("doc", "readme", "changelog", "documentation", "css", "style", "html", "markdown")

Scores = dict[int, float]


class Ranking(NamedTuple):
    """The score of each file, and the weighted parts that it is the sum of, by their names.

    `factor` is what the sum of a test or a document is multiplied with.
    """

    scores: Scores
    parts: dict[str, Scores]
    factor: dict[int, float]
    order: list[int]  # the best first; equals by path


class Known:
    """All that is known of a tree's files, ready to be ranked."""

    def __init__(self, index: Index, history: History) -> None:
        self.index = index
        self.history = history
        self.graph = Graph(index)
        self.number = {path: i for i, path in enumerate(index.paths) if path is not None}
        self._own = [self.number.get(path, -1) for path in history.paths]

    def path(self, number: int) -> str:
        return self.index.paths[number] or ""

    def offers(self, path: str) -> dict[str, int]:
        """The names that a file defines, and how many files have them."""
        return self.index.offers(self.number[path]) if path in self.number else {}

    def churn(self) -> Scores:
        """How much each file changed."""
        pairs = zip(self._own, self.history.changes, strict=True)
        return {number: math.log1p(count) for number, count in pairs if number >= 0}

    def partners(self, path: str) -> list[tuple[str, float]]:
        """The files that change together with this one, and in what part of its changes."""
        found = self.history.together([path]).get(path, [])
        return [(other, share) for other, share in found if other in self.number]

    def ranking(self, text: str) -> Ranking:
        query = terms.of_text(text)
        named = {self.number[path] for path in terms.mentioned(text, self.number)}
        own = _scaled(relevance(self.index, query, b=0.75)) if query else {}
        past = _scaled(self._past(query), PAST) if query else {}
        mention = dict.fromkeys(named, NAMED)
        base = _sum(own, past, mention)
        if not base:  # no text, or one that says nothing that the repository knows
            return self._plain()
        seeds = {number: score * score for number, score in self._best(base, _SEEDS)}
        total = sum(seeds.values())
        near = self.graph.near({n: s / total for n, s in seeds.items()}, rounds=2, width=_SEEDS)
        parts = {
            "words of the file": own,
            "subjects of its commits": past,
            "named in the text": mention,
            "near such files": _scaled({n: math.log1p(1e4 * m) for n, m in near.items()}, NEAR),
            "changes often": _scaled(self.churn(), CHURN),
            "changes with such files": _scaled(self._together(base), TOGETHER),
        }
        tests = 1.0 if any(word in query for word in _TESTS) else WEAK
        prose = 1.0 if any(word in query for word in _DOCUMENTS) else PROSE
        return self._ranked(parts, self._factors(tests, prose, named))

    def _past(self, query: Mapping[str, float]) -> Scores:
        return self.history.about(query, 0.5, self._own, self.number.values())

    def _plain(self) -> Ranking:
        rank = self.graph.rank()
        parts = {
            "changes often": self.churn(),
            "used by others": {n: CENTRAL * math.log1p(1e4 * mass) for n, mass in rank.items()},
        }
        return self._ranked(parts, self._factors(WEAKER, WEAKER, set()))

    def _factors(self, tests: float, prose: float, named: set[int]) -> dict[int, float]:
        kinds, by_kind = self.index.kinds, {TEST: tests, TEXT: prose}
        return {
            number: by_kind[kinds[number]]
            for number in self.number.values()
            if by_kind.get(kinds[number], 1.0) < 1 and number not in named
        }

    def _ranked(self, parts: dict[str, Scores], factor: dict[int, float]) -> Ranking:
        sums = [0.0] * len(self.index.paths)
        for part in parts.values():
            for number, score in part.items():
                sums[number] += score
        live = self.index.live
        scores = {number: sums[number] * factor.get(number, 1.0) for number in live}
        order = sorted(live, key=scores.__getitem__, reverse=True)  # equals stay in their order
        return Ranking(scores, parts, factor, order)

    def _best(self, scores: Mapping[int, float], most: int) -> list[tuple[int, float]]:
        paths = self.index.paths
        least = sorted(scores.values(), reverse=True)[:most][-1:]
        top = [pair for pair in scores.items() if pair[1] >= least[0]]
        return sorted(top, key=lambda pair: (-pair[1], paths[pair[0]]))[:most]

    def _together(self, base: Scores) -> Scores:
        leaders = {self.path(number): score for number, score in self._best(base, _LEADERS)}
        partners = self.history.together(leaders)
        found: Scores = {}
        for path, score in leaders.items():
            for other, share in partners.get(path, ()):
                if other in self.number:
                    number = self.number[other]
                    found[number] = found.get(number, 0.0) + score * share
        return found


def _sum(*parts: Mapping[int, float]) -> Scores:
    found: Scores = {}
    for part in parts:
        for number, score in part.items():
            found[number] = found.get(number, 0.0) + score
    return found


def _scaled(values: Mapping[int, float], most: float = 1.0) -> Scores:
    """The values so that the largest is `most`."""
    largest = max(values.values(), default=0.0)
    return {n: most * value / largest for n, value in values.items()} if largest > 0 else {}
