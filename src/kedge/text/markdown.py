"""Markdown as lines: which are prose, which are headings, and where a heading's section ends.

Fenced code (see `fences`), HTML comments, `<pre>` blocks and front matter are not prose.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from kedge.text.fences import FenceReader

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
_PRE = re.compile(r" {0,3}<pre\b", re.IGNORECASE)
_FRONT = re.compile(r"[ \t]*\Z|[ \t#-]|[\w.-]+[ \t]*:")
_SYMBOLS = re.compile(r"[^\w\s-]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and its section, which runs to the next heading of the same or a higher level.

    Lines count from 1: `line` is the heading's first, `end` its last (an underline, if it has
    one), and `last` the section's last with text. `parent` is the index of the heading whose
    section it is in, or -1.
    """

    line: int
    end: int
    level: int
    text: str
    last: int = 0
    parent: int = -1


@dataclass(frozen=True, slots=True)
class Document:
    """A document's lines as written, and as prose: without comments, None where there is code."""

    lines: tuple[str, ...]
    prose: tuple[str | None, ...]
    headings: tuple[Heading, ...]

    def last_text_line(self, first: int, last: int) -> int:
        """Return the last line from `first` to `last` that is not blank."""
        while last > first and not self.lines[last - 1].strip():
            last -= 1
        return last

    def heading_at(self, line: int) -> int:
        """Return the index of the last heading up to this line, or -1."""
        return bisect_right(self.headings, line, key=lambda heading: heading.line) - 1

    def heading_path(self, at: int) -> list[Heading]:
        """Return the heading with this index after its parents, the outermost first."""
        path = []
        while at >= 0:
            path.append(self.headings[at])
            at = self.headings[at].parent
        return path[::-1]


def read(text: str, *, part: bool = False) -> Document:
    """Read a document, or with `part` an excerpt, which has no front matter."""
    lines = split_lines(text)
    prose = tuple(_prose(lines, 0 if part else _front_matter(lines)))
    return Document(tuple(lines), prose, tuple(_sections(list(_headings(prose)), lines)))


def split_lines(text: str) -> list[str]:
    """Split a text into lines, without a byte order mark and line breaks."""
    return [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]


def read_heading(line: str) -> tuple[int, str] | None:
    """Return the level and the text of a heading such as `## Title ##`; None for other lines."""
    found = _ATX.match(line)
    if not found:
        return None
    text = found["text"].strip()
    bare = text.rstrip("#")
    return len(found["marks"]), bare.rstrip() if bare[-1:] in ("", " ", "\t") else text


def make_slug(text: str) -> str:
    """Return the anchor that GitHub gives to a heading."""
    return _SYMBOLS.sub("", text.strip().lower()).replace(" ", "-")


def indent_width(lead: str) -> int:
    """Return the width of a line's leading whitespace, with tab stops every four columns."""
    return len(lead.expandtabs(4))


def _prose(lines: Sequence[str], front: int) -> list[str | None]:
    """Return each line without its comments, or None where it is code.

    A fence inside another is read as nested, if every fence is closed then.
    """
    prose, is_open = _outside(lines, front, FenceReader(nested=True))
    return _outside(lines, front, FenceReader())[0] if is_open else prose


def _outside(
    lines: Sequence[str], front: int, fences: FenceReader
) -> tuple[list[str | None], bool]:
    """Return the lines outside code and comments, and whether a fence is open at the end."""
    closes = _find_next(lines, lambda line: "-->" in line)
    blanks = _find_next(lines, lambda line: not line.strip())
    comment = preformatted = False
    kept: list[str | None] = [None] * min(front, len(lines))
    for index, line in enumerate(lines[front:], front):
        if comment:
            _, end, rest = line.partition("-->")
            comment = not end
            kept.append(rest if end and rest.strip() else None)
        elif not preformatted and fences.read(line):
            kept.append(None)
        elif preformatted or _PRE.match(line):
            preformatted = "</pre>" not in line.lower()
            kept.append(None)
        elif "<!--" in line:
            text, comment = _strip_comments(line)
            if comment and text.strip():  # in a paragraph, a comment must close before it ends
                comment = closes[index + 1] < blanks[index + 1]
                text = text if comment else line
            kept.append(text)
        else:
            kept.append(line)
    return kept, fences.fence is not None


def _strip_comments(line: str) -> tuple[str, bool]:
    """Return the line without its comments, and whether one continues on the next line."""
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


def _find_next(lines: Sequence[str], test: Callable[[str], bool]) -> list[int]:
    """Return for each line the index of the next one that passes the test, itself included."""
    found = [len(lines)] * (len(lines) + 1)
    for index in range(len(lines) - 1, -1, -1):
        found[index] = index if test(lines[index]) else found[index + 1]
    return found


def _front_matter(lines: Sequence[str]) -> int:
    """Return the number of lines of the document's front matter."""
    if lines[0].rstrip() != "---":
        return 0
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return index + 1
        if not _FRONT.match(line):
            return 0
    return 0


def _sections(headings: list[Heading], lines: Sequence[str]) -> list[Heading]:
    """Return the headings with the ends and the parents of their sections."""
    open_: list[int] = []
    for place, heading in enumerate([*headings, Heading(len(lines) + 1, 0, 0, "")]):
        while open_ and headings[open_[-1]].level >= heading.level:
            done = open_.pop()
            last = heading.line - 1
            while not lines[last - 1].strip():  # a heading itself is never blank
                last -= 1
            headings[done] = replace(headings[done], last=last)
        if place < len(headings):
            headings[place] = replace(heading, parent=open_[-1] if open_ else -1)
            open_.append(place)
    return headings


def _headings(prose: Sequence[str | None]) -> Iterator[Heading]:
    before = ""
    for index, line in enumerate(prose):
        found = read_heading(line) if line else None
        if found:
            yield Heading(index + 1, index + 1, *found)
        elif line and not before.strip() and not _NO_PARAGRAPH.match(line):
            under = prose[index + 1] if index + 1 < len(prose) else None
            if under and _UNDERLINE.match(under):
                level = 1 if under.strip()[0] == "=" else 2
                yield Heading(index + 1, index + 2, level, line.strip())
        # After a heading a paragraph starts, as after a blank line.
        before = "" if found else line or ""
