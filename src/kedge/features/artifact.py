"""A document of a feature, and the passages in it that can be referenced."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from kedge.features import section_ids
from kedge.features.references import Lexicon, normalize_title
from kedge.features.section_ids import Id
from kedge.text import markdown, tables
from kedge.text.markdown import ITEM, Document, Heading, indent_width

HEADING, LIST_ITEM, ROW, ORDERED = "heading", "item", "row", "ordered"

_BOLD = re.compile(r"(?P<mark>\*\*|__)(?P<text>[^*_\n][^*\n]{0,200}?)(?P=mark)")
_PLAIN = re.compile(rf"(?P<text>{section_ids.CODE})[ \t]*(?:[:—–]|-[ \t])")
_STRONG_END = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*\Z")


_TWICE = 2  # more headings that end with the same id do not define it
_SAME = 64  # passages with the same number that are kept
# Titles of sections that talk about ids which other sections define.
_REMARKS = re.compile(
    r"\b(?:risks?|test(?:s|ing)?|definition of done|dependenc\w+|parallel\w*|summary|traceability|"
    r"review|questions?|appendix|history|change ?log|coverage|mapping|verification|timeline|"
    r"estimates?|graph|success)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A heading with its section, or a list item, bold paragraph or table row that defines an id.

    `text` is the heading's text, or the beginning of the item; `ids` are the ids it starts with
    and `tail` those in brackets at its end. `at` is the index of the heading, or of the one above
    an item; `head` is the line of a row's table head.
    """

    kind: str
    line: int
    last: int
    text: str
    title: str
    ids: tuple[Id, ...]
    tail: tuple[Id, ...]
    at: int
    head: int = 0

    @property
    def names(self) -> tuple[str, str]:
        """The title and the whole heading, in the form in which titles are compared."""
        return normalize_title(self.title), normalize_title(self.text)

    def holds(self, other: Passage) -> bool:
        return self.line <= other.line and other.last <= self.last


@dataclass(frozen=True)
class Artifact:
    """A document by its type (plan, design, spec or prd) and file name."""

    type: str
    name: str
    text: str
    document: Document
    passages: tuple[Passage, ...]

    @cached_property
    def by_number(self) -> dict[str, tuple[Passage, ...]]:
        """The passages by the numbers of their ids."""
        found: dict[str, list[Passage]] = {}
        for passage in self.passages:
            for number in dict.fromkeys(one.number for one in (*passage.ids, *passage.tail)):
                found.setdefault(number, []).append(passage)
        return {number: tuple(some[:_SAME]) for number, some in found.items()}

    @cached_property
    def titles(self) -> list[tuple[Passage, tuple[str, str]]]:
        """The headings, each with the names it can be found by."""
        return [(passage, passage.names) for passage in self.headings]

    def lines(self, first: int, last: int) -> str:
        return "\n".join(self.document.lines[first - 1 : last])

    @property
    def headings(self) -> list[Passage]:
        return [passage for passage in self.passages if passage.kind == HEADING]

    def headings_above(self, passage: Passage) -> list[Heading]:
        """Return the headings that a passage is under, the outermost first."""
        path = self.document.heading_path(passage.at)
        return path[:-1] if passage.kind == HEADING else path


def parse_artifact(type_: str, name: str, text: str) -> Artifact:
    """Read a document and find its passages."""
    document = markdown.read(text)
    passages = (*_find_headings(document), *_find_items(document), *_find_rows(document))
    return Artifact(type_, name, text, document, passages)


def build_lexicon(artifacts: Iterable[Artifact]) -> Lexicon:
    """Collect the ids and titles of all documents."""
    known, titles = {}, {}
    every = list(artifacts)
    leads = {one for artifact in every for passage in artifact.passages for one in passage.ids}
    for artifact in every:
        own = {one for passage in artifact.passages for one in passage.ids}
        tails = {one for passage in artifact.passages for one in passage.tail}
        known[artifact.type] = own | (tails - leads)
        titles[artifact.type] = {name for _, names in artifact.titles for name in names if name}
    return Lexicon(known, titles)


