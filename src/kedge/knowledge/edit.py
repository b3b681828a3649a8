"""Changing a page: only the lines of an entry's own metadata, in the way that the file has them.

What comes out is read again and compared, so that no change can reach further than it says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kedge.errors import FileError
from kedge.knowledge import entries, fields
from kedge.knowledge.entries import RULE, Entry, Page, bare
from kedge.knowledge.fields import CONFIDENCE, COUNT, LAST, PROVENANCE, Field, Style

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|\Z)")
_BLOCK = re.compile(r"[ \t]*+[<|>]")
_FIRST = (PROVENANCE, CONFIDENCE, LAST, COUNT)


def with_value(page: Page, at: int, name: str, value: str) -> Page:
    """The entry says this of the name, whatever it said before."""
    entry = page.entries[at]
    field = entry.field(name)
    return with_more(page, at, name, value) if field is None else replaced(page, at, field, value)


def replaced(page: Page, at: int, field: Field, value: str) -> Page:
    """One line of the entry's metadata says this instead."""
    if field.value == value:
        return page
    entry = page.entries[at]
    lines = list(page.lines)
    old = lines[field.line]
    gap = "" if old[: field.start].endswith((" ", "\t")) else " "
    safe = _cell(value) if fields.style_of(old).row else value
    lines[field.line] = old[: field.start] + gap + safe + old[field.end :]
    if field.last > field.line and not lines[field.last].endswith("\n"):
        lines[field.line] = bare(lines[field.line])
    del lines[field.line + 1 : field.last + 1]
    kept = [one for one in entry.fields if one is not field]
    return _compared(page, lines, {at: [*kept, field._replace(value=value)]})


def with_more(page: Page, at: int, name: str, value: str) -> Page:
    """The entry says this, too."""
    return with_all(page, {at: [(name, value)]})


def with_all(page: Page, told: Mapping[int, Sequence[tuple[str, str]]]) -> Page:
    """Each of these entries, by its place, says these things, too."""
    lines = list(page.lines)
    wanted = {}
    keys: dict[str, str] = {}
    for at in sorted(told, reverse=True):  # from the end, so that no place moves
        entry = page.entries[at]
        style = style_for(page, entry)
        for name, _ in told[at]:
            keys[name] = keys.get(name) or key_for(page, name)
        new = [style.line(keys[name], value) for name, value in told[at]]
        place, apart = _place(page, entry, told[at][0][0], style)
        _insert(lines, place, ["", *new] if apart else new, page.ending)
        more = [Field(name, value, 0, 0, 0, 0) for name, value in told[at]]
        wanted[at] = [*entry.fields, *more]
    return _compared(page, lines, wanted)


def without_field(page: Page, at: int, field: Field) -> Page:
    """The entry without one line of its metadata."""
    entry = page.entries[at]
    lines = list(page.lines)
    if field.last == len(lines) - 1 and not lines[-1].endswith("\n") and field.line:
        lines[field.line - 1] = bare(lines[field.line - 1])
    del lines[field.line : field.last + 1]
    kept = [one for one in entry.fields if one is not field]
    return _compared(page, lines, {at: kept})


def without_entry(page: Page, at: int) -> tuple[Page, str]:
    """The page without the entry, and the entry's lines as they are."""
    entry = page.entries[at]
    lines = list(page.lines)
    taken = "".join(lines[entry.line : entry.last + 1])
    stop = _skip(lines, entry.last + 1)
    start = entry.line
    before = next((n for n in range(start - 1, -1, -1) if lines[n].strip()), -1)
    if stop == len(lines):
        start = before + 1
    elif RULE.match(bare(lines[stop])) and (
        before < 0 or RULE.match(bare(lines[before])) or _HEADING.match(lines[before])
    ):
        stop = _skip(lines, stop + 1)  # the rule that stood behind it
    del lines[start:stop]
    after = entries.parse("".join(lines), page.file)
    if said(after) != [one for n, one in enumerate(said(page)) if n != at]:
        raise unsafe(page, entry.line)
    return after, taken


