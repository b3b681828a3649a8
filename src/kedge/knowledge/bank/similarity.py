"""Find entries that say the same, by the words of their names and texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from kedge.knowledge.bank import titles
from kedge.knowledge.bank.entries import Entry
from kedge.text.words import weigh_terms

NEAR = 0.62
_NAME = 3.0  # weight of a word in a name, relative to one in a text
_NAMES = 0.85  # weight of the similarity of the names alone
_SHORT = 3  # a name of fewer words is not compared by itself
_SHARED = 2  # fewer shared words do not count


@dataclass(frozen=True, slots=True)
class _Vectors:
    """Unit vectors of word weights: of the name, and of name and text together."""

    name: dict[str, float]
    whole: dict[str, float]


def find_pairs(entries: Sequence[Entry]) -> list[tuple[Entry, Entry]]:
    """Return the pairs of similar entries with different names."""
    vectors = _vectorize([(entry.name, entry.text) for entry in entries])
    return [
        (one, other)
        for (one, mine), (other, theirs) in combinations(zip(entries, vectors, strict=True), 2)
        if _similarity(mine, theirs) >= NEAR
        and titles.name_key(one.name) != titles.name_key(other.name)
    ]


def find_similar(entries: Sequence[Entry], name: str, text: str) -> list[tuple[Entry, float]]:
    """Return the entries similar to this name and text, the most similar first."""
    *vectors, mine = _vectorize([*((entry.name, entry.text) for entry in entries), (name, text)])
    key = titles.name_key(name)
    scored = [
        (entry, 1.0 if titles.name_key(entry.name) == key else _similarity(mine, other))
        for entry, other in zip(entries, vectors, strict=True)
    ]
    return sorted((one for one in scored if one[1] >= NEAR), key=lambda one: -one[1])


def _vectorize(texts: Sequence[tuple[str, str]]) -> list[_Vectors]:
    bags = [(weigh_terms(name), weigh_terms(text)) for name, text in texts]
    spread = Counter(term for name, text in bags for term in {*name, *text})
    rare = {term: math.log(1 + len(bags) / count) + 0.5 for term, count in spread.items()}
    found = []
    for name, text in bags:
        whole = dict(text)
        for term, weight in name.items():
            whole[term] = whole.get(term, 0.0) + _NAME * weight
        found.append(_Vectors(_unit(name, rare), _unit(whole, rare)))
    return found


def _unit(bag: dict[str, float], rare: dict[str, float]) -> dict[str, float]:
    weights = {term: bag[term] * rare[term] for term in sorted(bag)}
    size = math.sqrt(sum(weight * weight for weight in weights.values()))
    return {term: weight / size for term, weight in weights.items()} if size else {}


def _similarity(one: _Vectors, other: _Vectors) -> float:
    """Return the cosine of all words, with the name's words weighted, or of the names alone."""
    if len(one.whole.keys() & other.whole.keys()) < _SHARED:
        return 0.0
    short = min(len(one.name), len(other.name)) < _SHORT
    names = 0.0 if short else _NAMES * _cosine(one.name, other.name)
    return max(_cosine(one.whole, other.whole), names)


def _cosine(one: dict[str, float], other: dict[str, float]) -> float:
    return sum(weight * other[term] for term, weight in one.items() if term in other)
