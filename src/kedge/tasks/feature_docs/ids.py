"""Ids of sections: `C3`, `Component 3` and `C-3` are one; `Step 3.2`, `TD-2`, `1A.1`.

A heading's ids are those at its start (`### C1/C2: Cache`, `## Step 3.2`, `## 2. Lexer`) and those
in brackets at its end (`## Lexer [DC-1]`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from kedge.host.record import NamedTuple

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
}  # fmt: skip
_LONG = {"STEP", "PHASE", "STAGE", "ITEM", "GROUP", "PART", "CHANGE", "SPRINT", "WAVE", "MODULE",
         "SERVICE", "FLOW", "LAYER", "AREA", "APPENDIX", "OPTION", "CONSTRAINT", "SCENARIO",
         "EPIC", "ENDPOINT", "ITERATION", "TRACK"}  # fmt: skip
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


class Id(NamedTuple):
    """`prefix` is in capitals, or empty; `number` is lower case, its parts without zeros."""

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
    def above(self) -> Id | None:
        """The id without its last part: 1A.1 is part of 1A, and that of 1."""
        head, dot, _ = self.number.rpartition(".")
        if dot:
            return Id(self.prefix, head)
        if self.number[-1:].isalpha() and self.number[:1].isdigit():
            return Id(self.prefix, self.number[:-1])
        return None


class Lead(NamedTuple):
    """What a heading starts with, the title behind that, and the ids in brackets at its end."""

    ids: tuple[Id, ...]
    title: str
    tail: tuple[Id, ...] = ()


def make(prefix: str, number: str) -> Id:
    parts = (part.lower().lstrip("0") or "0" for part in number.split("."))
    return Id(prefix.upper().replace("–", "-"), ".".join(parts))


def prefix_of(word: str) -> str:
    """The prefix that a word stands for: Components is C."""
    word = " ".join(word.lower().replace("-", " ").split())
    word = word.replace("stories", "story")
    if word not in WORDS and word.endswith("s"):
        word = word[:-1]
    return WORDS[word]


def undressed(text: str) -> str:
    """Without markup, and without the signs before the first word."""
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


def lead(text: str) -> Lead:
    text = undressed(text)
    found: list[Id] = []
    place = 0
    for ids, end in _leads(text):
        found += ids
        place = end
    title = text[_AFTER.match(text, place).end() :] if found else text  # type: ignore[union-attr]
    tail = _TAIL.search(text, max(0, len(text) - 100))
    behind: list[Id] = []
    if tail and tail.start() >= place:
        inner = list(_leads(tail["inside"]))
        if inner and inner[-1][1] == len(tail["inside"].rstrip()):
            behind = [one for ids, _ in inner for one in ids if one.prefix]
            title = title[: -len(tail[0])].rstrip() if behind else title
    return Lead(tuple(dict.fromkeys(found)), title.strip(), tuple(dict.fromkeys(behind)))


def _leads(text: str) -> Iterator[tuple[list[Id], int]]:
    place, last, joined = 0, None, ""
    while True:
        found = _LEAD.match(text, place)
        if not found or (last is None and not _is_lead(found, text)):
            return
        one = _id(found, last if joined else None)
        if one is None:
            return
        many = expand(last, one) if last and joined in ("-", "–", "—", "to", "through") else [one]
        yield many, found.end()
        last = one
        join = _JOIN.match(text, found.end())
        joined = join["sign"].lower().rstrip(".…") or "to" if join else ""
        if join:
            place = join.end()
        else:  # `2.3 C3: Cache` has two
            behind = re.compile(r"[.:)]?[ \t]+").match(text, found.end())
            if not behind or one.prefix or not _coded(text, behind.end()):
                return
            place = behind.end()


def _coded(text: str, place: int) -> bool:
    found = _LEAD.match(text, place)
    return bool(found and (found["word"] or (found["prefix"] and found["prefix"].isupper())))


def _is_lead(found: re.Match[str], text: str) -> bool:
    """A letter is an id behind a word, in brackets or with a sign; a code is in capitals."""
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


def _id(found: re.Match[str], last: Id | None) -> Id | None:
    word = prefix_of(found["word"]) if found["word"] else None
    if found["prefix"] is not None:
        known = found["prefix"].lower()
        if known in WORDS:  # Step3
            return make(WORDS[known], found["number"])
        return make(found["prefix"], found["number"])
    if found["letter"]:
        return make(word or "", found["letter"]) if word or last is None else None
    carried = last.prefix if last and word is None else word or ""
    return make(carried, found["bare"])


def expand(first: Id, last: Id) -> list[Id]:
    """The ids behind the first up to the last, where they differ in one number only."""
    head, _, one = first.number.rpartition(".")
    other_head, _, two = last.number.rpartition(".")
    if first.prefix != last.prefix or head != other_head:
        return [last]
    lead = f"{head}." if head else ""
    if one.isdigit() and two.isdigit() and 0 < int(two) - int(one) <= 50:
        return [Id(first.prefix, f"{lead}{n}") for n in range(int(one) + 1, int(two) + 1)]
    if one[:-1] == two[:-1] and one[-1:].isalpha() and two[-1:].isalpha() and one < two:
        letters = range(ord(one[-1]) + 1, ord(two[-1]) + 1)
        return [Id(first.prefix, f"{lead}{one[:-1]}{chr(n)}") for n in letters]
    return [last]
