"""Parse the findings in a reviewer's answer: list items, table rows, labelled lines or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from kedge.knowledge.reviews.records import Finding
from kedge.knowledge.reviews.vocabulary import MAJOR, NOTE, parse_severity

# JSON keys for the text of a finding, its location and its severity.
_TEXT = (
    *("description", "message", "text", "issue", "finding", "problem", "title", "detail"),
    *("details", "summary", "comment", "what"),
)
_LOCATION = ("location", "file", "path", "where", "filename", "file_path")
_SEVERITY = ("severity", "level", "priority", "type")
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
_ISSUES = re.compile(r"\b(?:issues?|findings?|problems?|concerns?|violations?|to fix)\b")
_NOTHING = re.compile(
    r"\W*(?:none|n/?a|nothing|no (?:\w+ ){0,3}(?:issues?|findings?|blockers?))\b", re.IGNORECASE
)


def parse_finding(text: str, default: str = MAJOR) -> Finding:
    """Parse `ID SEVERITY TEXT`; id and severity are optional."""
    lead = _LEAD.match(text)
    kind = parse_severity(lead["word"]) if lead else None
    if lead and kind:
        inner = None if lead["id"] else _INNER.match(lead["text"])
        name, about = (inner["id"], inner["text"]) if inner else (lead["id"], lead["text"])
        return _finding(name, kind, about)
    named = _NAMED.match(text)
    if named:
        return _finding(named["id"], default, named["text"])
    return _finding(None, default, text)


def findings_in_lines(lines: Sequence[str]) -> Iterator[Finding]:
    """Yield the lines marked with a severity, and the list items under a heading for findings."""
    under: str | None = None
    for line in lines:
        head = _HEAD.match(line)
        if head:
            words = next(filter(None, head.groups()))
            under = find_severity(words) or (MAJOR if _ISSUES.search(words.lower()) else None)
            continue
        item = _ITEM.match(line)
        text = item["text"] if item else line
        lead = _LEAD.match(text)
        marked = parse_severity(lead["word"]) if lead and _is_mark(lead) else None
        if line.strip().startswith("|"):
            yield from _row(line)
        elif _NOTHING.match(text) or (item and item["lead"]):
            continue
        elif marked and lead and not _NOTHING.match(lead["text"]) and (item or marked != NOTE):
            yield parse_finding(text)
        elif item and under and not re.search(r"(?i)\bverif", text):
            yield parse_finding(text, under)


def findings_in_value(value: Any, default: str) -> Iterator[Finding]:
    """Yield the findings in a JSON value: strings, objects, or lists of them keyed by severity."""
    if isinstance(value, list):
        for one in value:
            yield from findings_in_value(one, default)
    elif isinstance(value, str) and value.strip() and not _NOTHING.match(value):
        yield parse_finding(value, default)
    elif isinstance(value, dict):
        low = {key.lower(): one for key, one in value.items()}
        about = next((low[key] for key in _TEXT if isinstance(low.get(key), str)), None)
        if about is None:
            for key, one in value.items():
                yield from findings_in_value(one, find_severity(key) or default)
            return
        words = (low[key] for key in _SEVERITY if isinstance(low.get(key), str))
        kind = next((kind for word in words if (kind := parse_severity(word))), default)
        name = low.get("id", low.get("code"))
        yield _finding(name if isinstance(name, str) else None, kind, about, _location(low))


def find_severity(words: str) -> str | None:
    """Return the severity named in a heading or a key."""
    plain = re.sub(r"[^A-Za-z0-9]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", words))
    kinds = (parse_severity(word) for word in plain.split())
    return next(filter(None, kinds), None)


def _location(low: dict[str, Any]) -> str | None:
    place = next((low[key] for key in _LOCATION if isinstance(low.get(key), str)), None)
    line = low.get("line")
    if place and isinstance(line, (int, str)) and ":" not in place:
        return f"{place}:{line}"
    return place


def _finding(name: str | None, kind: str, text: str, location: str | None = None) -> Finding:
    bare = text.strip().strip("*_").strip()
    place = _PLACE.search(bare)
    return Finding((name or "").strip(), kind, bare, location or (place[1] if place else None))


def _is_mark(lead: re.Match[str]) -> bool:
    """True if the word is a severity mark, not the first word of a sentence."""
    return any(sign in lead["stop"] for sign in ":])*—–|") or " - " in lead["stop"]


def _row(line: str) -> Iterator[Finding]:
    cells = [cell.strip(" *`") for cell in line.strip().strip("|").split("|")]
    kinds = [(place, kind) for place, cell in enumerate(cells) if (kind := parse_severity(cell))]
    if not kinds or any(cell.lower() in _SEVERITY for cell in cells):
        return
    place, kind = kinds[0]
    rest = [cell for at, cell in enumerate(cells) if at != place and cell]
    name = next((cell for cell in rest if re.fullmatch(_ID, cell)), None)
    where = next((cell for cell in rest if _PLACE.fullmatch(cell)), None)
    about = [cell for cell in rest if cell not in (name, where) and not cell.isdecimal()]
    if about:
        yield _finding(name, kind, max(about, key=len), where)
