"""What a heading of the knowledge bank says: an entry's type and name, or something else."""

from __future__ import annotations

import re

from kedge.host.record import NamedTuple

ANTI_PATTERN, HEURISTIC, PATTERN = "anti-pattern", "heuristic", "pattern"
TYPES = (ANTI_PATTERN, HEURISTIC, PATTERN)
FILES = {ANTI_PATTERN: "anti-patterns.md", HEURISTIC: "heuristics.md", PATTERN: "patterns.md"}
LABELS = {ANTI_PATTERN: "Anti-Pattern", HEURISTIC: "Heuristic", PATTERN: "Pattern"}

_WORD = r"(?P<type>anti[-_ ]?pattern|heuristic|pattern)"
_SAID = re.compile(
    rf"(?:\[{_WORD}\]|{_WORD.replace('type', 'plain')}"
    r" ?(?P<number>#?[0-9]{1,6})?(?: ?:| [—–-](?= )| ?[—–]))"
    r" ?(?P<name>\S.*)\Z",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"(?P<code>(?P<letters>AP|H|P)-?[0-9]{1,4}|[0-9]{1,4}(?=[.):]))"
    r"(?:[.):]| [—–-](?= )) ?(?P<name>\S.*)\Z"
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
    |anti-patterns|heuristics|patterns
    """.replace("\n", "")
    .replace("    ", "")
    .split("|")
)


class Title(NamedTuple):
    type: str  # one of TYPES where the heading says so, else empty
    name: str
    code: str
    template: bool  # a place for a name, and no name
    general: bool  # a part of an entry or of the file, by its words


def read(heading: str) -> Title:
    text = _bare(heading)
    said = _SAID.match(text)
    type_, code = "", ""
    if said:
        word = (said["type"] or said["plain"]).lower()
        type_ = ANTI_PATTERN if word.startswith("anti") else word
        code, text = said["number"] or "", _bare(said["name"])
    elif found := _CODE.match(text):
        type_, code = _CODES.get(found["letters"] or "", ""), found["code"]
        text = _bare(found["name"])
    template = not re.search(r"\w", _PLACEHOLDER.sub("", text))
    general = text.lower().rstrip(":. ") in _GENERAL
    return Title(type_, text, code, template, general)


def type_of_file(file: str) -> str:
    """What a file's entries are where they do not say; a file of kedge's own tells by its name."""
    name = file.rpartition("/")[2]
    return next((type_ for type_, own in FILES.items() if own == name), PATTERN)


def key(name: str) -> str:
    """The same for two ways to write one name."""
    return " ".join(re.findall(r"[^\W_]+", name.lower()))


def _bare(text: str) -> str:
    """On one line, without emphasis, signs before it, a mark of staleness and an id for links."""
    text = _HASH.sub("", _STALE.sub(" ", " ".join(text.split())).strip())
    text = text[found.end() :] if (found := _LEAD.match(text)) else text
    text = text[found.end() :] if (found := _BOX.match(text)) else text
    for mark in ("***", "**", "__", "*", "_"):
        inner = text[len(mark) : -len(mark)]
        if inner and text == f"{mark}{inner}{mark}" and mark not in inner:
            text = inner
    if text.startswith("**"):  # only the type is bold
        text = text[2:].replace(":**", ":", 1).replace("**:", ":", 1).replace("**", "", 1)
    return text.strip()
