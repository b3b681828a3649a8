"""Which files matter: for a text, or without one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kedge.repomap import terms
from kedge.repomap.corpus import Corpus
from kedge.repomap.graph import Graph
from kedge.repomap.history import History

# Weights beside the relevance of a file's own words, which has weight 1. They were chosen on
# commits older than those that benchmarks/map reports.
PAST = 0.5
NEAR = 0.3
CHURN = 0.15
TOGETHER = 0.3
NAMED = 2.0
WEAK = 0.5  # what a test's score counts, unless the text is about tests
WEAKER = 0.3  # and without a text

_LEADERS = 10


@dataclass(frozen=True, slots=True)
class Ranking:
    """The score of each file, and the weighted parts that it is the sum of, by their names.

    `factor` is what the sum of a file was multiplied with: less than 1 for tests.
    """

    scores: list[float]
    parts: dict[str, list[float]]
    factor: list[float]


def for_text(
    text: str,
    paths: Sequence[str],
    words: Corpus,
    graph: Graph,
    history: History,
    weak: Sequence[bool],
) -> Ranking:
    query = terms.of_text(text)
    named = terms.mentioned(text, paths)
    own = _scaled(words.scores(query, b=0.75))
    past = _scaled(history.subjects.scores(query, b=0.5), PAST)
    mention = [NAMED if path in named else 0.0 for path in paths]
    base = [o + p + m for o, p, m in zip(own, past, mention, strict=True)]
    seeds = [score * score for score in base]
    total = sum(seeds)
    if not total:  # the text says nothing that the repository knows
        return without_text(graph.rank(), history, weak)
    near = graph.spread([seed / total for seed in seeds], damping=0.6, rounds=4)
    parts = {
        "words of the file": own,
        "subjects of its commits": past,
        "named in the text": mention,
        "near such files": _scaled([math.log1p(1e4 * mass) for mass in near], NEAR),
        "changes often": _scaled([math.log1p(count) for count in history.churn], CHURN),
        "changes with such files": _scaled(_together(base, history), TOGETHER),
    }
    about_tests = any(word in query for word in ("test", "tests", "testing", "spec", "flaky"))
    factor = [
        WEAK if weak[i] and not about_tests and not mention[i] else 1.0 for i in range(len(paths))
    ]
    return _sum(parts, factor)


def without_text(rank: Sequence[float], history: History, weak: Sequence[bool]) -> Ranking:
    parts = {
        "changes often": [math.log1p(churn) for churn in history.churn],
        "used by others": [0.3 * math.log1p(1e4 * mass) for mass in rank],
    }
    return _sum(parts, [WEAKER if test else 1.0 for test in weak])


def _sum(parts: dict[str, list[float]], factor: list[float]) -> Ranking:
    rows = zip(*parts.values(), strict=True)
    scores = [sum(row) * by for row, by in zip(rows, factor, strict=True)]
    return Ranking(scores, parts, factor)


def order(scores: Sequence[float], paths: Sequence[str]) -> list[int]:
    """Numbers of files, the best first; equals by path."""
    return sorted(range(len(paths)), key=lambda i: (-scores[i], paths[i]))


def _together(base: Sequence[float], history: History) -> list[float]:
    found = [0.0] * len(base)
    leaders = sorted(range(len(base)), key=lambda i: (-base[i], i))[:_LEADERS]
    for one in leaders:
        for other, share in history.partners[one]:
            found[other] += base[one] * share
    return found


def _scaled(values: Sequence[float], most: float = 1.0) -> list[float]:
    """The values so that the largest is `most`."""
    largest = max(values, default=0.0)
    return [most * value / largest for value in values] if largest > 0 else [0.0] * len(values)
