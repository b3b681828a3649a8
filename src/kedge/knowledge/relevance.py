"""Which lessons matter for a task or a change: by paths, by names in the code, by rare words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from kedge.host import tokens
from kedge.host.record import NamedTuple
from kedge.knowledge import anchors, titles, values
from kedge.knowledge.entries import Entry
from kedge.knowledge.fields import ANCHOR, CHALLENGED, CONFIDENCE, COUNT, LAST
from kedge.knowledge.kin import kin, root
from kedge.repomap import terms

BUDGET = 1000  # tokens
_K1, _B = 1.2, 0.6
_NAME, _TEXT, _PLACE = 2.5, 1.0, 1.5  # weights of an entry's words
_ASKED, _NAMED, _PATH, _KIN = 1.0, 1.4, 0.7, 0.45  # weights of the words that are asked for
_SAME, _SYMBOL, _BESIDE, _GLOB = 8.0, 4.0, 1.5, 4.0  # for what an entry is about
_SHARE, _LEAST, _MATCHES = 0.5, 2.2, 12
_MOST_KIN = 2
_RAREST = 3.4
_ALONE = 0.4  # what a word by itself is worth less
# What says nothing about a lesson, beside the words that `terms` leaves out.
_IDLE = frozenset(
    """
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
# What files are called after what they are, and not after what they are about.
_ROOMS = frozenset({"view", "model", "servic", "handl", "controll", "admin", "valu", "type"})


class Match(NamedTuple):
    entry: Entry
    score: float
    why: str


class Asked(NamedTuple):
    """What is about to be done, as far as it is known."""

    paths: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    text: str = ""


def of_text(text: str, paths: Iterable[str] = ()) -> Asked:
    """What a task's text asks for: the paths and the names in it, too."""
    named = [path for path in terms.paths_in(text) if re.search(r"[A-Za-z]", path)]
    names = (found[1] for found in _WORD.finditer(text) if found[2] or _is_name(found[1]))
    return Asked((*paths, *named), tuple(dict.fromkeys(names)), text)


def of_diff(diff: str) -> Asked:
    """What a unified diff touches: its paths, and the names in the lines that differ."""
    paths, names = dict[str, None](), Counter[str]()
    for line in diff.split("\n"):
        if line.startswith(("+++ ", "--- ")):
            path = line[4:].partition("\t")[0].strip('"')
            if path != "/dev/null":
                paths[path[2:] if path[:2] in ("a/", "b/") else path] = None
        elif line.startswith(("+", "-")):
            names.update(re.findall(r"[A-Za-z_]\w{2,60}", line))
    often = sorted(names, key=lambda name: (-names[name], name))
    return Asked(tuple(paths), tuple(often[:60]))


def relevant(
    entries: Sequence[Entry],
    *,
    paths: Iterable[str] = (),
    identifiers: Iterable[str] = (),
    text: str = "",
    budget: int | None = BUDGET,
) -> list[Match]:
    """The entries that matter, most first, as many as have room in the budget of tokens.

    What is orphaned is the caller's to leave out. The same input gives the same answer.
    """
    asked = Asked(tuple(paths), tuple(identifiers), text)
    words = _Words(entries)
    query = _query(asked)
    found = []
    for at, entry in enumerate(entries):
        gains = words.gains(at, query)
        place, why = _placed(entry, asked)
        told = sum(gains[term] for term in sorted(gains)) * (1 - _ALONE / (len(gains) + 1))
        if place + told >= _LEAST:
            best = sorted(gains, key=lambda term: (-gains[term], term))[:4]
            reasons = [*why, *([f"words: {', '.join(best)}"] if best else [])]
            match = Match(entry, round(place + told, 3), "; ".join(reasons))
            found.append((match, told if place < _GLOB else math.inf))
    # By words alone: that one entry is anchored at a path makes no other less relevant.
    bar = _SHARE * max((told for _, told in found if told < math.inf), default=0.0)
    near = [match for match, told in found if told >= bar]
    near.sort(key=lambda one: (-one.score, one.entry.file, one.entry.line))
    return near[:_MATCHES] if budget is None else _within(near[:_MATCHES], budget)


