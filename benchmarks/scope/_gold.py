"""The gold answers of the corpus, and the lines of a document that they name.

A place is written `design.md#<text>`: the text of a heading, or the beginning of a list item, table
row or bold line. `design.md` alone is the whole document. The documents are read here without
kedge, so that its mistakes cannot hide.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

CORPUS = Path(__file__).with_name("corpus")
HALVES = ("dev", "held_out")

_FENCE = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])?[ \t]*(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NO_PARAGRAPH = re.compile(r"[ \t]*(?:$|[-*+>|#]|\d+[.)][ \t])")
_MARKS = re.compile(r"[ \t]*(?:[-*+][ \t]+|\d+[.)][ \t]+|\|[ \t]*)?(?:\[[ xX]\][ \t]*)?")
_EMPHASIS = re.compile(r"[*_`~]+")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class GoldSection(NamedTuple):
    """Lines `line` to `end`, from 1: a heading with its section, or one item."""

    line: int
    end: int
    level: int  # 7 for an item
    heading: str
    probe: str  # its first line of text, or else the heading

    def holds(self, other: GoldSection) -> bool:
        return self.line <= other.line and other.end <= self.end


class GoldReference(NamedTuple):
    type: str
    id: str
    raw: str
    explicit: bool
    section: str | None


class GoldTask(NamedTuple):
    number: str
    title: str
    references: tuple[GoldReference, ...]
    needed: tuple[str, ...]


class GoldFolder(NamedTuple):
    path: Path
    tasks: tuple[GoldTask, ...]


def read_folders(half: str) -> list[GoldFolder]:
    """Return the feature folders of a half with their gold, in a fixed order."""
    return [
        read_folder(path.parent)
        for path in sorted((CORPUS / half).glob("docs/features/*/gold.json"))
    ]


def read_folder(folder: Path) -> GoldFolder:
    given = json.loads((folder / "gold.json").read_text(encoding="utf-8"))
    return GoldFolder(
        folder,
        tuple(
            GoldTask(
                task["number"],
                task["title"],
                tuple(GoldReference(**reference) for reference in task["references"]),
                tuple(task["needed"]),
            )
            for task in given["tasks"]
        ),
    )


def normalize(text: str) -> str:
    """Return the text without markup, symbols and case, for comparison."""
    text = _EMPHASIS.sub("", _LINK.sub(r"\1", unicodedata.normalize("NFC", text)))
    kept = "".join(" " if unicodedata.category(c) in ("So", "Cf", "Mn") else c for c in text)
    return " ".join(kept.casefold().split())


@cache
def read_lines(path: Path) -> tuple[str, ...]:
    return tuple(path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").split("\n"))


@cache
def find_headings(path: Path) -> tuple[GoldSection, ...]:
    """Return the headings of a document outside code, comments and front matter."""
    rows = read_lines(path)
    marks = list(_find_marks(rows))
    found = []
    for place, (line, level, text, body) in enumerate(marks):
        later = (mark[0] - 1 for mark in marks[place + 1 :] if mark[1] <= level)
        end = next(later, len(rows))
        following = marks[place + 1][0] - 1 if place + 1 < len(marks) else len(rows)
        probe = next((row for row in rows[body:following] if row.strip()), rows[line - 1])
        found.append(GoldSection(line, end, level, text, probe))
    return tuple(found)


def _find_marks(rows: tuple[str, ...]) -> Iterator[tuple[int, int, str, int]]:
    """Yield line, level and text of each heading, and the number of lines before its body."""
    for number in _visible(rows):
        row, after = rows[number], "".join(rows[number + 1 : number + 2])
        if atx := _ATX.match(row):
            yield number + 1, len(atx[1]), (atx[2] or "").strip(), number + 1
        elif not _NO_PARAGRAPH.match(row) and (under := _SETEXT.match(after)):
            yield number + 1, 1 if under[1][0] == "=" else 2, row.strip(), number + 2


def _visible(rows: tuple[str, ...]) -> Iterator[int]:
    """Yield the numbers of the lines outside code, comments and front matter."""
    fence, comment = "", False
    front = bool(rows) and rows[0].strip() == "---"
    for number, row in enumerate(rows):
        if front:
            front = not (number and row.strip() == "---")
        elif comment:
            comment = "-->" not in row
        elif fence:
            closing = row.strip()
            if len(closing) >= len(fence) and not closing.strip(fence[0]):
                fence = ""
        elif opening := _FENCE.match(row):
            fence = opening[1]
        elif row.lstrip().startswith("<!--"):
            comment = "-->" not in row
        else:
            yield number


def find_sections(folder: Path, place: str) -> list[GoldSection]:
    """Return the headings with the text of a place, or else the items that begin with it."""
    name, _, text = place.partition("#")
    path = folder / name
    same = [section for section in find_headings(path) if section.heading == text]
    return same or list(_find_items(path, text))


def _find_items(path: Path, lead: str) -> Iterator[GoldSection]:
    rows = read_lines(path)
    for number in _visible(rows):
        row = rows[number]
        content = normalize(row[_MARKS.match(row).end() :])  # type: ignore[union-attr]
        rest = content.removeprefix(normalize(lead))
        if rest != content and not rest[:1].isalnum() and not _ATX.match(row):
            yield GoldSection(number + 1, number + 1, 7, lead, row)


def find_holder(path: Path, item: GoldSection) -> GoldSection | None:
    """Return the innermost section that an item is in."""
    holders = [section for section in find_headings(path) if section.holds(item)]
    return max(holders, key=lambda section: section.level, default=None)
