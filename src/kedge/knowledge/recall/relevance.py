"""Rank entries by their relevance for a task or a change: by paths, identifiers and rare words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kedge.knowledge.bank import anchors
from kedge.knowledge.bank.entries import Entry
from kedge.knowledge.bank.fields import ANCHOR
from kedge.knowledge.recall.synonyms import find_related, root
from kedge.text import bm25
from kedge.text.globs import Glob
from kedge.text.words import find_paths, stem, weigh_terms

_B = 0.6
_NAME, _TEXT, _PLACE = 2.5, 1.0, 1.5  # weights of words in an entry
_WORDS, _IDENTIFIERS, _PATHS, _RELATED = 1.0, 1.4, 0.7, 0.45  # weights of words in a query
_SAME, _SYMBOL, _BESIDE, _GLOB = 8.0, 4.0, 1.5, 4.0  # scores for what an entry is anchored at
_MIN_SCORE = 2.2
_MIN_SHARE = 0.5  # of the best score by words
_MAX_MATCHES = 12
_MAX_RELATED = 2  # related terms that count for one term
_RAREST = 3.4  # weight of a word that only one entry has
_SINGLE_WORD = 0.4  # how much less few matching words are worth
# Words that say nothing about a lesson, besides those that `weigh_terms` leaves out.
_STOP_WORDS = frozenset(
    stem(word)
    for word in """
    about again along already always another around back behind below best better between bit both
    bring came cannot come day down early else end enough even ever every example few first follow
    found four full give given go goes good gone got half hard help here high how however if
    include instead keep kept kind know large last late later lead least less little long
    look lost low many may mean might most move much must need never next nobody none nothing
    number off often old once our own part people per place point put quick rather
    really reason right roll same say second see seen set several show simple since
    single slow small someone something soon still such sure take tell ten than thing
    think though three through together told too took toward tries turn twice until upon very
    want way week well went what whether whole whose why wide within without work wrong year yes
    yet your you
    src lib app pkg web cmd internal main init mod core util
    """.split()  # noqa: SIM905 - easier on the eye
)
_WORD = re.compile(r"(?<!\w)([A-Za-z_]\w{2,79})(?!\w)(\()?")
_GLOBS = re.compile(r"`([^`\s]{2,80})`|(?<![\w/])((?:[\w.-]{1,60}/){1,9}[\w.*-]{0,60}|\*\.\w{1,8})")
# Words in file names that say what a file is, not what it is about.
_FILE_KINDS = frozenset({"view", "model", "servic", "handl", "controll", "admin", "valu", "type"})


@dataclass(frozen=True, slots=True)
class Match:
    entry: Entry
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Query:
    """What the lessons are wanted for, as far as it is known."""

    paths: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    text: str = ""


def query_from_text(text: str, paths: Iterable[str] = ()) -> Query:
    """Build a query from a task's text, with the paths and identifiers in it."""
    mentioned = [path for path in find_paths(text) if re.search(r"[A-Za-z]", path)]
    words = _WORD.finditer(text)
    names = (word[1] for word in words if word[2] or _is_identifier(word[1]))
    return Query((*paths, *mentioned), tuple(dict.fromkeys(names)), text)


def query_from_diff(diff: str) -> Query:
    """Build a query from a unified diff: its paths, and the names in the changed lines."""
    paths, names = dict[str, None](), Counter[str]()
    for line in diff.split("\n"):
        if line.startswith(("+++ ", "--- ")):
            path = line[4:].partition("\t")[0].strip('"')
            if path != "/dev/null":
                paths[path[2:] if path[:2] in ("a/", "b/") else path] = None
        elif line.startswith(("+", "-")):
            names.update(re.findall(r"[A-Za-z_]\w{2,60}", line))
    by_frequency = sorted(names, key=lambda name: (-names[name], name))
    return Query(tuple(paths), tuple(by_frequency[:60]))


def rank_entries(entries: Sequence[Entry], query: Query) -> list[Match]:
    """Return the relevant entries, most relevant first.

    The caller leaves out orphaned entries. The same input gives the same result.
    """
    words = _Words(entries)
    weights = _query_weights(query)
    found = []
    for at, entry in enumerate(entries):
        gains = words.gains(at, weights)
        by_place, why = _score_place(entry, query)
        by_words = sum(gains[term] for term in sorted(gains))
        by_words *= 1 - _SINGLE_WORD / (len(gains) + 1)
        if by_place + by_words >= _MIN_SCORE:
            best = sorted(gains, key=lambda term: (-gains[term], term))[:4]
            reasons = [*why, *([f"words: {', '.join(best)}"] if best else [])]
            match = Match(entry, round(by_place + by_words, 3), "; ".join(reasons))
            found.append((match, by_words if by_place < _GLOB else math.inf))
    # Only scores by words set the threshold: an anchored entry makes no other less relevant.
    threshold = _MIN_SHARE * max((score for _, score in found if score < math.inf), default=0.0)
    matches = [match for match, score in found if score >= threshold]
    matches.sort(key=lambda one: (-one.score, one.entry.file, one.entry.line))
    return matches[:_MAX_MATCHES]