class _Words:
    """The words of all entries, by how rare they are among them."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._bags = [_bag(entry) for entry in entries]
        self._spread = Counter(term for bag in self._bags for term in bag)
        self._sizes = [sum(bag.values()) for bag in self._bags]
        self._mean = sum(self._sizes) / len(self._sizes) if any(self._sizes) else 1.0
        # A word that one entry alone has weighs the same in a small bank and in a large one.
        self._scale = _RAREST / math.log(1 + (len(entries) - 0.5) / 1.5) if entries else 1.0

    def gains(self, at: int, query: Mapping[str, float]) -> dict[str, float]:
        """What each word adds to an entry's score: for itself, or for the best that is akin."""
        bag = self._bags[at]
        gains = {term: self._gain(at, term, query[term]) for term in query if term in bag}
        akin: dict[str, float] = {}
        for term, weight in query.items():
            others = [one for one in kin(term) if one in bag and one not in query]
            if term not in bag and others:
                others.sort(key=lambda one: (-self._gain(at, one, 1.0), one))
                for best in others[:_MOST_KIN]:
                    share = self._gain(at, best, _KIN * min(weight, 1.0))
                    akin[best] = max(akin.get(best, 0.0), share)
        return {**akin, **gains}

    def _gain(self, at: int, term: str, weight: float) -> float:
        spread, often = self._spread[term], self._bags[at][term]
        rare = math.log(1 + (len(self._bags) - spread + 0.5) / (spread + 0.5))
        slack = _K1 * (1 - _B + _B * self._sizes[at] / self._mean)
        return weight * self._scale * rare * often * (_K1 + 1) / (often + slack)


def shown(entry: Entry) -> str:
    """An entry as an agent is given it."""
    count = values.count(entry.value(COUNT))
    told = [
        f"confidence {entry.value(CONFIDENCE)}" if entry.value(CONFIDENCE) else "",
        f"observed {count}×" if count else "",
        f"last in {entry.value(LAST)}" if entry.value(LAST) else "",
    ]
    notes = ", ".join(filter(None, told))
    head = f"**{titles.LABELS[entry.type]}: {entry.name}**" + (f" ({notes})" if notes else "")
    lines = [head, *entry.text.splitlines()]
    lines += [f"Challenged: {field.value}" for field in entry.all(CHALLENGED)]
    body = [f"  {line}" if line.strip() else "" for line in lines[1:]]
    return "\n".join([f"- {head}", *body])


def _is_name(word: str) -> bool:
    """Whether a word is one of code: with an underscore, or a capital within."""
    return "_" in word.strip("_") or re.search(r"[a-z][A-Z]", word) is not None


def _within(found: Sequence[Match], budget: int) -> list[Match]:
    """The first ones that have room; one that is too long makes room for the next."""
    kept, left = [], budget
    for one in found:
        size = tokens.count(shown(one.entry) + "\n")
        if size <= left:
            kept.append(one)
            left -= size
    return kept


def _query(asked: Asked) -> dict[str, float]:
    weights: dict[str, float] = {}
    suffixes = dict.fromkeys("." + path.rpartition(".")[2].lower() for path in asked.paths)
    for text, weight in (
        (asked.text, _ASKED),
        (" ".join(asked.identifiers), _NAMED),
        (" ".join(asked.paths), _PATH),
    ):
        for term, often in _terms(text).items():
            if weight == _PATH and term in _ROOMS:
                continue
            weights[term] = max(weights.get(term, 0.0), weight * min(often, 1.7))
    return {**dict.fromkeys(suffixes, _PATH), **weights}


def _terms(text: str) -> dict[str, float]:
    """The words of a text by their roots, with how often they are there."""
    found: dict[str, float] = {}
    for term, often in terms.of_text(text).items():
        if term not in _IDLE:
            key = root(term)
            found[key] = max(found.get(key, 0.0), often)
    return found


def _bag(entry: Entry) -> dict[str, float]:
    places = " ".join(field.value for field in entry.all(ANCHOR))
    bag: dict[str, float] = {}
    for text, weight in ((entry.name, _NAME), (entry.text, _TEXT), (places, _PLACE)):
        for term, often in _terms(text).items():
            bag[term] = bag.get(term, 0.0) + weight * often
    for term in _terms(entry.section):
        bag.setdefault(term, 0.5)
    return bag


def _placed(entry: Entry, asked: Asked) -> tuple[float, list[str]]:
    """How near the entry is to the paths, by its anchors and by what it names."""
    score, why = 0.0, []
    for field in entry.all(ANCHOR):
        anchor = anchors.parse(field.value)
        near, reason = _near(anchor.path, asked.paths)
        if anchor.symbol and re.split(r"\.|::", anchor.symbol)[-1] in asked.identifiers:
            near, reason = near + _SYMBOL, f"anchored at {anchor.place}"
        if near > score:
            score, why = near, [reason]
    for found in _GLOBS.finditer(entry.text):
        pattern = found[1] or found[2]
        if score < _GLOB and any(_matches(path, pattern) for path in asked.paths):
            score, why = _GLOB, [f"names {pattern}"]
    return score, why


def _near(anchor: str, paths: Iterable[str]) -> tuple[float, str]:
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
    pattern = pattern.lstrip("./")
    if pattern.endswith("/"):
        return f"/{pattern}" in f"/{path}"
    if "*" in pattern:
        return pattern.count("*") < 4 and fnmatchcase(f"/{path}", f"*{pattern}")
    return re.search(r"/|\.\w{1,8}\Z", pattern) is not None and f"/{path}".endswith(f"/{pattern}")
