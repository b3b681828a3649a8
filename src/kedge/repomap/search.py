"""Text relevance: BM25 over the names in documents. A term of a question is a part of a name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from kedge.repomap.index import COUNT, Index
from kedge.repomap.terms import stem

_K1 = 1.2
_LONGEST_END = 4  # letters that an ending may add to a stem


def relevance(index: Index, query: Mapping[str, float], b: float) -> dict[int, float]:
    """How relevant each document is to the weighted terms, where it is at all."""
    lower = index.names.lower()
    rows: dict[str, dict[int, int]] = {}
    for term in query:
        row: dict[int, int] = {}
        for place in matching(index.names, lower, term):
            for post in index.posts(index.name_at(place)):
                if count := post & COUNT:
                    number = post >> 8
                    row[number] = row.get(number, 0) + count
        rows[term] = row
    sizes = index.sizes
    return bm25(rows, query, b, sum(sizes.values()), sizes)


def bm25(
    rows: Mapping[str, Mapping[int, int]],
    query: Mapping[str, float],
    b: float,
    total: int,
    lengths: Mapping[int, int],
) -> dict[int, float]:
    """Scores from how often each term is in which document; `total` is the sum of all lengths."""
    scores: dict[int, float] = {}
    mean = total / len(lengths) if total else 1.0
    for term in sorted(rows):
        row = rows[term]
        weight = query[term] * math.log(1 + (len(lengths) - len(row) + 0.5) / (len(row) + 0.5))
        for number, count in row.items():
            slack = _K1 * (1 - b + b * lengths[number] / mean)
            gain = weight * count * (_K1 + 1) / (count + slack)
            scores[number] = scores.get(number, 0.0) + gain
    return scores


def matching(lines: str, lower: str, term: str) -> Iterator[int]:
    """Where the term is a part of a name, whatever its ending; once in each line.

    The text begins with a line break; `lower` is the same in lower case.
    """
    needle = term[:-1] if term.endswith("y") and len(term) > 3 else term
    size = len(needle)
    place = lower.find(needle)
    while place >= 0:
        if _begins(lines, place) and (
            (size == len(term) and _ends(lines, place + size)) or _inflected(lines, place, term)
        ):
            yield place
            place = lower.find("\n", place)
        place = lower.find(needle, place + 1)


def _begins(names: str, place: int) -> bool:
    before, here = names[place - 1], names[place]
    if not before.isalpha():
        return True
    return here.isupper() and (before.islower() or names[place + 1].islower())


def _ends(names: str, place: int) -> bool:
    """Whether a part of a name ends just before the place."""
    after = names[place]
    if not after.isalpha():
        return True
    return after.isupper() and (names[place - 1].islower() or names[place + 1].islower())


def _inflected(names: str, place: int, term: str) -> bool:
    end = place + len(term)
    for stop in range(end - 1, end + _LONGEST_END + 1):
        if stop >= len(names):
            return False
        if _ends(names, stop):
            return stem(names[place:stop].lower()) == term
    return False
