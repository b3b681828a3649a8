"""A feature's tasks with what they refer to, when they are done, and the files that they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kedge.host.record import NamedTuple
from kedge.tasks.feature_docs import fields, forms, markdown, references, tables
from kedge.tasks.feature_docs import text as doc
from kedge.tasks.feature_docs.references import Lexicon, Reference
from kedge.tasks.feature_docs.scan import scan
from kedge.tasks.feature_docs.text import Section

_TAIL = re.compile(r"[ \t]*(?P<group>[\[({][^\[\](){}]{1,200}[\])}])[ \t.*_]*\Z")
_DASH = re.compile(r"[ \t](?:—|–|-|→|\||@)[ \t]+(?P<rest>[^—–→|]{1,120})\Z")
_TRACE_LINE = re.compile(
    r"(?:implement|cover|satisf|address|fulfil|realis|realiz|trac|per\b|see\b|from\b|refs?\b|"
    r"design\b|plan\b|spec\b|prd\b|requirements?\b|components?\b|interfaces?\b|steps?\b|§|\[)",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"\A[^\w\[§\"“]+")
_PATH = re.compile(r"`(?P<path>[\w@.+*{},/\\-]{1,200})(?::[0-9][0-9,-]*)?`")
_BARE_PATH = re.compile(
    r"(?<![\w`])(?P<path>(?:[\w@.+*-]+/)+[\w@.+*-]*|[\w+*-]+\.[a-z][a-z0-9]{0,7})(?![\w`])"
)
_EXTENSION = re.compile(r"[\w)*}-]\.[A-Za-z][A-Za-z0-9]{0,7}\Z")
_DOCUMENTS = {"design.md", "plan.md", "spec.md", "prd.md", "tasks.md", "requirements.md"}


class FeatureTask(NamedTuple):
    """A task as `feature tasks` gives it; `group` is the heading that it stands under.

    It refers to what its fields and its heading name, then a table of all tasks; where these name
    no section of a document, to what its text names with the document. `mentions` are the ids of
    the design that its text has in passing.
    """

    section: Section
    number: str
    title: str
    line: int
    done_criteria: tuple[str, ...]
    references: tuple[Reference, ...]
    mentions: tuple[Reference, ...]
    files: tuple[str, ...]
    group: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        return forms.key(self.number)


def read(text: str, lexicon: Lexicon) -> list[FeatureTask]:
    """The tasks of a document; the lexicon knows what they can refer to."""
    document = markdown.read(text)
    sections = doc.parse_tasks(text)
    matrix = _matrix(document, sections, lexicon)
    return [_task(document, section, matrix, lexicon) for section in sections]


def _task(
    document: markdown.Document,
    section: Section,
    matrix: dict[tuple[str, ...], list[Reference]],
    lexicon: Lexicon,
) -> FeatureTask:
    prose = [
        (index, line)
        for index, line in enumerate(document.prose[section.head_end : section.end_line])
        if line is not None
    ]
    every = doc.parse_fields(section)
    found = [
        *_of_fields(every, lexicon),
        *_of_heading(section.title, lexicon),
        *_of_lines(prose, lexicon),
    ]
    told = {reference.type for reference in found}
    found += [one for one in matrix.get(forms.key(section.number), ()) if one.type not in told]
    told |= {reference.type for reference in found}
    mentions = _mentions(section.title, prose, lexicon)
    found += [one for one in mentions if one.typed and one.type not in told]
    place = document.place(section.line)
    if section.kind == forms.HEADING:
        place = document.headings[place].above
    return FeatureTask(
        section,
        section.number,
        section.title,
        section.line,
        doc.criteria(every, prose),
        _unique(found),
        tuple(one for one in mentions if not one.typed and one.type == references.DESIGN),
        tuple(dict.fromkeys(_files(section, every, prose))),
        document.headings[place].text if place >= 0 else "",
    )


def _of_fields(every: Sequence[fields.Field], lexicon: Lexicon) -> Iterator[Reference]:
    for field in every:
        if field.name in fields.TRACE:
            for entry in field.entries:
                found = scan(entry, lexicon, field.name)
                if not found.loose or field.name not in fields.DONE:
                    yield from found.references


def _of_heading(title: str, lexicon: Lexicon) -> Iterator[Reference]:
    """References in brackets, or behind a dash, at the end of a title."""
    while tail := _TAIL.search(title[-260:]):
        yield from _wholly(tail["group"][1:-1], lexicon)
        title = title[: len(title) - len(tail[0])]
    dash = _DASH.search(title[-160:])
    if dash:
        yield from _wholly(dash["rest"], lexicon)


def _of_lines(prose: Sequence[tuple[int, str]], lexicon: Lexicon) -> Iterator[Reference]:
    """References that are all that a line says: `Implements Design C3.`, `_Design C1, D3_`."""
    for _, line in prose:
        item = markdown.ITEM.match(line)
        text = _SIGNS.sub("", item["text"] if item else line).rstrip(" \t*_)")
        if len(text) < 300 and not fields.is_known_field(line):
            name = fields.normal(text.partition(":")[0]) if ":" in text else ""
            if name in fields.TRACE or _TRACE_LINE.match(text):
                yield from _wholly(text, lexicon)


def _wholly(text: str, lexicon: Lexicon) -> tuple[Reference, ...]:
    name, colon, rest = text.partition(":")
    field = fields.normal(name) if colon else ""
    if field in fields.TRACE:
        return scan(rest, lexicon, field).references
    found = scan(text, lexicon)
    if found.first and len(text.split()) > 2:
        return found.references  # Implements Design C3, so that …
    firm = all(
        (one.key and one.key.prefix) or " " in one.raw or one.by not in ("id", "title")
        for one in found.references
    ) and all(one.by != "title" or lexicon.titled(one.id) for one in found.references)
    return found.references if not found.loose and firm else ()


def _matrix(
    document: markdown.Document, sections: Sequence[Section], lexicon: Lexicon
) -> dict[tuple[str, ...], list[Reference]]:
    """What a table of all tasks says about each: `| Task | Design | Plan |`."""
    found: dict[tuple[str, ...], list[Reference]] = {}
    rows = {section.line for section in sections if section.kind == forms.TABLE}
    known = {forms.key(section.number) for section in sections}
    for row in tables.rows(document):
        number = re.sub(r"[*_`]", "", row.cells[0][1]).split(":")[0]
        if row.line in rows or forms.key(number) not in known:
            continue
        for head, value in row.cells[1:]:
            name = fields.normal(re.sub(r"[*_`]", "", head))
            if name in fields.TRACE:
                scanned = scan(value, lexicon, name).references
                found.setdefault(forms.key(number), []).extend(scanned)
    return found


def _mentions(
    title: str, prose: Sequence[tuple[int, str]], lexicon: Lexicon
) -> tuple[Reference, ...]:
    found: list[Reference] = []
    for line in (title, *(line for _, line in prose)):
        if len(found) < 50:
            found += scan(line, lexicon, strict=True).references
    return _unique(found)


def _files(
    section: Section, every: Sequence[fields.Field], prose: Sequence[tuple[int, str]]
) -> Iterator[str]:
    for field in every:
        if field.name in fields.FILES:
            for entry in field.entries:
                quoted = list(_paths(entry))
                yield from quoted or (found["path"] for found in _BARE_PATH.finditer(entry[:2000]))
    for line in (section.title, *(line for _, line in prose)):
        yield from _paths(line)


def _paths(text: str) -> Iterable[str]:
    for found in _PATH.finditer(text):
        path = found["path"].rstrip(".,")
        name = path.rpartition("/")[2]
        if name in _DOCUMENTS or path.startswith(("-", "/*", "//")):
            continue
        if ("/" in path and re.search(r"\w", path)) or _EXTENSION.search(path):
            yield path


def _unique(found: Iterable[Reference]) -> tuple[Reference, ...]:
    kept: dict[tuple[str, str, str], Reference] = {}
    for one in found:
        kept.setdefault((one.type, one.id.lower(), one.inner.lower()), one)
    return tuple(kept.values())
