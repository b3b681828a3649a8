"""Section ids such as `C3`, `Step 3.2`, `TD-2` and `1A.1`: parse, normalise and print them.

`C3`, `Component 3` and `C-3` are the same id. A heading has ids at its start (`### C1/C2: Cache`,
`## Step 3.2`, `## 2. Lexer`) and in brackets at its end (`## Lexer [DC-1]`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

WORDS = {
    "component": "C", "comp": "C", "interface": "I", "technical decision": "TD",
    "tech decision": "TD", "design decision": "DD", "decision": "D", "risk": "R",
    "requirement": "REQ", "functional requirement": "FR", "non functional requirement": "NFR",
    "nonfunctional requirement": "NFR", "acceptance criterion": "AC", "acceptance criteria": "AC",
    "criterion": "AC", "user story": "US", "story": "US", "success criterion": "SC",
    "success criteria": "SC", "step": "STEP", "phase": "PHASE", "stage": "STAGE",
    "milestone": "M", "task": "T", "plan item": "ITEM", "work item": "ITEM", "item": "ITEM",
    "group": "GROUP", "section": "", "sec": "", "chapter": "", "part": "PART", "change": "CHANGE",
    "workstream": "WS", "goal": "G", "objective": "O", "sprint": "SPRINT", "wave": "WAVE",
    "module": "MODULE", "service": "SERVICE", "flow": "FLOW", "layer": "LAYER", "area": "AREA",
    "appendix": "APPENDIX", "option": "OPTION", "constraint": "CONSTRAINT", "scenario": "SCENARIO",
    "use case": "UC", "feature": "F", "epic": "EPIC", "endpoint": "ENDPOINT", "question": "Q",
    "assumption": "A", "invariant": "INV", "iteration": "ITERATION", "track": "TRACK",
    "property": "PROPERTY", "correctness property": "PROPERTY",
}  # fmt: skip
_LONG = {word.upper() for word, prefix in WORDS.items() if prefix == word.upper()}
_PLAIN = {"C", "I", "D", "P", "S", "M", "T", "G", "Q", "F", "O", "A", "B", "E", "H", "US", "UC"}

_NAMES = {prefix: word.capitalize() for word, prefix in reversed(WORDS.items())}

PART = r"[0-9]{1,5}(?:[A-Za-z][0-9]{0,2})?(?![0-9A-Za-z])"
NUMBER = rf"{PART}(?:\.{PART}){{0,5}}"
# P1-C2 is component 2 of P1, but C1-C3 is a range
_OF = r"(?P<of>[A-Za-z]{1,4})[0-9]{1,2}-(?!(?P=of)-?[0-9])[A-Za-z]{1,4}"
_PREFIX = rf"(?P<prefix>{_OF}|[A-Za-z]{{1,5}}(?:-[A-Z]{{1,12}})?)"
CODE = rf"{_PREFIX}(?:[-–]|\.(?=[0-9]))?(?P<number>{NUMBER})"
_WORD_RE = "|".join(
    sorted((word.replace(" ", "[ -]") for word in WORDS), key=len, reverse=True)
).replace("story", "stor(?:y|ies)")
WORD = rf"(?P<word>{_WORD_RE})s?(?![A-Za-z])"
_LEAD = re.compile(
    rf"(?:{WORD}[ \t]*[#№]?[ \t]*)?"
    rf"[\[(]?(?:{CODE}|(?P<bare>{NUMBER})|(?P<letter>[A-Z]))[\])]?(?!\w)",
    re.IGNORECASE,
)
_JOIN = re.compile(
    r"[ \t]*(?P<sign>,|/|&|\+|;|and\b|–|—|-|to\b|through\b|\.\.\.?|…)[ \t]*", re.IGNORECASE
)
_AFTER = re.compile(r"[*_`~]*[ \t]*[:.)\]|·•—–-]*[ \t]*")
_TAIL = re.compile(r"[\[({](?P<inside>[^\[\](){}]{1,80})[\])}][ \t*_`~]*\Z")


@dataclass(frozen=True, slots=True)
class Id:
    """A normalised id.

    `prefix` is upper case or empty; `number` is lower case, its parts without leading zeros.
    """

    prefix: str
    number: str

    def __str__(self) -> str:
        number = self.number.upper() if self.number.isalpha() else self.number
        if number.isalpha():
            return f"{_NAMES.get(self.prefix, self.prefix)} {number}"
        if not self.prefix or self.prefix in _LONG:
            return number if self.prefix in ("", "STEP") else f"{_NAMES[self.prefix]} {number}"
        plain = self.prefix in _PLAIN or "-" in self.prefix
        return f"{self.prefix}{'' if plain else '-'}{number}"

    @property
    def parent(self) -> Id | None:
        """The id without its last part: 1A for 1A.1, and 1 for 1A."""
        head, dot, _ = self.number.rpartition(".")
        if dot:
            return Id(self.prefix, head)
        if self.number[-1:].isalpha() and self.number[:1].isdigit():
            return Id(self.prefix, self.number[:-1])
        return None


@dataclass(frozen=True, slots=True)
class Lead:
    """The ids at the start of a heading, its title, and the ids in brackets at its end."""

    ids: tuple[Id, ...]
    title: str
    tail: tuple[Id, ...] = ()


def make_id(prefix: str, number: str) -> Id:
    parts = (part.lower().lstrip("0") or "0" for part in number.split("."))
    return Id(prefix.upper().replace("–", "-"), ".".join(parts))


def find_prefix(word: str) -> str:
    """Return the prefix that a word stands for, such as C for Components; KeyError for others."""
    word = " ".join(word.lower().replace("-", " ").split())
    word = word.replace("stories", "story")
    if word not in WORDS and word.endswith("s"):
        word = word[:-1]
    return WORDS[word]


def strip_decoration(text: str) -> str:
    """Return the text without markup and without the signs before its first word."""
    text = re.sub(r"[*`~]+|(?<![A-Za-z0-9])_+|_+(?![A-Za-z0-9])", "", text)
    text = re.sub(r"\[([^\]\n]{0,200})\]\([^)\n]{0,300}\)", r"\1", text)
    place = 0
    while place < len(text) and (
        text[place].isspace()
        or text[place] == "§"
        or unicodedata.category(text[place]) in ("So", "Mn", "Cf", "Sk")
    ):
        place += 1
    return re.sub(r"\A\[[ xX]\][ \t]+", "", text[place:]).strip()


def parse_lead(text: str) -> Lead:
    """Split the text of a heading into ids and title."""
    text = strip_decoration(text)
    found: list[Id] = []
    place = 0
    for ids, end in _leading_ids(text):
        found += ids
        place = end
    title = text[_AFTER.match(text, place).end() :] if found else text  # type: ignore[union-attr]
    tail = _TAIL.search(text, max(0, len(text) - 100))
    last: list[Id] = []
    if tail and tail.start() >= place:
        inner = list(_leading_ids(tail["inside"]))
        if inner and inner[-1][1] == len(tail["inside"].rstrip()):
            last = [one for ids, _ in inner for one in ids if one.prefix]
            title = title[: -len(tail[0])].rstrip() if last else title
    return Lead(tuple(dict.fromkeys(found)), title.strip(), tuple(dict.fromkeys(last)))


def _leading_ids(text: str) -> Iterator[tuple[list[Id], int]]:
    """Yield the ids that the text starts with, each with the position after it."""
    place, last, joined = 0, None, ""
    while True:
        found = _LEAD.match(text, place)
        if not found or (last is None and not _is_lead(found, text)):
            return
        one = _make_id(found, last if joined else None)
        if one is None:
            return
        is_range = joined in ("-", "–", "—", "to", "through")
        yield (expand_range(last, one) if last and is_range else []) or [one], found.end()
        last = one
        join = _JOIN.match(text, found.end())
        joined = join["sign"].lower().rstrip(".…") or "to" if join else ""
        if join:
            place = join.end()
        else:  # `2.3 C3: Cache` has two
            gap = re.compile(r"[.:)]?[ \t]+").match(text, found.end())
            if not gap or one.prefix or not _is_code(text, gap.end()):
                return
            place = gap.end()


def _is_code(text: str, place: int) -> bool:
    """True if an id with a prefix starts at this position."""
    found = _LEAD.match(text, place)
    return bool(found and (found["word"] or (found["prefix"] and found["prefix"].isupper())))


def _is_lead(found: re.Match[str], text: str) -> bool:
    """True if the match is an id.

    A single letter is one only after a word, in brackets or before a sign; a prefix must be in
    capitals.
    """
    if found["word"]:
        return True
    if found["letter"]:
        bracketed = text[:1] in "[(" and text[found.end() - 1] in "])"
        return found["letter"].isupper() and (
            bracketed or text[found.end() :][:1] in (".", ")", ":")
        )
    if found["prefix"]:
        return found["prefix"].isupper() or found["prefix"] + found["number"] == text[: found.end()]
    return True


def _make_id(found: re.Match[str], last: Id | None) -> Id | None:
    word = find_prefix(found["word"]) if found["word"] else None
    if found["prefix"] is not None:
        known = found["prefix"].lower()
        if known in WORDS:  # Step3
            return make_id(WORDS[known], found["number"])
        return make_id(found["prefix"], found["number"])
    if found["letter"]:
        return make_id(word or "", found["letter"]) if word or last is None else None
    carried = last.prefix if last and word is None else word or ""
    return make_id(carried, found["bare"])


def expand_range(first: Id, last: Id) -> list[Id]:
    """Return the ids after the first, up to the last; none if the two make no range."""
    head, _, one = first.number.rpartition(".")
    other_head, _, two = last.number.rpartition(".")
    if first.prefix != last.prefix or head != other_head:
        return []
    start = f"{head}." if head else ""
    if one.isdigit() and two.isdigit() and 0 < int(two) - int(one) <= 50:
        return [Id(first.prefix, f"{start}{n}") for n in range(int(one) + 1, int(two) + 1)]
    if one[:-1] == two[:-1] and one[-1:].isalpha() and two[-1:].isalpha() and one < two:
        letters = range(ord(one[-1]) + 1, ord(two[-1]) + 1)
        return [Id(first.prefix, f"{start}{one[:-1]}{chr(n)}") for n in letters]
    return []
