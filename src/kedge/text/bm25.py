"""Okapi BM25: how relevant a document is to the words of a query.

The map, the scoping of sections and the recall of lessons all rank with these functions. They pass
counts instead of texts, because a term is something else to each: a part of a name in an index, a
word of a section, or a word that may be replaced by a related one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

K1 = 1.2


def rarity(documents: int, holders: int) -> float:
    """Return the weight of a term that so many of the documents have (inverse frequency)."""
    return math.log(1 + (documents - holders + 0.5) / (holders + 0.5))


def gain(
    weight: float, count: float, length: float, mean: float, *, b: float, k1: float = K1
) -> float:
    """Return what one term adds to a document's score.

    The more often the document has the term, the less one more occurrence adds. `b` says how much
    a document longer than the `mean` is held back.
    """
    return weight * count * (k1 + 1) / (count + k1 * (1 - b + b * length / mean))


def score_documents(
    counts: Mapping[str, Mapping[int, float]],
    query: Mapping[str, float],
    lengths: Mapping[int, float],
    *,
    b: float,
    k1: float = K1,
) -> dict[int, float]:
    """Return the scores of the documents that have a term of the query.

    `counts` says for each term how often which document has it; `lengths` has all documents.
    """
    scores: dict[int, float] = {}
    mean = sum(lengths.values()) / len(lengths) if any(lengths.values()) else 1.0
    for term in sorted(counts):
        row = counts[term]
        weight = query[term] * rarity(len(lengths), len(row))
        for document, count in row.items():
            added = gain(weight, count, lengths[document], mean, b=b, k1=k1)
            scores[document] = scores.get(document, 0.0) + added
    return scores
