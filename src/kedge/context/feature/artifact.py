"""One document of a feature, and the places in it that can be referred to."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from kedge.host.record import NamedTuple
from kedge.tasks.feature_docs import ids, markdown, tables
from kedge.tasks.feature_docs.ids import Id
from kedge.tasks.feature_docs.markdown import ITEM, Document, width
from kedge.tasks.feature_docs.references import Lexicon, normal

HEADING, ITEM_, ROW, ORDERED = "heading", "item", "row", "ordered"

_BOLD = re.compile(r"(?P<mark>\*\*|__)(?P<text>[^*_\n][^*\n]{0,200}?)(?P=mark)")
_PLAIN = re.compile(rf"(?P<text>{ids.CODE})[ \t]*(?:[:—–]|-[ \t])")
_STRONG_END = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*\Z")


_TWICE = 2  # headings with one id at their end; more are about it, not it
_SAME = 64  # places with one number that are looked at; far fewer are no definition any more
# What is said there about an id is about something that is defined elsewhere.
_REMARKS = re.compile(
    r"\b(?:risks?|test(?:s|ing)?|definition of done|dependenc\w+|parallel\w*|summary|traceability|"
    r"review|questions?|appendix|history|change ?log|coverage|mapping|verification|timeline|"
    r"estimates?|graph|success)\b",
    re.IGNORECASE,
)


class Place(NamedTuple):
    """A heading with its section, or an item, a bold paragraph or a row that defines an id.

    `text` is the heading's, or the item's lead; `ids` are those that it starts with, `tail` those
    in brackets at its end; `at` is the heading itself or the one that an item stands under.
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
        """The title and the whole heading, as titles are compared."""
        return normal(self.title), normal(self.text)

    def holds(self, other: Place) -> bool:
        return self.line <= other.line and other.last <= self.last


class Artifact(NamedTuple):
    """A document by its type (plan, design, spec, prd) and file name."""

    type: str
    name: str
    text: str
    document: Document
    places: tuple[Place, ...]
    by_number: Mapping[str, tuple[Place, ...]]
    titles: tuple[tuple[Place, tuple[str, str]], ...]

    def lines(self, first: int, last: int) -> str:
        return "\n".join(self.document.lines[first - 1 : last])

    @property
    def headings(self) -> list[Place]:
        return [place for place in self.places if place.kind == HEADING]


def read(type_: str, name: str, text: str) -> Artifact:
    document = markdown.read(text)
    places = (*_headings(document), *_items(document), *_rows(document))
    return Artifact(type_, name, text, document, places, numbered(places), titled(places))


def titled(places: Iterable[Place]) -> tuple[tuple[Place, tuple[str, str]], ...]:
    """The headings, each with what it is found by."""
    return tuple((place, place.names) for place in places if place.kind == HEADING)


def numbered(places: Iterable[Place]) -> dict[str, tuple[Place, ...]]:
    """The places by the numbers of their ids."""
    found: dict[str, list[Place]] = {}
    for place in places:
        for number in dict.fromkeys(one.number for one in (*place.ids, *place.tail)):
            found.setdefault(number, []).append(place)
    return {number: tuple(some[:_SAME]) for number, some in found.items()}


def lexicon(artifacts: Iterable[Artifact]) -> Lexicon:
    known, titles = {}, {}
    every = list(artifacts)
    leads = {one for artifact in every for place in artifact.places for one in place.ids}
    for artifact in every:
        own = {one for place in artifact.places for one in place.ids}
        tails = {one for place in artifact.places for one in place.tail}
        known[artifact.type] = own | (tails - leads)
        titles[artifact.type] = {name for _, names in artifact.titles for name in names if name}
    return Lexicon(known, titles)


def _headings(document: Document) -> Iterator[Place]:
    """An id in brackets at the end is the section's own, unless it has another or many share it."""
    leads = [ids.lead(heading.text) for heading in document.headings]
    often = Counter(one for lead in leads for one in lead.tail)
    for at, (heading, lead) in enumerate(zip(document.headings, leads, strict=True)):
        coded = any(one.prefix for one in lead.ids)
        tail = () if coded else tuple(one for one in lead.tail if often[one] <= _TWICE)
        yield Place(
            HEADING, heading.line, heading.last, heading.text, lead.title, lead.ids, tail, at
        )


