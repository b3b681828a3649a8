"""Markdown as lines: which are text, which are headings, and how far a heading's section goes.

Fenced code, HTML comments and front matter are not text. Nothing here needs more than one pass.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from kedge.host.record import NamedTuple

ITEM = re.compile(
    r"(?P<lead>[ \t]*)(?P<bullet>[-*+]|[0-9]{1,9}[.)])[ \t]+"
    r"(?:\[(?P<box>.)\]\*?(?=[ \t]|\Z)[ \t]*)?(?P<text>.*)\Z"
)
BOXES = {" ": False, "x": True, "X": True, "✓": True, "✔": True, "-": False, "~": False, "/": False}

_ATX = re.compile(r" {0,3}(?P<marks>#{1,6})[ \t](?P<text>.*)\Z")
_UNDERLINE = re.compile(r" {0,3}(?:={2,}|-{2,})[ \t]*\Z")
_NO_PARAGRAPH = re.compile(
    r"[ \t]*(?:\Z|[-*+>|#]|[0-9]{1,9}[.)][ \t]|<|\*\*[^*]*(?::\*\*|\*\*:))|    |\t"
)
_FENCE = re.compile(
    r"(?P<lead>[ \t]*+(?:[-*+][ \t]++)?)(?P<fence>`{3,}(?=[^`]*\Z)|~{3,})(?P<info>.*)\Z"
)
_PRE = re.compile(r" {0,3}<pre\b", re.IGNORECASE)
_FRONT = re.compile(r"[ \t]*\Z|[ \t#-]|[\w.-]+[ \t]*:")
_SYMBOLS = re.compile(r"[^\w\s-]")


class Heading(NamedTuple):
    """Lines count from 1; `end` is the underline's where there is one, `last` the section's.

    A section runs to the next heading of the same or a higher level; `above` is the place of the
    heading that it is part of, or -1.
    """

    line: int
    end: int
    level: int
    text: str
    last: int = 0
    above: int = -1


class Document(NamedTuple):
    """The lines as written, and the same as text: without comments, None where there is code."""

    lines: tuple[str, ...]
    prose: tuple[str | None, ...]
    headings: tuple[Heading, ...]

    def trimmed(self, first: int, last: int) -> int:
        """The last line from `first` to `last` that has something in it."""
        while last > first and not self.lines[last - 1].strip():
            last -= 1
        return last

    def place(self, line: int) -> int:
        """Which heading a line stands under, its own included; -1 for none."""
        return bisect_right(self.headings, line, key=lambda heading: heading.line) - 1

    def path(self, place: int) -> list[Heading]:
        """A heading and those above it, from the top down."""
        found = []
        while place >= 0:
            found.append(self.headings[place])
            place = self.headings[place].above
        return found[::-1]


def read(text: str, *, part: bool = False) -> Document:
    """A whole document, or a part of one, which has no front matter."""
    lines = split(text)
    prose = tuple(_prose(lines, 0 if part else _front_matter(lines)))
    return Document(tuple(lines), prose, tuple(_sections(list(_headings(prose)), lines)))


def split(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]


def slug(text: str) -> str:
    """The heading's name in a link, as GitHub makes it."""
    return _SYMBOLS.sub("", text.strip().lower()).replace(" ", "-")


def width(lead: str) -> int:
    """How far a line is set in; a tab counts for four."""
    return len(lead.expandtabs(4))


def _prose(lines: Sequence[str], front: int) -> list[str | None]:
    """Fences that hold others are read as they are meant, where that leaves none open."""
    meant, is_open = _outside(lines, front, nested=True)
    return _outside(lines, front, nested=False)[0] if is_open else meant


