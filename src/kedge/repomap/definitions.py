"""The definitions of the best files, ranked by their importance, in general or for a text.

A line belongs to the innermost definition around it; comments
and decorators just above a definition belong to it, too.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from kedge.repomap.search import find_matches
from kedge.repomap.symbol import Symbol
from kedge.text import words
from kedge.text.bm25 import gain

_FILES = 40  # files whose definitions are ranked
_FEWEST, _EACH = 16, 125  # with a text: so many files, and one more for so many tokens
_ABOVE = 10  # lines of comment that belong to a definition at most
_COMMENT = ("#", "/", "*", "@", "[", "-", ";")
_TERMS = 30  # of the text, the rarest, that are looked for
_USUAL = 20  # lines of a definition
VALUES = frozenset({"constant", "property", "variable"})
FRAMES = frozenset({"heading", "module", "namespace"})
_TEST = re.compile(r"^[Tt]ests?(?![a-z])|(?:_t|(?<=[a-z0-9])T)ests?$")

# Weights of the parts of a definition's score, fitted like those of files.
FILE = "its file"
FIRST = "its file is among the first"
NAME = "words of its name"
SIGNATURE = "words of its signature"
BODY = "words of its body"
EXACT = "named in the text"
SIZE = "size"
CHURN = "changes often"
VALUE = "a value"
FRAME = "encloses others"
TEST = "a test"
WITH_TEXT = {
    FILE: 5.4, FIRST: 0.6, NAME: 1.0, SIGNATURE: 0.6, BODY: 3.0, EXACT: 2.0, SIZE: 0.5,
    VALUE: -1.8, FRAME: -1.0,
}  # fmt: skip
_MATCH = {NAME: 0.4, SIGNATURE: 0.2, BODY: 1.0, EXACT: 0.7}
_RAISE = 0.1  # share of the best file's score that the best match adds
WITHOUT = {FILE: 1.5, SIZE: 0.6, CHURN: 1.0, VALUE: -1.4, FRAME: -1.4, TEST: -1.4}


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition with its score: the weighted sum of its parts."""

    path: str
    symbol: Symbol
    parts: dict[str, float]
    score: float


@dataclass(frozen=True, slots=True)
class Source:
    """A file: its score as a share of the best one, its place, its text and definitions."""

    path: str
    score: float
    place: int
    text: str
    symbols: Sequence[Symbol]
    changes: Mapping[str, float]  # how often each of its definitions changed, by name


