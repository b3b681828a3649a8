"""Parse the metadata of an entry: bullets, plain lines or table rows with a key and a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

PROVENANCE, CONFIDENCE = "observed in", "confidence"
LAST, COUNT = "last observed", "observation count"
CONFIRMED, CHALLENGED, KEPT = "confirmed", "challenged", "kept"
ANCHOR, RETIRED, UPDATED = "anchored at", "retired", "text updated"

# Fields that mark the heading above them as an entry.
CORE = frozenset({PROVENANCE, CONFIDENCE, LAST, COUNT, CHALLENGED, ANCHOR})
_NAMES = {
    word: name
    for name, words in {
        PROVENANCE: "observed in|observed during|used in|source|sources|seen in|found in|origin"
        "|provenance|first observed|first seen|learned in|discovered in|introduced in|applied in",
        CONFIDENCE: "confidence|confidence level",
        LAST: "last observed|last seen|last confirmed|last used|last observed in|last validated",
        COUNT: "observation count|observations|times observed|observed count|occurrences",
        CONFIRMED: "confirmed|confirmed in",
        CHALLENGED: "challenged|challenged in|contradicted|contradicted in",
        KEPT: "kept",
        ANCHOR: "anchored at|anchor|anchors|anchored to",
        RETIRED: "retired",
        UPDATED: "text updated",
    }.items()
    for word in words.split("|")
}
_LINE = re.compile(
    r"(?P<lead> {0,8})(?P<bullet>[-*+][ \t]{1,4})?(?P<mark>\*\*|__|\*|_|)"
    r"(?P<key>[^\W\d_][\w /'’-]{0,39}?)(?P<colon>:(?P=mark)|(?P=mark)[ \t]?:)"
    r"(?P<gap>[ \t]*+)(?P<value>.*)\Z"
)
_ROW = re.compile(
    r"(?P<lead> {0,3}\|[ \t]{0,8})(?P<mark>\*\*|__|\*|_|)(?P<key>[^\W\d_][\w /'’-]{0,39}?)"
    r"(?P=mark):?(?P=mark)[ \t]*+\|(?P<gap>[ \t]*+)(?P<value>[^|]*)\|?[ \t]*\Z"
)
_ITEM = re.compile(r"(?P<lead>[ \t]*+)(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_STOP = re.compile(r"[ \t]*+(?:[-*+][ \t]|[0-9]{1,9}[.)][ \t]|[|#>]|<)")


@dataclass(frozen=True, slots=True)
class EntryField:
    """A key and its value. Lines count from 0; `start` and `end` are columns in line `line`.

    A value that continues on further lines ends on line `last`.
    """

    name: str
    value: str
    line: int
    last: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Style:
    """The way a file writes a key and a value."""

    key: str = ""
    lead: str = ""
    bullet: str = "- "
    mark: str = ""
    colon: str = ":"
    row: bool = False
    tail: str = ""  # a hard line break in Markdown

    def format_line(self, key: str, value: str) -> str:
        if self.row:
            name = f"{self.mark}{key}{self.mark}"
            return f"{self.lead}{name} | {value.replace('|', '&#124;')} |"
        return f"{self.lead}{self.bullet}{self.mark}{key}{self.colon} {value}{self.tail}"


def style_of(line: str) -> Style:
    """Return the style of a line that holds a field."""
    raw = line.removesuffix("\n").removesuffix("\r")
    match = _LINE.match(raw)
    if match is None:
        row = _ROW.match(raw)
        return Style(row["key"], row["lead"], "", row["mark"], "", True) if row else Style()
    bullet, value = match["bullet"] or "", match["value"]
    plain = not bullet and "<!--" not in value
    tail = "\\" if value.endswith("\\") else "  " if value.endswith("  ") else ""
    return Style(
        *(match["key"], match["lead"], bullet, match["mark"]),
        match["colon"].replace("\t", " "),
        tail=tail if plain else "",
    )


def read_fields(
    lines: Sequence[str], prose: Sequence[str | None], first: int, last: int
) -> list[EntryField]:
    """Return the fields in the lines from `first` to `last`, in order."""
    return list(_scan(lines, prose, first, last))


def _scan(
    lines: Sequence[str], prose: Sequence[str | None], first: int, last: int
) -> Iterator[EntryField]:
    holder = -1  # indent of the list item that owns the nested items
    listed = False  # True below a key without a value, which works like a heading
    taken = -1  # last line of the previous field
    for n in range(first, last + 1):
        text = prose[n]
        if text is None or not text.strip():
            holder = -1 if text is None else holder
            continue
        raw = lines[n].removesuffix("\n").removesuffix("\r")
        item = _ITEM.match(raw)
        depth = len(item["lead"].expandtabs(4)) if item else 0
        match = _LINE.match(raw) or _ROW.match(raw)
        field = _field(match, n) if match else None
        if item is None:
            listed = listed and raw[:1] in (" ", "\t")
            nested = raw[:1] in (" ", "\t") and holder >= 0
            holder = holder if nested else -1
        else:
            nested = 0 <= holder < depth
            listed = listed and depth > 0
            if not nested:
                empty = match is not None and not match["value"].strip()
                listed = listed or empty
                holder = -1 if empty else depth
        if field is None or nested or n <= taken or (depth > 3 and not listed):
            continue
        whole = _with_continuation(field, lines, prose, last)
        taken = whole.last
        yield whole


def _field(match: re.Match[str], line: int) -> EntryField | None:
    name = _NAMES.get(" ".join(match["key"].lower().replace("-", " ").split()))
    row = "|" in match["lead"]
    if name is None or (not row and not match["bullet"] and len(match["lead"]) > 3):
        return None  # another key, or indented code
    value = match["value"].partition("<!--")[0].removesuffix("\\").rstrip()
    start = match.start("value")
    return EntryField(name, value, line, line, start, start + len(value))


def _with_continuation(
    field: EntryField, lines: Sequence[str], prose: Sequence[str | None], last: int
) -> EntryField:
    """Add the indented lines below the field that start nothing of their own."""
    if "|" in lines[field.line][: field.start]:
        return field
    value = [field.value] if field.value else []
    end = field.line
    for n in range(field.line + 1, last + 1):
        text = prose[n]
        if not text or not text.strip() or not text.startswith(("  ", "\t")) or _STOP.match(text):
            break
        value.append(text.strip())
        end = n
    return replace(field, value=" ".join(value), last=end)
