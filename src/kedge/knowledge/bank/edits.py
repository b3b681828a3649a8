"""Edit a page: change only the lines of an entry's metadata, in the style of the file.

The result is parsed again and compared, so that no edit can change more than it should.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kedge.errors import FileError
from kedge.knowledge.bank import entries, fields
from kedge.knowledge.bank.entries import RULE, BankPage, Entry, strip_ending
from kedge.knowledge.bank.fields import CONFIDENCE, COUNT, LAST, PROVENANCE, EntryField, Style
from kedge.text.markdown import read_heading

_BLOCK = re.compile(r"[ \t]*+[<|>]")
_FIRST = (PROVENANCE, CONFIDENCE, LAST, COUNT)


def set_field(page: BankPage, index: int, name: str, value: str) -> BankPage:
    """Set the entry's field to the value; append the field if the entry has none."""
    entry = page.entries[index]
    field = entry.field(name)
    return (
        append_field(page, index, name, value)
        if field is None
        else replace_field(page, index, field, value)
    )


def replace_field(page: BankPage, index: int, field: EntryField, value: str) -> BankPage:
    """Replace the value of one field."""
    if field.value == value:
        return page
    entry = page.entries[index]
    lines = list(page.lines)
    old = lines[field.line]
    gap = "" if old[: field.start].endswith((" ", "\t")) else " "
    safe = _escape_cell(value) if fields.style_of(old).row else value
    lines[field.line] = old[: field.start] + gap + safe + old[field.end :]
    if field.last > field.line and not lines[field.last].endswith("\n"):
        lines[field.line] = strip_ending(lines[field.line])
    del lines[field.line + 1 : field.last + 1]
    others = [one for one in entry.fields if one is not field]
    return _parse_checked(page, lines, {index: [*others, replace(field, value=value)]})


def append_field(page: BankPage, index: int, name: str, value: str) -> BankPage:
    """Add one field to the entry."""
    return append_fields(page, {index: [(name, value)]})


def append_fields(page: BankPage, new_fields: Mapping[int, Sequence[tuple[str, str]]]) -> BankPage:
    """Add names and values to several entries, given by their index."""
    lines = list(page.lines)
    expected = {}
    keys: dict[str, str] = {}
    for index in sorted(new_fields, reverse=True):  # from the end, so that no line moves
        entry = page.entries[index]
        style = style_for(page, entry)
        for name, _ in new_fields[index]:
            keys[name] = keys.get(name) or key_for(page, name)
        new = [style.format_line(keys[name], value) for name, value in new_fields[index]]
        line, apart = _find_place(page, entry, new_fields[index][0][0], style)
        insert_lines(lines, line, ["", *new] if apart else new, page.ending)
        more = [EntryField(name, value, 0, 0, 0, 0) for name, value in new_fields[index]]
        expected[index] = [*entry.fields, *more]
    return _parse_checked(page, lines, expected)


def remove_field(page: BankPage, index: int, field: EntryField) -> BankPage:
    """Remove one field from the entry."""
    entry = page.entries[index]
    lines = list(page.lines)
    if field.last == len(lines) - 1 and not lines[-1].endswith("\n") and field.line:
        lines[field.line - 1] = strip_ending(lines[field.line - 1])
    del lines[field.line : field.last + 1]
    others = [one for one in entry.fields if one is not field]
    return _parse_checked(page, lines, {index: others})


def replace_text(page: BankPage, index: int, text: str) -> BankPage:
    """Replace the text of an entry, which must be in one piece; its metadata stays."""
    entry = page.entries[index]
    taken = {line for field in entry.fields for line in range(field.line, field.last + 1)}
    own = [n for n in range(entry.line + 1, entry.last + 1) if n not in taken]
    filled = [n for n in own if page.lines[n].strip()]
    lines = list(page.lines)
    new = [strip_ending(line) for line in text.splitlines()]
    if filled:
        first, last = filled[0], filled[-1]
        if taken.intersection(range(first, last + 1)):
            raise unsafe_edit(page, entry.line)
        del lines[first : last + 1]
    else:
        first = entry.line + 1
    insert_lines(lines, first, new, page.ending)
    after = entries.parse_page("".join(lines), page.file)
    if len(after.entries) != len(page.entries) or after.entries[index].text.split() != text.split():
        raise unsafe_edit(page, entry.line)
    expected = [
        replace(one, text=after.entries[index].text) if n == index else one
        for n, one in enumerate(page.entries)
    ]
    if [_content(one) for one in expected] != entry_contents(after):
        raise unsafe_edit(page, entry.line)
    return after


