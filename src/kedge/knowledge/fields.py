"""The metadata of an entry: bullets, plain lines or rows of a table with a key and a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kedge.host.record import NamedTuple

PROVENANCE, CONFIDENCE = "observed in", "confidence"
LAST, COUNT = "last observed", "observation count"
CONFIRMED, CHALLENGED, KEPT = "confirmed", "challenged", "kept"
ANCHOR, RETIRED = "anchored at", "retired"

# What tells that a heading is an entry.
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
_STOP = re.compile(r"[ \t]*+(?:[-*+][ \t]|[0-9]{1,9}[.)][ \t]|[|#>]|```|~~~|<)")


LABELS = {
    PROVENANCE: "Observed in",
    CONFIDENCE: "Confidence",
    LAST: "Last observed",
    COUNT: "Observation count",
    CONFIRMED: "Confirmed",
    CHALLENGED: "Challenged",
    KEPT: "Kept",
    ANCHOR: "Anchored at",
    RETIRED: "Retired",
}


class Field(NamedTuple):
    """A key and its value. Lines count from 0; `start` and `end` are the value's place in `line`.

    A value that runs on reaches to `last`.
    """

    name: str  # what the key means, or the key itself in lower case
    value: str
    line: int
    last: int
    start: int
    end: int

    @property
    def known(self) -> bool:
        return self.name in _MEANT


_MEANT = frozenset(_NAMES.values())


class Style(NamedTuple):
    """How a line with a key and a value is written."""

    key: str = ""
    lead: str = ""
    bullet: str = "- "
    mark: str = ""
    colon: str = ":"
    row: bool = False
    tail: str = ""  # what breaks the line

    def line(self, key: str, value: str) -> str:
        if self.row:
            name = f"{self.mark}{key}{self.mark}"
            return f"{self.lead}{name} | {value.replace('|', '&#124;')} |"
        return f"{self.lead}{self.bullet}{self.mark}{key}{self.colon} {value}{self.tail}"


def style_of(line: str) -> Style:
    """The style of a line that has a field."""
    raw = line.removesuffix("\n").removesuffix("\r")
    found = _LINE.match(raw)
    if found is None:
        row = _ROW.match(raw)
        return Style(row["key"], row["lead"], "", row["mark"], "", True) if row else Style()
    bullet, value = found["bullet"] or "", found["value"]
    plain = not bullet and "<!--" not in value
    tail = "\\" if value.endswith("\\") else "  " if value.endswith("  ") else ""
    return Style(
        *(found["key"], found["lead"], bullet, found["mark"]),
        found["colon"].replace("\t", " "),
        tail=tail if plain else "",
    )


def read(lines: Sequence[str], prose: Sequence[str | None], first: int, last: int) -> list[Field]:
    """The fields in the lines from `first` to `last`, in their order."""
    return list(_read(lines, prose, first, last))


def _read(
    lines: Sequence[str], prose: Sequence[str | None], first: int, last: int
) -> Iterator[Field]:
    holder = -1  # how far the list item is set in whose nested items are its own
    listed = False  # whether the items are below a key without a value, as under a heading
    taken = -1  # the last line of the field before
    for n in range(first, last + 1):
        said = prose[n]
        if said is None or not said.strip():
            holder = -1 if said is None else holder
            continue
        raw = lines[n].removesuffix("\n").removesuffix("\r")
        item = _ITEM.match(raw)
        depth = len(item["lead"].expandtabs(4)) if item else 0
        found = _LINE.match(raw) or _ROW.match(raw)
        field = _field(found, n) if found else None
        if item is None:
            listed = listed and raw[:1] in (" ", "\t")
            nested = raw[:1] in (" ", "\t") and holder >= 0
            holder = holder if nested else -1
        else:
            nested = 0 <= holder < depth
            listed = listed and depth > 0
            if not nested:
                empty = found is not None and not found["value"].strip()
                listed = listed or empty
                holder = -1 if empty else depth
        if field is None or nested or n <= taken or (depth > 3 and not listed):
            continue
        whole = _continued(field, lines, prose, last)
        taken = whole.last
        yield whole


def _field(found: re.Match[str], line: int) -> Field | None:
    key = " ".join(found["key"].lower().replace("-", " ").split())
    name = _NAMES.get(key)
    row = "|" in found["lead"]
    if name is None:
        if row or not found["bullet"] or not (found["gap"] or found["mark"]):
            return None
        name = key
    elif not row and not found["bullet"] and len(found["lead"]) > 3:
        return None  # code
    value = found["value"].partition("<!--")[0]
    value = value.removesuffix("\\").rstrip()
    start = found.start("value")
    return Field(name, value, line, line, start, start + len(value))


def _continued(field: Field, lines: Sequence[str], prose: Sequence[str | None], last: int) -> Field:
    """With the lines that are set in below it and begin nothing of their own."""
    if "|" in lines[field.line][: field.start]:
        return field
    value = [field.value] if field.value else []
    end = field.line
    for n in range(field.line + 1, last + 1):
        said = prose[n]
        if not said or not said.strip() or not said.startswith(("  ", "\t")) or _STOP.match(said):
            break
        value.append(said.strip())
        end = n
    return field._replace(value=" ".join(value), last=end)
