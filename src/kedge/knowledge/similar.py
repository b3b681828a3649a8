"""Which lessons say the same: by the words of their names and texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from kedge.host.record import NamedTuple
from kedge.knowledge import titles
from kedge.knowledge.entries import Entry
from kedge.repomap import terms

NEAR = 0.62
_NAME = 3.0  # a word of a name to one of a text
_NAMES = 0.85  # how far names that are the same speak for the whole
_COMMON = 60  # entries; a word that more of them have brings no two together
_SHORT = 3  # words; a name of fewer says too little by itself
_SHARED = 2  # words; one alone is no likeness


class Pair(NamedTuple):
    """Two places in a list of entries, and how much they have in common, from 0 to 1."""

    one: int
    other: int
    score: float


class _Weighed(NamedTuple):
    """The words of a name, and of name and text, by how rare they are; each of length 1."""

    name: dict[str, float]
    whole: dict[str, float]


def pairs(entries: Sequence[Entry]) -> list[Pair]:
    """Those that are near to each other under different names, the nearest first."""
    weighed = _weighed([(entry.name, entry.text) for entry in entries])
    keys = [titles.key(entry.name) for entry in entries]
    found = []
    for one, other in _candidates(weighed):
        score = 0.0 if keys[one] == keys[other] else _alike(weighed[one], weighed[other])
        if score >= NEAR:
            found.append(Pair(one, other, score))
    return sorted(found, key=lambda pair: (-pair.score, pair.one, pair.other))


def near(entries: Sequence[Entry], name: str, text: str) -> list[tuple[Entry, float]]:
    """The entries that say much the same as this, the nearest first."""
    *weighed, mine = _weighed([*((entry.name, entry.text) for entry in entries), (name, text)])
    key = titles.key(name)
    scored = [
        (entry, 1.0 if titles.key(entry.name) == key else _alike(mine, other))
        for entry, other in zip(entries, weighed, strict=True)
    ]
    return sorted((one for one in scored if one[1] >= NEAR), key=lambda one: -one[1])


def _weighed(texts: Sequence[tuple[str, str]]) -> list[_Weighed]:
    bags = [(terms.of_text(name), terms.of_text(text)) for name, text in texts]
    spread = Counter(term for name, text in bags for term in {*name, *text})
    rare = {term: math.log(1 + len(bags) / count) + 0.5 for term, count in spread.items()}
    found = []
    for name, text in bags:
        whole = dict(text)
        for term, weight in name.items():
            whole[term] = whole.get(term, 0.0) + _NAME * weight
        found.append(_Weighed(_unit(name, rare), _unit(whole, rare)))
    return found


def _unit(bag: dict[str, float], rare: dict[str, float]) -> dict[str, float]:
    weights = {term: bag[term] * rare[term] for term in sorted(bag)}
    size = math.sqrt(sum(weight * weight for weight in weights.values()))
    return {term: weight / size for term, weight in weights.items()} if size else {}


def _candidates(weighed: Sequence[_Weighed]) -> list[tuple[int, int]]:
    """The pairs that share a word which is not in many entries."""
    holders: dict[str, list[int]] = {}
    for at, one in enumerate(weighed):
        for term in one.whole:
            holders.setdefault(term, []).append(at)
    found = {
        pair for held in holders.values() if len(held) <= _COMMON for pair in combinations(held, 2)
    }
    return sorted(found)


def _alike(one: _Weighed, other: _Weighed) -> float:
    """The cosine of all words, those of the name counted more; or of the names alone."""
    if len(one.whole.keys() & other.whole.keys()) < _SHARED:
        return 0.0
    short = min(len(one.name), len(other.name)) < _SHORT
    names = 0.0 if short else _NAMES * _cosine(one.name, other.name)
    return max(_cosine(one.whole, other.whole), names)


def _cosine(one: dict[str, float], other: dict[str, float]) -> float:
    return sum(weight * other[term] for term, weight in one.items() if term in other)
