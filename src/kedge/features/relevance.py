"""Rank the sections of a document by how much their words have in common with a task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kedge.features.artifact import Artifact, Passage
from kedge.text.bm25 import score_documents
from kedge.text.words import split_text, stem

_COMMON = """
    the and for with that this from into are was will its has have not but all any each when then
    than use used using task step phase add create update implement write make new one two per via
    can may must should does done file test why source depends none plan design spec component
    section which what where how only also every src lib verify goal size existing current
    """
_STOP = frozenset(map(stem, _COMMON.split()))
_HEADING_WEIGHT = 4
_K1, _B = 1.4, 0.5
_SHARE, _FLOOR = 0.35, 0.15  # of the best score: to be chosen, or chosen as a runner-up
_LEAST, _MOST = 4, 8  # sections to choose


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """A section and its score."""

    passage: Passage
    score: float


def _terms(text: str) -> Iterator[str]:
    """Yield the terms of a text, except those that most sections have."""
    return (term for term in split_text(text) if term not in _STOP)


def list_units(artifact: Artifact) -> list[Passage]:
    """Return the sections that can be chosen one by one: those with an id, else the larger ones."""
    headings = artifact.headings
    document = artifact.document
    below: dict[int, list[int]] = {}
    for at, heading in enumerate(document.headings):
        below.setdefault(heading.parent, []).append(at)
    total = max(1, len(document.lines))
    found: list[Passage] = []

    def is_split(at: int) -> bool:  # into its subsections
        children = below.get(at, [])
        passage = headings[at]
        if not children:
            return False
        if sum(bool(headings[c].ids or headings[c].tail) for c in children) * 2 > len(children):
            own = passage.ids or passage.tail
            coded = any(one.prefix for one in (*passage.ids, *passage.tail))
            dotted = all("." in one.number for c in children for one in headings[c].ids[:1])
            return not own or not coded or dotted or _is_group(passage)
        if passage.ids and any(one.prefix for one in passage.ids):
            return _is_group(passage)
        return len(children) > 1 and (passage.last - passage.line > 0.4 * total or at in tops)

    tops = set(below.get(-1, [])) if len(below.get(-1, [])) == 1 else set()
    queue = list(below.get(-1, []))
    while queue:
        at = queue.pop(0)
        if is_split(at):
            queue = below[at] + queue
        else:
            found.append(headings[at])
    return found


def _is_group(passage: Passage) -> bool:
    return any(
        one.prefix in ("PHASE", "STAGE", "M", "GROUP", "SPRINT", "WAVE") for one in passage.ids
    )


def rank_units(artifact: Artifact, query: Mapping[str, float]) -> list[ScoredUnit]:
    """Return the document's units, most relevant first; words of headings count more (BM25)."""
    passages = list_units(artifact)
    bags = []
    for passage in passages:
        bag = Counter(_terms(artifact.lines(passage.line, passage.last)))
        path = artifact.document.heading_path(passage.at)
        for word in _terms(" ".join(h.text for h in path[1:-1]) + " " + passage.text):
            bag[word] += _HEADING_WEIGHT if word in set(_terms(passage.text)) else 1
        bags.append(bag)
    lengths = {at: sum(bag.values()) for at, bag in enumerate(bags)}
    counts = {word: {at: bag[word] for at, bag in enumerate(bags) if word in bag} for word in query}
    scores = score_documents(counts, query, lengths, b=_B, k1=_K1)
    scored = [ScoredUnit(passage, scores.get(at, 0.0)) for at, passage in enumerate(passages)]
    return sorted(scored, key=lambda one: (-one.score, one.passage.line))


def weigh_task(title: str, body: str, names: Sequence[str]) -> dict[str, float]:
    """Return the terms of a task with their weights: most for the title, then for file names."""
    weights: dict[str, float] = {}
    for word in _terms(body):
        weights[word] = min(2.0, weights.get(word, 0.0) + 1.0)
    for word in _terms(" ".join(names)):
        weights[word] = max(weights.get(word, 0.0), 1.5)
    for word in _terms(title):
        weights[word] = weights.get(word, 0.0) + 3.0
    return weights


def pick_clear(scored: Sequence[ScoredUnit]) -> list[ScoredUnit]:
    """Return the units that clearly stand out; none if too many do."""
    if len(scored) < 2 or scored[0].score <= 0:
        return []
    best = scored[0].score
    near = [one for one in scored if one.score >= _SHARE * best]
    if len(near) < _LEAST:  # runners-up of a long document
        few = min(_LEAST, len(scored) // 4)
        near = [one for one in scored[: max(few, len(near))] if one.score >= _FLOOR * best]
    return near if len(near) <= min(_MOST, max(1, len(scored) // 2)) else []