def _outside(lines: Sequence[str], front: int, *, nested: bool) -> tuple[list[str | None], bool]:
    """The lines outside of code and comments, and whether a fence is left open."""
    closes, blanks = _next(lines, _closes), _next(lines, _is_blank)
    fences: list[re.Match[str]] = []
    comment = preformatted = False
    kept: list[str | None] = [None] * min(front, len(lines))
    for index, line in enumerate(lines[front:], front):
        found = _FENCE.match(line)
        if comment:
            _, end, rest = line.partition("-->")
            comment = not end
            kept.append(rest if end and rest.strip() else None)
        elif fences:
            inner = found is not None and _is_of(found, fences[-1])
            if found and inner and not found["info"].strip():
                fences.pop()
            elif found and inner and nested:
                fences.append(found)
            kept.append(None)
        elif found and not preformatted:
            fences.append(found)
            kept.append(None)
        elif preformatted or _PRE.match(line):
            preformatted = "</pre>" not in line.lower()
            kept.append(None)
        elif "<!--" in line:
            text, left_open = _uncommented(line)
            if left_open and text.strip():  # within a paragraph, or it is but text
                comment = closes[index + 1] < blanks[index + 1]
                text = text if comment else line
            else:
                comment = left_open
            kept.append(text)
        else:
            kept.append(line)
    return kept, bool(fences)


def _is_of(found: re.Match[str], fence: re.Match[str]) -> bool:
    """Whether a fence can close another: of the same sign, as long, not set in much further."""
    return found["fence"].startswith(fence["fence"]) and (
        width(found["lead"]) <= width(fence["lead"]) + 3 or bool(found["info"].strip())
    )


def _uncommented(line: str) -> tuple[str, bool]:
    """The line without its comments, and whether one goes on behind it."""
    kept, place, ticks = [], 0, 0
    while (start := line.find("<!--", place)) >= 0:
        ticks += line.count("`", place, start)
        end = -1 if ticks % 2 else line.find("-->", start + 4)
        if ticks % 2:
            kept.append(line[place : start + 4])
            place = start + 4
        elif end < 0:
            return "".join([*kept, line[place:start]]), True
        else:
            kept.append(line[place:start])
            place = end + 3
    return "".join([*kept, line[place:]]), False


def _next(lines: Sequence[str], test: Callable[[str], bool]) -> list[int]:
    """For each place, the nearest line from there on that passes; behind the end, none does."""
    found = [len(lines)] * (len(lines) + 1)
    for index in range(len(lines) - 1, -1, -1):
        found[index] = index if test(lines[index]) else found[index + 1]
    return found


def _closes(line: str) -> bool:
    return "-->" in line


def _is_blank(line: str) -> bool:
    return not line.strip()


def _front_matter(lines: Sequence[str]) -> int:
    """How many lines the document's front matter has."""
    if lines[0].rstrip() != "---":
        return 0
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return index + 1
        if not _FRONT.match(line):
            return 0
    return 0


def _sections(headings: list[Heading], lines: Sequence[str]) -> list[Heading]:
    open_: list[int] = []
    for place, heading in enumerate([*headings, Heading(len(lines) + 1, 0, 0, "")]):
        while open_ and headings[open_[-1]].level >= heading.level:
            done = open_.pop()
            last = heading.line - 1
            while not lines[last - 1].strip():  # a heading itself is never blank
                last -= 1
            headings[done] = headings[done]._replace(last=last)
        if place < len(headings):
            headings[place] = heading._replace(above=open_[-1] if open_ else -1)
            open_.append(place)
    return headings


def _headings(prose: Sequence[str | None]) -> Iterator[Heading]:
    before = ""
    for index, line in enumerate(prose):
        found = _ATX.match(line) if line else None
        if found:
            text = found["text"].strip()
            bare = text.rstrip("#")
            text = bare.rstrip() if bare[-1:] in ("", " ", "\t") else text
            yield Heading(index + 1, index + 1, len(found["marks"]), text)
        elif line and not before.strip() and not _NO_PARAGRAPH.match(line):
            under = prose[index + 1] if index + 1 < len(prose) else None
            if under and _UNDERLINE.match(under):
                level = 1 if under.strip()[0] == "=" else 2
                yield Heading(index + 1, index + 2, level, line.strip())
        # what follows a heading starts a paragraph, as after a blank line
        before = "" if found else line or ""
