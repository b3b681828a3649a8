"""Parse a file of the knowledge bank into entries, each with its place in the file.

    ### Anti-Pattern: Mocking what you own
    Text.
    - Observed in: Feature #012
    - Confidence: high
    - Last observed: Feature #031
    - Observation count: 4

Which headings are entries is decided for the file as a whole. Code and comments contain none. All
bytes are preserved, also those that are not valid UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kedge.knowledge.bank import fields, titles
from kedge.knowledge.bank.fields import CORE, EntryField
from kedge.text import markdown
from kedge.text.fences import FenceReader
from kedge.text.markdown import Heading

RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})\Z")


@dataclass(frozen=True, slots=True)
class Entry:
    """One lesson. Lines count from 0; `last` is its last line."""

    file: str
    type: str
    name: str
    code: str  # a number or a code before the name, such as AP-3
    line: int
    last: int
    level: int
    section: str  # the nearest heading above that is not an entry
    fields: tuple[EntryField, ...]
    text: str  # without the metadata

    def all(self, name: str) -> list[EntryField]:
        """Return the fields with this name, in order."""
        return [field for field in self.fields if field.name == name]

    def field(self, name: str) -> EntryField | None:
        """Return the last field with this name: metadata comes at the end."""
        return next((field for field in reversed(self.fields) if field.name == name), None)

    def value(self, name: str) -> str:
        return ", ".join(field.value for field in self.all(name))


@dataclass(frozen=True, slots=True)
class BankPage:
    """A file. `lines` keep their line endings, so that joining them gives the text."""

    file: str
    lines: tuple[str, ...]
    entries: tuple[Entry, ...]
    prose: tuple[str | None, ...]

    @property
    def data(self) -> bytes:
        return "".join(self.lines).encode("utf-8", "surrogateescape")

    @property
    def ending(self) -> str:
        """The line ending of most lines."""
        windows = sum(line.endswith("\r\n") for line in self.lines)
        return "\r\n" if windows * 2 > len(self.lines) else "\n"

    def part(self, first: int, last: int) -> str:
        """Return the lines from `first` to `last` as text."""
        return "\n".join(strip_ending(line) for line in self.lines[first : last + 1])


@dataclass(frozen=True, slots=True)
class _Head:
    heading: Heading
    title: titles.Title
    has_metadata: bool  # before the next heading

    @property
    def level(self) -> int:
        return self.heading.level


def decode_page(data: bytes, file: str) -> BankPage:
    """Parse the bytes of a file."""
    return parse_page(data.decode("utf-8", "surrogateescape"), file)


def parse_page(text: str, file: str) -> BankPage:
    """Parse the text of a file; bytes that are not UTF-8 are surrogate escapes in it."""
    lines = tuple(f"{line}\n" for line in text.split("\n"))
    lines = (*lines[:-1], lines[-1][:-1]) if lines[-1] != "\n" else lines[:-1]
    document = markdown.read(text)
    page = BankPage(file, lines, (), document.prose[: len(lines)])
    atx = [one for one in document.headings if one.line == one.end]
    return replace(page, entries=tuple(_entries(page, atx)))


def strip_ending(line: str) -> str:
    """Return a line without its line ending."""
    return line.removesuffix("\n").removesuffix("\r")


def _entries(page: BankPage, headings: list[Heading]) -> Iterator[Entry]:
    ends = [heading.line - 2 for heading in headings[1:]] + [len(page.lines) - 1]
    heads: list[_Head] = []
    owner = -1  # the last heading that is not a section of an entry
    for heading, end in zip(headings, ends, strict=False):
        metadata = fields.read_fields(page.lines, page.prose, heading.line, end)
        has_metadata = any(field.name in CORE for field in metadata)
        head = _Head(heading, titles.parse_title(heading.text), has_metadata)
        if head.title.type or not head.title.general:
            owner = len(heads)
        elif has_metadata and owner >= 0 and 1 < heads[owner].level < head.level:
            heads[owner] = replace(heads[owner], has_metadata=True)
        heads.append(head)
    chosen = _choose_entries(heads, titles.type_for_file(page.file))
    above: list[_Head] = []  # the sections around the next heading
    for at, head in enumerate(heads):
        while above and above[-1].level >= head.level:
            above.pop()
        if at in chosen:
            yield _entry(page, heads, chosen, at, above[-1].heading.text if above else "")
        else:
            above.append(head)


def _entry(page: BankPage, heads: list[_Head], chosen: set[int], at: int, section: str) -> Entry:
    head = heads[at]
    level, first = head.level, head.heading.line - 1
    later = (n for n in range(at + 1, len(heads)) if n in chosen or heads[n].level <= level)
    stop = next(later, None)
    last = _trim_end(page, first, heads[stop].heading.line - 2 if stop else len(page.lines) - 1)
    metadata = tuple(fields.read_fields(page.lines, page.prose, first + 1, last))
    meta = {n for field in metadata for n in range(field.line, field.last + 1)}
    text = [strip_ending(page.lines[n]) for n in range(first + 1, last + 1) if n not in meta]
    title = head.title
    return Entry(
        page.file,
        title.type or titles.type_for_file(page.file),
        title.name,
        title.code,
        first,
        last,
        level,
        section,
        metadata,
        "\n".join(text).strip(),
    )


def _choose_entries(heads: list[_Head], type_: str) -> set[int]:
    """Return the headings that are entries: by their type, their metadata, or like those."""
    usable = [n for n, head in enumerate(heads) if not head.title.template]
    sure = {n for n in usable if heads[n].title.type}
    marked = {n for n in usable if heads[n].has_metadata and not heads[n].title.general} | sure
    levels = {heads[n].level for n in marked} or _likely_levels(heads, usable)
    untyped = {heads[n].level for n in marked - sure}  # levels where entries need no type
    sections = {n for n in range(len(heads)) if _is_section(heads, n, marked)}
    chosen: set[int] = set()
    open_: list[int] = []
    for n, head in enumerate(heads):
        while open_ and heads[open_[-1]].level >= head.level:
            open_.pop()
        if head.title.template or (head.title.general and not head.title.type):
            continue
        if open_:  # within another entry
            outer = heads[open_[-1]]
            other = head.has_metadata and (bool(head.title.type) or outer.has_metadata)
            is_one = other or (head.title.type or "-") == (outer.title.type or type_)
        elif n in sure:
            is_one = True
        elif head.has_metadata:
            is_one = head.level > 1 or n > 0 or not sections
        else:
            alike = head.level in levels and (head.level > 2 or not sure or head.level in untyped)
            is_one = alike and n not in sections
        if is_one:
            chosen.add(n)
            open_.append(n)
    return chosen


def _likely_levels(heads: list[_Head], usable: list[int]) -> set[int]:
    """Guess the level of the entries in a file without types and metadata."""
    levels = {heads[n].level for n in usable if not heads[n].title.general and heads[n].level > 1}
    return {3} if 3 in levels else {min(levels)} if levels else set()


def _is_section(heads: list[_Head], at: int, marked: set[int]) -> bool:
    """True for a heading with entries below it."""
    for n in range(at + 1, len(heads)):
        if heads[n].level <= heads[at].level:
            return False
        if n in marked or not marked:
            return True
    return False


def _trim_end(page: BankPage, first: int, last: int) -> int:
    """Return an entry's last line, without blank lines, comments and rules between entries."""
    prose_end = last
    while prose_end > first and not (page.prose[prose_end] or "").strip():
        prose_end -= 1
    end, fences = prose_end, FenceReader()
    for n in range(prose_end + 1, last + 1):  # code, comments and blank lines
        raw = page.lines[n].strip()
        if not fences.read(strip_ending(page.lines[n])) and raw.startswith("<!--"):
            break
        end = n if raw else end
    while end > first and (
        not page.lines[end].strip() or RULE.match(strip_ending(page.lines[end]))
    ):
        end -= 1
    return end
