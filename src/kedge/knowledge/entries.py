"""A file of the knowledge bank as it was read: its entries, with each line where it stands.

    ### Anti-Pattern: Mocking what you own
    Text.
    - Observed in: Feature #012
    - Confidence: high
    - Last observed: Feature #031
    - Observation count: 4

Which headings are entries is decided for the file as a whole. Code and comments hold none. What
was read is kept byte for byte, also where it is no text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.host.record import NamedTuple
from kedge.knowledge import fields, titles
from kedge.knowledge.fields import CORE, Field
from kedge.tasks.feature_docs import markdown
from kedge.tasks.feature_docs.markdown import Heading

RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})\Z")
_FENCE = re.compile(r"[ \t]*+(?:[-*+][ \t]++)?(```|~~~)")


class Entry(NamedTuple):
    """One lesson. Lines count from 0; `last` is the last one that belongs to it."""

    file: str
    type: str
    name: str
    code: str  # a number or a sign before the name, such as AP-3
    prefixed: bool  # whether the heading says its type
    line: int
    last: int
    level: int
    section: str  # the nearest heading above that is no entry
    fields: tuple[Field, ...]
    text: str  # without the metadata

    def all(self, name: str) -> list[Field]:
        return [field for field in self.fields if field.name == name]

    def field(self, name: str) -> Field | None:
        """The last of that name: metadata stands at the end."""
        return next((field for field in reversed(self.fields) if field.name == name), None)

    def value(self, name: str) -> str:
        return ", ".join(field.value for field in self.all(name))


class Page(NamedTuple):
    """A file: `lines` with their endings, which are its text when put together."""

    file: str
    lines: tuple[str, ...]
    entries: tuple[Entry, ...]
    prose: tuple[str | None, ...]

    @property
    def data(self) -> bytes:
        return "".join(self.lines).encode("utf-8", "surrogateescape")

    @property
    def ending(self) -> str:
        """What most lines end with."""
        windows = sum(line.endswith("\r\n") for line in self.lines)
        return "\r\n" if windows * 2 > len(self.lines) else "\n"

    def part(self, first: int, last: int) -> str:
        """The lines from `first` to `last` as text."""
        return "\n".join(bare(line) for line in self.lines[first : last + 1])


class _Head(NamedTuple):
    heading: Heading
    title: titles.Title
    own: bool  # whether metadata follows before the next heading

    @property
    def level(self) -> int:
        return self.heading.level


def read(data: bytes, file: str) -> Page:
    return parse(data.decode("utf-8", "surrogateescape"), file)


def parse(text: str, file: str) -> Page:
    lines = tuple(f"{line}\n" for line in text.split("\n"))
    lines = (*lines[:-1], lines[-1][:-1]) if lines[-1] != "\n" else lines[:-1]
    document = markdown.read(text)
    page = Page(file, lines, (), document.prose[: len(lines)])
    atx = [one for one in document.headings if one.line == one.end]
    return page._replace(entries=tuple(_entries(page, atx)))


def bare(line: str) -> str:
    """A line without its ending."""
    return line.removesuffix("\n").removesuffix("\r")


def _entries(page: Page, headings: list[Heading]) -> Iterator[Entry]:
    ends = [heading.line - 2 for heading in headings[1:]] + [len(page.lines) - 1]
    heads: list[_Head] = []
    named = -1  # the last heading that is no part of an entry
    for heading, end in zip(headings, ends, strict=False):
        found = fields.read(page.lines, page.prose, heading.line, end)
        own = any(field.name in CORE for field in found)
        head = _Head(heading, titles.read(heading.text), own)
        if head.title.type or not head.title.general:
            named = len(heads)
        elif own and named >= 0 and 1 < heads[named].level < head.level:
            heads[named] = heads[named]._replace(own=True)
        heads.append(head)
    chosen = _chosen(heads, titles.type_of_file(page.file))
    above: list[_Head] = []  # the sections that the next heading stands in
    for at, head in enumerate(heads):
        while above and above[-1].level >= head.level:
            above.pop()
        if at in chosen:
            yield _entry(page, heads, chosen, at, above[-1].heading.text if above else "")
        else:
            above.append(head)


def _entry(page: Page, heads: list[_Head], chosen: set[int], at: int, section: str) -> Entry:
    head = heads[at]
    level, first = head.level, head.heading.line - 1
    later = (n for n in range(at + 1, len(heads)) if n in chosen or heads[n].level <= level)
    stop = next(later, None)
    last = _trimmed(page, first, heads[stop].heading.line - 2 if stop else len(page.lines) - 1)
    found = tuple(fields.read(page.lines, page.prose, first + 1, last))
    meta = {n for field in found if field.known for n in range(field.line, field.last + 1)}
    text = [bare(page.lines[n]) for n in range(first + 1, last + 1) if n not in meta]
    title = head.title
    return Entry(
        page.file,
        title.type or titles.type_of_file(page.file),
        title.name,
        title.code,
        bool(title.type),
        first,
        last,
        level,
        section,
        found,
        "\n".join(text).strip(),
    )


def _chosen(heads: list[_Head], type_: str) -> set[int]:
    """Which headings are entries: those that say so, those with metadata, and their like."""
    usable = [n for n, head in enumerate(heads) if not head.title.template]
    sure = {n for n in usable if heads[n].title.type}
    marked = {n for n in usable if heads[n].own and not heads[n].title.general} | sure
    levels = {heads[n].level for n in marked} or _likely(heads, usable)
    unsaid = {heads[n].level for n in marked - sure}  # where a type is not called for
    leads = {n for n in range(len(heads)) if _leads(heads, n, marked)}
    chosen: set[int] = set()
    open_: list[int] = []
    for n, head in enumerate(heads):
        while open_ and heads[open_[-1]].level >= head.level:
            open_.pop()
        if head.title.template or (head.title.general and not head.title.type):
            continue
        if open_:  # within another entry
            outer = heads[open_[-1]]
            other = head.own and (bool(head.title.type) or outer.own)
            is_one = other or (head.title.type or "-") == (outer.title.type or type_)
        elif n in sure:
            is_one = True
        elif head.own:
            is_one = head.level > 1 or n > 0 or not leads
        else:
            alike = head.level in levels and (head.level > 2 or not sure or head.level in unsaid)
            is_one = alike and n not in leads
        if is_one:
            chosen.add(n)
            open_.append(n)
    return chosen


def _likely(heads: list[_Head], usable: list[int]) -> set[int]:
    """The level of the entries in a file where nothing tells."""
    found = {heads[n].level for n in usable if not heads[n].title.general and heads[n].level > 1}
    return {3} if 3 in found else {min(found)} if found else set()


def _leads(heads: list[_Head], at: int, marked: set[int]) -> bool:
    """Whether a heading stands above others that are entries, and so is a section."""
    for n in range(at + 1, len(heads)):
        if heads[n].level <= heads[at].level:
            return False
        if n in marked or not marked:
            return True
    return False


def _trimmed(page: Page, first: int, last: int) -> int:
    """The last line with something in it. Rules between entries, and comments, are not theirs."""
    told = last
    while told > first and not (page.prose[told] or "").strip():
        told -= 1
    end, fence = told, ""
    for n in range(told + 1, last + 1):  # code, comments and blank lines
        raw = page.lines[n].strip()
        found = _FENCE.match(raw)
        if found:
            fence = "" if fence == found[1] else fence or found[1]
        elif not fence and raw.startswith("<!--"):
            break
        end = n if raw else end
    while end > first and (not page.lines[end].strip() or RULE.match(bare(page.lines[end]))):
        end -= 1
    return end