def _find_headings(document: Document) -> Iterator[Passage]:
    """Yield the headings.

    An id in brackets at the end counts, unless the heading has another or many headings share it.
    """
    leads = [section_ids.parse_lead(heading.text) for heading in document.headings]
    often = Counter(one for lead in leads for one in lead.tail)
    for at, (heading, lead) in enumerate(zip(document.headings, leads, strict=True)):
        coded = any(one.prefix for one in lead.ids)
        tail = () if coded else tuple(one for one in lead.tail if often[one] <= _TWICE)
        yield Passage(
            HEADING, heading.line, heading.last, heading.text, lead.title, lead.ids, tail, at
        )


def _find_items(document: Document) -> Iterator[Passage]:
    """Yield the list items and paragraphs that start with an id in bold or before a colon."""
    headings = {heading.line for heading in document.headings}
    found: list[tuple[Passage, int]] = []
    before = ""
    for index, line in enumerate(document.prose):
        if line and index + 1 not in headings:
            item = ITEM.match(line)
            depth = indent_width(item["lead"]) if item else -1
            if item or not before.strip() or before.lstrip().startswith(("**", "__", "#", "|")):
                passage = _parse_item(
                    document, index, item["text"] if item else line.lstrip(), depth
                )
                if passage:
                    found.append((passage, depth))
                elif item and item["bullet"][0].isdigit() and depth == 0:
                    number = section_ids.make_id("", item["bullet"].rstrip(".)"))
                    text = item["text"].strip()
                    at = document.heading_at(index + 1)
                    passage = Passage(ORDERED, index + 1, 0, text, text, (number,), (), at)
                    found.append((passage, 0))
        before = line or ""
    starts = [passage.line for passage, depth in found if depth < 0]
    for passage, depth in found:
        yield replace(passage, last=_find_last(document, passage, depth, starts))


def is_remark(document: Document, passage: Passage) -> bool:
    """True if an item talks about an id that is defined elsewhere, as in a list of risks."""
    if passage.kind == HEADING or any(
        one.prefix in ("R", "AC", "SC", "Q", "US") for one in passage.ids
    ):
        return False
    return any(_REMARKS.search(heading.text) for heading in document.heading_path(passage.at)[1:])


def _parse_item(document: Document, index: int, text: str, depth: int) -> Passage | None:
    """Return the passage that starts with an id in this line, or None."""
    bold = _BOLD.match(text)
    plain = _PLAIN.match(text) if not bold and depth >= 0 else None
    start = bold["text"] if bold else plain["text"] if plain else ""
    if not start:
        return None
    lead = section_ids.parse_lead(start.rstrip(":. "))
    if not lead.ids or (plain and not plain["prefix"].isupper()):
        return None
    at = document.heading_at(index + 1)
    return Passage(LIST_ITEM, index + 1, 0, start.strip(), lead.title, lead.ids, (), at)


def _find_last(document: Document, passage: Passage, depth: int, starts: list[int]) -> int:
    """Return the last line of an item, or of a bold paragraph (`depth` -1) and what follows it."""
    stop = len(document.lines) + 1
    if passage.at + 1 < len(document.headings):
        stop = document.headings[passage.at + 1].line
    if depth < 0:
        following = bisect(starts, passage.line)
        if following < len(starts):
            stop = min(stop, starts[following])
    blank = False
    for index in range(passage.line, stop - 1):
        line = document.lines[index]
        if not line.strip():
            blank = True
            continue
        inset = indent_width(line[: len(line) - len(line.lstrip())])
        ends = (
            _STRONG_END.match(line) if depth < 0 else inset <= depth and (blank or ITEM.match(line))
        )
        if ends:
            stop = index + 1
            break
        blank = False
    return document.last_text_line(passage.line, stop - 1)


def _find_rows(document: Document) -> Iterator[Passage]:
    """Yield the table rows that start with an id."""
    for row in tables.read_rows(document):
        cell = row.cells[0][1]
        lead = section_ids.parse_lead(cell)
        if lead.ids and (any(one.prefix for one in lead.ids) or "." in lead.ids[0].number):
            at = document.heading_at(row.line)
            title = lead.title or tables.find_title(row.cells)
            yield Passage(ROW, row.line, row.line, cell, title, lead.ids, (), at, row.head)