def count_files(text: str, budget: int) -> int:
    """Return how many of the best files have definitions that a map of this budget may show."""
    return min(_FILES, _FEWEST + budget // _EACH) if text else _FILES


def rank_definitions(
    sources: Sequence[Source], text: str, rarities: Mapping[str, float]
) -> list[Definition]:
    """Rank the definitions of files, best first; those of the same name and parent are one.

    `rarities` has the terms of the text with their weights.
    """
    weights = WITH_TEXT if rarities else WITHOUT
    total = sum(rarities.values()) or 1.0
    telling = sorted(rarities, key=lambda term: (-rarities[term], term))[:_TERMS]
    shares = {term: rarities[term] / total for term in telling}
    mentioned = frozenset(re.findall(r"\w{4,}", words.drop_hidden(text)))
    found: dict[tuple[str, str, str | None], Definition] = {}
    for source in sources:
        changes = _share_changes(source)
        for symbol, size, counts in _measure(source, shares):
            often = changes.get(symbol.name, 0.0)
            parts = _find_parts(source, symbol, size, often, mentioned, shares, counts)
            score = sum(weight * parts[name] for name, weight in weights.items())
            key = (source.path, symbol.name, symbol.parent)
            if key not in found or score > found[key].score:
                found[key] = Definition(source.path, symbol, parts, score)
    places = {source.path: source.place for source in sources}
    return sorted(found.values(), key=lambda one: (-one.score, places[one.path], one.symbol.line))


def raise_files(scores: Mapping[str, float], definitions: Sequence[Definition]) -> dict[str, float]:
    """Return the scores of files, best first, raised by the match of a definition with the text.

    A file that has the words of the text in one place fits better than one that has them anywhere.
    """
    matches: dict[str, float] = {}
    for one in definitions:
        match = sum(weight * one.parts[name] for name, weight in _MATCH.items())
        matches[one.path] = max(match, matches.get(one.path, 0.0))
    best = max(matches.values(), default=0.0) or 1.0
    most = _RAISE * max(scores.values(), default=0.0)
    raised = {path: score + most * matches.get(path, 0.0) / best for path, score in scores.items()}
    return dict(sorted(raised.items(), key=lambda pair: -pair[1]))  # stable


def _find_parts(
    source: Source,
    symbol: Symbol,
    size: int,
    changes: float,
    mentioned: frozenset[str],
    shares: Mapping[str, float],
    counts: Mapping[str, int],
) -> dict[str, float]:
    return {
        FILE: source.score,
        FIRST: 1 / (source.place + 1),
        NAME: sum(shares.get(term, 0.0) for term in words.split_name(symbol.name)),
        SIGNATURE: sum(shares.get(term, 0.0) for term in set(words.split_text(symbol.signature))),
        BODY: sum(gain(shares[term], count, size, _USUAL, b=0.4) for term, count in counts.items()),
        EXACT: float(symbol.name in mentioned and len(words.split_name(symbol.name)) > 1),
        SIZE: math.log1p(size),
        CHURN: math.log1p(changes),
        VALUE: float(symbol.kind in VALUES),
        FRAME: float(symbol.kind in FRAMES),
        TEST: float(_is_test(symbol)),
    }


def _is_test(symbol: Symbol) -> bool:
    """True for a test that is kept beside the code."""
    is_function = symbol.kind in ("function", "method")
    return symbol.parent == "tests" or (is_function and _TEST.search(symbol.name) is not None)


def _share_changes(source: Source) -> dict[str, float]:
    """How often each name changed, divided among the definitions that have it."""
    names = Counter(name for name, _ in {(one.name, one.parent) for one in source.symbols})
    return {name: count / (names[name] or 1) for name, count in source.changes.items()}


def _measure(
    source: Source, shares: Mapping[str, float]
) -> list[tuple[Symbol, int, dict[str, int]]]:
    """Return each definition, its number of lines, and the number of lines with each term."""
    symbols = source.symbols
    lines = source.text.split("\n")
    owners = _find_owners(symbols, lines)
    sizes = [0] * len(symbols)
    for owner in owners:
        if owner >= 0:
            sizes[owner] += 1
    counts: list[dict[str, int]] = [{} for _ in symbols]
    if shares:
        text = "\n" + source.text + "\n"
        lower = text.lower()
        if len(lower) == len(text):
            starts = _find_starts(lines)
            for term in shares:
                for place in find_matches(text, lower, term):
                    owner = owners[bisect(starts, place) - 1]
                    if owner >= 0:
                        counts[owner][term] = counts[owner].get(term, 0) + 1
    return list(zip(symbols, sizes, counts, strict=True))


def _find_owners(symbols: Sequence[Symbol], lines: Sequence[str]) -> list[int]:
    """Return the index of the innermost definition around each line; -1 if there is none."""
    owners = [-1] * len(lines)
    for at in sorted(range(len(symbols)), key=lambda one: symbols[one].line - symbols[one].end):
        first, last = symbols[at].line - 1, min(max(symbols[at].end, symbols[at].line), len(lines))
        highest = max(first - _ABOVE, 0)
        while first > highest and lines[first - 1].lstrip().startswith(_COMMENT):
            first -= 1
        owners[first:last] = [at] * (last - first)
    return owners


def _find_starts(lines: Sequence[str]) -> list[int]:
    """Return where each line begins in the text that has a line break before it."""
    return [*accumulate((len(line) + 1 for line in lines), initial=1)][:-1]