class _Words:
    """The words of all entries, weighted by how rare they are (BM25)."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._bags = [_bag(entry) for entry in entries]
        self._spread = Counter(term for bag in self._bags for term in bag)
        self._sizes = [sum(bag.values()) for bag in self._bags]
        self._mean = sum(self._sizes) / len(self._sizes) if any(self._sizes) else 1.0
        # A word that only one entry has weighs the same in small and large banks.
        self._scale = _RAREST / bm25.rarity(len(entries), 1) if entries else 1.0

    def gains(self, at: int, weights: Mapping[str, float]) -> dict[str, float]:
        """Return what each word adds to an entry's score, related terms included."""
        bag = self._bags[at]
        gains = {term: self._gain(at, term, weights[term]) for term in weights if term in bag}
        related: dict[str, float] = {}
        for term, weight in weights.items():
            others = [one for one in find_related(term) if one in bag and one not in weights]
            if term not in bag and others:
                others.sort(key=lambda one: (-self._gain(at, one, 1.0), one))
                for best in others[:_MAX_RELATED]:
                    share = self._gain(at, best, _RELATED * min(weight, 1.0))
                    related[best] = max(related.get(best, 0.0), share)
        return {**related, **gains}

    def _gain(self, at: int, term: str, weight: float) -> float:
        weight *= self._scale * bm25.rarity(len(self._bags), self._spread[term])
        return bm25.gain(weight, self._bags[at][term], self._sizes[at], self._mean, b=_B)


def _is_identifier(word: str) -> bool:
    """True for a word with an underscore or a capital letter inside."""
    return "_" in word.strip("_") or re.search(r"[a-z][A-Z]", word) is not None


def _query_weights(query: Query) -> dict[str, float]:
    weights: dict[str, float] = {}
    suffixes = dict.fromkeys("." + path.rpartition(".")[2].lower() for path in query.paths)
    for text, weight in (
        (query.text, _WORDS),
        (" ".join(query.identifiers), _IDENTIFIERS),
        (" ".join(query.paths), _PATHS),
    ):
        for term, often in _terms(text).items():
            if weight == _PATHS and term in _FILE_KINDS:
                continue
            weights[term] = max(weights.get(term, 0.0), weight * min(often, 1.7))
    return {**dict.fromkeys(suffixes, _PATHS), **weights}


def _terms(text: str) -> dict[str, float]:
    """Return the word roots in a text, with their frequencies."""
    roots: dict[str, float] = {}
    for term, often in weigh_terms(text).items():
        if term not in _STOP_WORDS:
            key = root(term)
            roots[key] = max(roots.get(key, 0.0), often)
    return roots


def _bag(entry: Entry) -> dict[str, float]:
    places = " ".join(field.value for field in entry.all(ANCHOR))
    bag: dict[str, float] = {}
    for text, weight in ((entry.name, _NAME), (entry.text, _TEXT), (places, _PLACE)):
        for term, often in _terms(text).items():
            bag[term] = bag.get(term, 0.0) + weight * often
    for term in _terms(entry.section):
        bag.setdefault(term, 0.5)
    return bag


def _score_place(entry: Entry, query: Query) -> tuple[float, list[str]]:
    """Score how near the entry is to the query's paths, by its anchors and the paths it names."""
    score, why = 0.0, []
    for field in entry.all(ANCHOR):
        anchor = anchors.parse(field.value)
        near, reason = _score_anchor(anchor.path, query.paths)
        if anchor.symbol and re.split(r"\.|::", anchor.symbol)[-1] in query.identifiers:
            near, reason = near + _SYMBOL, f"anchored at {anchor.place}"
        if near > score:
            score, why = near, [reason]
    for match in _GLOBS.finditer(entry.text):
        pattern = match[1] or match[2]
        if score < _GLOB and any(_matches(path, pattern) for path in query.paths):
            score, why = _GLOB, [f"names {pattern}"]
    return score, why


def _score_anchor(anchor: str, paths: Iterable[str]) -> tuple[float, str]:
    best = 0.0
    folder = anchor if anchor.endswith("/") else anchor.rpartition("/")[0] + "/"
    for path in paths:
        if (
            path == anchor
            or (anchor.endswith("/") and path.startswith(anchor))
            or (f"/{anchor}".endswith(f"/{path}") and "." in path)
        ):
            best = max(best, _SAME)
        elif folder != "/" and path.startswith(folder):
            best = max(best, _BESIDE)
    return best, f"anchored at {anchor}" if best == _SAME else f"anchored near, at {anchor}"


def _matches(path: str, pattern: str) -> bool:
    pattern = pattern.removeprefix("./").lstrip("/")
    if pattern.endswith("/"):
        return f"/{pattern}" in f"/{path}"
    if "*" in pattern:
        return Glob(f"**/{pattern}").matches(path)
    return re.search(r"/|\.\w{1,8}\Z", pattern) is not None and f"/{path}".endswith(f"/{pattern}")