def insert(page: Page, place: int, new: list[str]) -> list[str]:
    """The page's lines with others before the line `place`. A missing last break stays missing."""
    lines = list(page.lines)
    _insert(lines, place, new, page.ending)
    return lines


def _insert(lines: list[str], place: int, new: list[str], ending: str) -> None:
    if place > 0 and lines[place - 1].endswith("\n"):
        ending = "\r\n" if lines[place - 1].endswith("\r\n") else "\n"
    added = [line + ending for line in new]
    if place == len(lines) and lines and not lines[-1].endswith("\n"):
        lines[-1] += ending
        added[-1] = new[-1]
    lines[place:place] = added


def style_for(page: Page, entry: Entry | None = None) -> Style:
    """How metadata is written: in the entry, else in the last one that has some."""
    for one in [entry, *reversed(page.entries)]:
        known = [field for field in one.fields if field.known] if one else []
        if known:
            style = fields.style_of(page.lines[known[-1].line])
            if one is entry or not style.row:
                return style if one is entry else style._replace(lead="")
    return Style()


def key_for(page: Page, name: str) -> str:
    """The word that the file has for it."""
    found = Counter(
        fields.style_of(page.lines[field.line]).key
        for entry in page.entries
        for field in entry.all(name)
    )
    return found.most_common(1)[0][0] if found else fields.LABELS[name]


def unsafe(page: Page, line: int) -> FileError:
    return FileError(
        f"{page.file}:{line + 1}: kedge cannot change this without changing more",
        hint="edit it by hand; an open code fence or comment may be in the way",
    )


def said(page: Page) -> list[tuple[object, ...]]:
    """What the entries of a page say, wherever they stand."""
    return [_said(entry) for entry in page.entries]


def _said(entry: Entry) -> tuple[object, ...]:
    told = tuple((field.name, field.value) for field in entry.fields)
    return entry.type, entry.name, entry.code, entry.level, entry.section, told, entry.text


def _compared(page: Page, lines: list[str], wanted: Mapping[int, list[Field]]) -> Page:
    """The lines as a page that differs in the fields of these entries, and in nothing else."""
    after = entries.parse("".join(lines), page.file)
    if len(after.entries) == len(page.entries):
        told, rest = said(after), said(page)
        for at, found in wanted.items():
            told[at] = _said(after.entries[at]._replace(fields=page.entries[at].fields))
            if _bag(after.entries[at].fields) != _bag(found):
                raise unsafe(page, page.entries[at].line)
        if told == rest:
            return after
    raise unsafe(page, page.entries[min(wanted)].line)


def _bag(found: Iterable[Field]) -> Counter[tuple[str, str]]:
    return Counter((field.name, _cell(field.value)) for field in found)


def _cell(value: str) -> str:
    """As it can stand in a row of a table."""
    return value.replace("|", "&#124;")


def _place(page: Page, entry: Entry, name: str, style: Style) -> tuple[int, bool]:
    """Before which line a field is added, and whether a blank line comes first."""
    known = [field for field in entry.fields if field.known]
    first = [field for field in known if field.name in _FIRST] if name in _FIRST else []
    if known:
        field = (first or known)[-1]
        place = field.last + 1
        depth = len(style.lead) + 1
        while place <= entry.last and page.lines[place].startswith((" " * depth, "\t")):
            place += 1
        return place, False
    place = entry.line + 1
    while place <= entry.last and not _HEADING.match(page.prose[place] or ""):
        place += 1
    while not page.lines[place - 1].strip():
        place -= 1
    above = page.lines[place - 1]
    apart = place - 1 > entry.line and (_BLOCK.match(above) is not None or not style.bullet)
    return place, apart


def _skip(lines: list[str], place: int) -> int:
    while place < len(lines) and not lines[place].strip():
        place += 1
    return place