def remove_entry(page: BankPage, index: int) -> tuple[BankPage, str]:
    """Return the page without the entry, and the entry's lines."""
    entry = page.entries[index]
    lines = list(page.lines)
    removed = "".join(lines[entry.line : entry.last + 1])
    stop = _skip_blank(lines, entry.last + 1)
    start = entry.line
    before = next((n for n in range(start - 1, -1, -1) if lines[n].strip()), -1)
    if stop == len(lines):
        start = before + 1
    elif RULE.match(strip_ending(lines[stop])) and (
        before < 0
        or RULE.match(strip_ending(lines[before]))
        or read_heading(strip_ending(lines[before]))
    ):
        stop = _skip_blank(lines, stop + 1)  # the rule after the entry
    del lines[start:stop]
    after = entries.parse_page("".join(lines), page.file)
    if entry_contents(after) != [one for n, one in enumerate(entry_contents(page)) if n != index]:
        raise unsafe_edit(page, entry.line)
    return after, removed


def insert_lines(lines: list[str], place: int, new: list[str], ending: str) -> None:
    """Insert new lines before the line `place`, with the line ending of the line above, if any.

    If the last line had no line ending, it has none afterwards.
    """
    if place > 0 and lines[place - 1].endswith("\n"):
        ending = "\r\n" if lines[place - 1].endswith("\r\n") else "\n"
    added = [line + ending for line in new]
    if place == len(lines) and lines and not lines[-1].endswith("\n"):
        lines[-1] += ending
        added[-1] = new[-1]
    lines[place:place] = added


def style_for(page: BankPage, entry: Entry | None = None) -> Style:
    """Return the style of the entry's metadata, else that of the last entry with metadata."""
    for one in [entry, *reversed(page.entries)]:
        if one and one.fields:
            style = fields.style_of(page.lines[one.fields[-1].line])
            if one is entry or not style.row:
                return style if one is entry else replace(style, lead="")
    return Style()


def key_for(page: BankPage, name: str) -> str:
    """Return the key that this file uses for a field."""
    keys = Counter(
        fields.style_of(page.lines[field.line]).key
        for entry in page.entries
        for field in entry.all(name)
    )
    return keys.most_common(1)[0][0] if keys else name.capitalize()


def unsafe_edit(page: BankPage, line: int) -> FileError:
    return FileError(
        f"{page.file}:{line + 1}: kedge cannot edit this entry without changing other text",
        hint="edit it by hand; an open code fence or comment may be in the way",
    )


def entry_contents(page: BankPage) -> list[tuple[object, ...]]:
    """Return the content of each entry, without its place in the file."""
    return [_content(entry) for entry in page.entries]


def _content(entry: Entry) -> tuple[object, ...]:
    metadata = tuple((field.name, field.value) for field in entry.fields)
    return entry.type, entry.name, entry.code, entry.level, entry.section, metadata, entry.text


def _parse_checked(
    page: BankPage, lines: list[str], expected: Mapping[int, list[EntryField]]
) -> BankPage:
    """Parse the lines; refuse if anything but the fields of these entries differs."""
    after = entries.parse_page("".join(lines), page.file)
    if len(after.entries) == len(page.entries):
        contents = entry_contents(after)
        for index, metadata in expected.items():
            same_fields = replace(after.entries[index], fields=page.entries[index].fields)
            contents[index] = _content(same_fields)
            if _count_fields(after.entries[index].fields) != _count_fields(metadata):
                raise unsafe_edit(page, page.entries[index].line)
        if contents == entry_contents(page):
            return after
    raise unsafe_edit(page, page.entries[min(expected)].line)


def _count_fields(metadata: Iterable[EntryField]) -> Counter[tuple[str, str]]:
    return Counter((field.name, _escape_cell(field.value)) for field in metadata)


def _escape_cell(value: str) -> str:
    """Escape a value for a table row."""
    return value.replace("|", "&#124;")


def _find_place(page: BankPage, entry: Entry, name: str, style: Style) -> tuple[int, bool]:
    """Return the line to add a field before, and whether a blank line has to come first."""
    first = [field for field in entry.fields if field.name in _FIRST] if name in _FIRST else []
    if entry.fields:
        field = (first or entry.fields)[-1]
        place = field.last + 1
        depth = len(style.lead) + 1
        while place <= entry.last and page.lines[place].startswith((" " * depth, "\t")):
            place += 1
        return place, False
    place = entry.line + 1
    while place <= entry.last and not read_heading(page.prose[place] or ""):
        place += 1
    while not page.lines[place - 1].strip():
        place -= 1
    above = page.lines[place - 1]
    apart = place - 1 > entry.line and (_BLOCK.match(above) is not None or not style.bullet)
    return place, apart


def _skip_blank(lines: list[str], place: int) -> int:
    while place < len(lines) and not lines[place].strip():
        place += 1
    return place
