"""The findings in a reviewer's answer: items, rows and labelled lines, or values of JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kedge.knowledge.review_words import MAJOR, NOTE, severity
from kedge.knowledge.reviews import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# In JSON, what a finding is called, where it is, and how bad.
_ABOUT = (
    *("description", "message", "text", "issue", "finding", "problem", "title", "detail"),
    *("details", "summary", "comment", "what"),
)
_WHERE = ("location", "file", "path", "where", "filename", "file_path")
_HOW_BAD = ("severity", "level", "priority", "type")
_ITEM = re.compile(
    r"(?P<lead>[ \t]*)(?:[-*+•]|[0-9]{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?P<text>.+)\Z"
)
_ID = r"(?P<id>[A-Za-z][A-Za-z_-]{0,11}[0-9][\w.-]{0,20})"
_LEAD = re.compile(
    rf"[\W_]{{0,8}}(?:{_ID}\b[\W_]{{1,6}})?(?P<word>[A-Za-z][A-Za-z0-9-]{{1,15}})\b"
    r"(?P<stop>[\W_]{1,6})(?P<text>\S.*)\Z"
)
_NAMED = re.compile(rf"[\W_]{{0,4}}{_ID}\b[\W_]{{1,6}}(?P<text>\S.*)\Z")
_INNER = re.compile(rf"{_ID}[ \t]*[:—–)\]-][ \t]*(?P<text>\S.*)\Z")
_PLACE = re.compile(r"(?<![\w/])((?:[\w.@-]+/)*[\w.@-]+\.[A-Za-z]\w{0,7}:[0-9]+(?:[-–][0-9]+)?)")
_HEAD = re.compile(r"\s{0,3}(?:#{1,6}\s+(.+)|\*\*([^*]+?):?\*\*:?\s*|([A-Z][\w ]{2,40}):\s*)\Z")
_FOUND = re.compile(r"\b(?:issues?|findings?|problems?|concerns?|violations?|to fix)\b")
_NOTHING = re.compile(
    r"\W*(?:none|n/?a|nothing|no (?:\w+ ){0,3}(?:issues?|findings?|blockers?))\b", re.IGNORECASE
)


def finding(text: str, default: str = MAJOR) -> Finding:
    """A finding from `ID SEVERITY TEXT`, of which the first two may be left out."""
    found = _LEAD.match(text)
    kind = severity(found["word"]) if found else None
    if found and kind:
        inner = None if found["id"] else _INNER.match(found["text"])
        name, about = (inner["id"], inner["text"]) if inner else (found["id"], found["text"])
        return _made(name, kind, about)
    named = _NAMED.match(text)
    if named:
        return _made(named["id"], default, named["text"])
    return _made(None, default, text)


def in_lines(lines: Sequence[str]) -> Iterator[Finding]:
    """What is a finding by its own mark, or by the heading that it is an item under."""
    under: str | None = None
    for line in lines:
        head = _HEAD.match(line)
        if head:
            words = next(filter(None, head.groups()))
            under = severity_in(words) or (MAJOR if _FOUND.search(words.lower()) else None)
            continue
        item = _ITEM.match(line)
        text = item["text"] if item else line
        lead = _LEAD.match(text)
        marked = severity(lead["word"]) if lead and _stands_apart(lead) else None
        if line.strip().startswith("|"):
            yield from _row(line)
        elif _NOTHING.match(text) or (item and item["lead"]):
            continue
        elif marked and lead and not _NOTHING.match(lead["text"]) and (item or marked != NOTE):
            yield finding(text)
        elif item and under and not re.search(r"(?i)\bverif", text):
            yield finding(text, under)


def in_value(value: Any, default: str) -> Iterator[Finding]:
    """The findings of a JSON value: texts, objects, or lists of them by severity."""
    if isinstance(value, list):
        for one in value:
            yield from in_value(one, default)
    elif isinstance(value, str) and value.strip() and not _NOTHING.match(value):
        yield finding(value, default)
    elif isinstance(value, dict):
        low = {key.lower(): one for key, one in value.items()}
        about = next((low[key] for key in _ABOUT if isinstance(low.get(key), str)), None)
        if about is None:
            for key, one in value.items():
                yield from in_value(one, severity_in(key) or default)
            return
        words = (low[key] for key in _HOW_BAD if isinstance(low.get(key), str))
        kind = next((kind for word in words if (kind := severity(word))), default)
        name = low.get("id", low.get("code"))
        yield _made(name if isinstance(name, str) else None, kind, about, _location(low))


def severity_in(words: str) -> str | None:
    """The severity that is named in a heading or a key."""
    plain = re.sub(r"[^A-Za-z0-9]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", words))
    kinds = (severity(word) for word in plain.split())
    return next(filter(None, kinds), None)


def _location(low: dict[str, Any]) -> str | None:
    place = next((low[key] for key in _WHERE if isinstance(low.get(key), str)), None)
    line = low.get("line")
    if place and isinstance(line, (int, str)) and ":" not in place:
        return f"{place}:{line}"
    return place


def _made(name: str | None, kind: str, text: str, location: str | None = None) -> Finding:
    bare = text.strip().strip("*_").strip()
    place = _PLACE.search(bare)
    return Finding((name or "").strip(), kind, bare, location or (place[1] if place else None))


def _stands_apart(lead: re.Match[str]) -> bool:
    """Whether the word is a mark, and not the first of a sentence."""
    return any(sign in lead["stop"] for sign in ":])*—–|") or " - " in lead["stop"]


def _row(line: str) -> Iterator[Finding]:
    cells = [cell.strip(" *`") for cell in line.strip().strip("|").split("|")]
    kinds = [(place, kind) for place, cell in enumerate(cells) if (kind := severity(cell))]
    if not kinds or any(cell.lower() in _HOW_BAD for cell in cells):
        return
    place, kind = kinds[0]
    rest = [cell for at, cell in enumerate(cells) if at != place and cell]
    name = next((cell for cell in rest if re.fullmatch(_ID, cell)), None)
    where = next((cell for cell in rest if _PLACE.fullmatch(cell)), None)
    about = [cell for cell in rest if cell not in (name, where) and not cell.isdecimal()]
    if about:
        yield _made(name, kind, max(about, key=len), where)
