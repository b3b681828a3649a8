"""Parse headings of the knowledge bank: an entry's type and name, or another kind of heading."""

from __future__ import annotations

import re
from dataclasses import dataclass

ANTI_PATTERN, HEURISTIC, PATTERN = "anti-pattern", "heuristic", "pattern"
LESSONS = (ANTI_PATTERN, HEURISTIC, PATTERN)  # what finished work teaches
PRINCIPLE = "principle"  # set by people
TYPES = (*LESSONS, PRINCIPLE)
FILES = {**{type_: f"{type_}s.md" for type_ in LESSONS}, PRINCIPLE: "constitution.md"}
LABELS = {type_: type_.title() for type_ in TYPES}

_WORD = r"(?P<type>anti[-_ ]?pattern|heuristic|pattern|principle)"
_TYPED = re.compile(
    rf"(?:\[{_WORD}\]|{_WORD.replace('type', 'plain')}"
    r" ?(?P<number>#?[0-9]{1,6})?(?: ?:| [—–-](?= )| ?[—–]))"
    r" ?(?P<name>\S.*)\Z",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"(?P<code>(?P<letters>AP|H|P)-?[0-9]{1,4}|[0-9]{1,4}(?=[.):]))"
    r"(?:[.):](?![0-9])| [—–-](?= )) ?(?P<name>\S.*)\Z"
)
_CODES = {"AP": ANTI_PATTERN, "H": HEURISTIC, "P": PATTERN}
_LEAD = re.compile(r"[^\w`\"'({\[<@./~$%&*-]+")
_BOX = re.compile(r"(?:[-*] )?\[[ xX]\] ")
_STALE = re.compile(r" ?[(\[]?\u26a0\ufe0f? ?STALE\b[)\]]?[ :—–-]{0,3}", re.IGNORECASE)
_HASH = re.compile(r" ?\{#[\w-]{1,80}\}\Z")
_PLACEHOLDER = re.compile(r"\{[^{}]*+\}|<[^<>]*+>|\[[^\[\]]*+\](?!\()")
_GENERAL = frozenset(
    """
    about|archive|archived|background|changelog|confidence|consequence|consequences|contents|context
    |contributing|detail|details|entries|entry format|entry template|evidence|example|examples
    |explanation|fix|format|history|how to use|how to use this file|impact|index|instead|intro
    |introduction|legend|metadata|note|notes|observations|overview|preamble|problem|purpose|rationale
    |references|related|remedy|retired|root cause|rule|rules|see also|solution|summary|symptom
    |symptoms|table of contents|template|templates|toc|usage|what to do instead|why|why it matters
    |anti-patterns|heuristics|patterns|principles
    """.replace("\n", "")
    .replace("    ", "")
    .split("|")
)


@dataclass(frozen=True, slots=True)
class Title:
    type: str  # one of TYPES if the heading names it, else empty
    name: str
    code: str
    template: bool  # a placeholder such as {name}
    general: bool  # a section of an entry or of the file, such as "Examples"


def parse_title(heading: str) -> Title:
    text = _strip_marks(heading)
    typed = _TYPED.match(text)
    type_, code = "", ""
    if typed:
        word = (typed["type"] or typed["plain"]).lower()
        type_ = ANTI_PATTERN if word.startswith("anti") else word
        code, text = typed["number"] or "", _strip_marks(typed["name"])
    elif coded := _CODE.match(text):
        type_, code = _CODES.get(coded["letters"] or "", ""), coded["code"]
        text = _strip_marks(coded["name"])
    template = not re.search(r"\w", _PLACEHOLDER.sub("", text))
    general = text.lower().rstrip(":. ") in _GENERAL
    return Title(type_, text, code, template, general)


def type_for_file(file: str) -> str:
    """Return the type of entries whose heading names none, by the file's name."""
    name = file.rpartition("/")[2]
    return next((type_ for type_, own in FILES.items() if own == name), PATTERN)


def name_key(name: str) -> str:
    """Return a key that is equal for all spellings of one name."""
    return " ".join(re.findall(r"[^\W_]+", name.lower()))


def _strip_marks(text: str) -> str:
    """Return the text on one line, without emphasis, leading symbols, stale marks and link ids."""
    text = _HASH.sub("", _STALE.sub(" ", " ".join(text.split())).strip())
    text = text[lead.end() :] if (lead := _LEAD.match(text)) else text
    text = text[box.end() :] if (box := _BOX.match(text)) else text
    for mark in ("***", "**", "__", "*", "_"):
        inner = text[len(mark) : -len(mark)]
        if inner and text == f"{mark}{inner}{mark}" and mark not in inner:
            text = inner
    if text.startswith("**"):  # only the type is bold
        text = text[2:].replace(":**", ":", 1).replace("**:", ":", 1).replace("**", "", 1)
    return text.strip()