def _items(document: Document) -> Iterator[Place]:
    """List items and paragraphs that start with an id in bold, or with one and a colon."""
    headings = {heading.line for heading in document.headings}
    found: list[tuple[Place, int]] = []
    before = ""
    for index, line in enumerate(document.prose):
        if line and index + 1 not in headings:
            item = ITEM.match(line)
            depth = width(item["lead"]) if item else -1
            if item or not before.strip() or before.lstrip().startswith(("**", "__", "#", "|")):
                place = _lead(document, index, item["text"] if item else line.lstrip(), depth)
                if place:
                    found.append((place, depth))
                elif item and item["bullet"][0].isdigit() and depth == 0:
                    number = ids.make("", item["bullet"].rstrip(".)"))
                    text = item["text"].strip()
                    at = document.place(index + 1)
                    place = Place(ORDERED, index + 1, 0, text, text, (number,), (), at)
                    found.append((place, 0))
        before = line or ""
    found = _steps(document, found)
    starts = [place.line for place, depth in found if depth < 0]
    for place, depth in found:
        yield place._replace(last=_last(document, place, depth, starts))


def is_remark(document: Document, place: Place) -> bool:
    """Whether an item is a remark on an id, as in a list of risks; R-1 is defined there."""
    if place.kind == HEADING or any(
        one.prefix in ("R", "AC", "SC", "Q", "US") for one in place.ids
    ):
        return False
    return any(_REMARKS.search(heading.text) for heading in document.path(place.at)[1:])


def _steps(document: Document, found: list[tuple[Place, int]]) -> list[tuple[Place, int]]:
    """Numbered items with a bold title are a plan's steps, where no two have the same number."""
    steps = {
        place.line: place.ids[0].number
        for place, _ in found
        if place.kind == ORDERED and _BOLD.match(place.text) and not is_remark(document, place)
    }
    if len(steps) < 2 or len(set(steps.values())) < len(steps):
        return found
    return [(_step(p) if p.line in steps else p, depth) for p, depth in found]


def _step(place: Place) -> Place:
    number = place.ids[0].number
    bold = _BOLD.match(place.text)
    title = bold["text"].strip() if bold else place.text
    known = (Id("ITEM", number), Id("STEP", number))
    return place._replace(kind=ITEM_, text=title, title=title, ids=known)


def _lead(document: Document, index: int, text: str, depth: int) -> Place | None:
    bold = _BOLD.match(text)
    plain = _PLAIN.match(text) if not bold and depth >= 0 else None
    said = bold["text"] if bold else plain["text"] if plain else ""
    if not said:
        return None
    lead = ids.lead(said.rstrip(":. "))
    if not lead.ids or (plain and not plain["prefix"].isupper()):
        return None
    at = document.place(index + 1)
    return Place(ITEM_, index + 1, 0, said.strip(), lead.title, lead.ids, (), at)


def _last(document: Document, place: Place, depth: int, starts: list[int]) -> int:
    stop = len(document.lines) + 1
    if place.at + 1 < len(document.headings):
        stop = document.headings[place.at + 1].line
    if depth < 0:
        following = bisect(starts, place.line)
        if following < len(starts):
            stop = min(stop, starts[following])
    blank = False
    for index in range(place.line, stop - 1):
        line = document.lines[index]
        if not line.strip():
            blank = True
            continue
        inset = width(line[: len(line) - len(line.lstrip())])
        ends = (
            _STRONG_END.match(line) if depth < 0 else inset <= depth and (blank or ITEM.match(line))
        )
        if ends:
            stop = index + 1
            break
        blank = False
    return document.trimmed(place.line, stop - 1)


def _rows(document: Document) -> Iterator[Place]:
    for row in tables.rows(document):
        cell = row.cells[0][1]
        lead = ids.lead(cell)
        if lead.ids and (any(one.prefix for one in lead.ids) or "." in lead.ids[0].number):
            at = document.place(row.line)
            title = lead.title or tables.title(row.cells)
            yield Place(ROW, row.line, row.line, cell, title, lead.ids, (), at, row.head)
