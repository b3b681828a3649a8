"""Which files matter: for a text, or without one."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

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

_LEADERS = 10


def for_text(
    text: str,
    paths: Sequence[str],
    words: Corpus,
    graph: Graph,
    history: History,
    weak: Sequence[bool],
) -> list[float]:
    query = terms.of_text(text)
    own = _scaled(words.scores(query, b=0.75))
    past = _scaled(history.subjects.scores(query, b=0.5))
    named = terms.mentioned(text, paths)
    base = [o + PAST * p for o, p in zip(own, past, strict=True)]
    if named:
        base = [s + (NAMED if path in named else 0.0) for s, path in zip(base, paths, strict=True)]
    seeds = [score * score for score in base]
    total = sum(seeds)
    if not total:
        return without_text(graph.rank(), history, weak)
    near = graph.spread([seed / total for seed in seeds], damping=0.6, rounds=4)
    near = _scaled([math.log1p(1e4 * mass) for mass in near])
    churn = _scaled([math.log1p(count) for count in history.churn])
    together = _scaled(_together(base, history))
    about_tests = any(word in query for word in ("test", "tests", "testing", "spec", "flaky"))
    factor = 1.0 if about_tests else WEAK
    return [
        (base[i] + NEAR * near[i] + CHURN * churn[i] + TOGETHER * together[i])
        * (factor if weak[i] and paths[i] not in named else 1.0)
        for i in range(len(paths))
    ]


def without_text(rank: Sequence[float], history: History, weak: Sequence[bool]) -> list[float]:
    return [
        (math.log1p(churn) + 0.3 * math.log1p(1e4 * mass)) * (0.3 if test else 1.0)
        for churn, mass, test in zip(history.churn, rank, weak, strict=True)
    ]


def order(scores: Sequence[float], paths: Sequence[str], out: Collection[int] = ()) -> list[int]:
    """Numbers of files, the best first; equals by path."""
    return sorted(
        (i for i in range(len(paths)) if i not in out), key=lambda i: (-scores[i], paths[i])
    )


def _together(base: Sequence[float], history: History) -> list[float]:
    found = [0.0] * len(base)
    leaders = sorted(range(len(base)), key=lambda i: (-base[i], i))[:_LEADERS]
    for one in leaders:
        for other, share in history.partners[one]:
            found[other] += base[one] * share
    return found


def _scaled(values: Sequence[float]) -> list[float]:
    most = max(values, default=0.0)
    return [value / most for value in values] if most > 0 else [0.0] * len(values)
