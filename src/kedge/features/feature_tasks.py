"""A feature's tasks with their references, acceptance criteria and files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kedge.features import criteria, fields, markers, references, task_forms
from kedge.features import tasks_file as doc
from kedge.features.artifact import Artifact
from kedge.features.layouts import FEATURE_DOCS, Layout
from kedge.features.reference_parser import parse_references
from kedge.features.references import Lexicon, Reference
from kedge.features.section_ids import Id
from kedge.features.task_numbers import task_key
from kedge.features.tasks_file import TaskSection
from kedge.text import markdown, tables

_TAIL = re.compile(r"[ \t]*(?P<group>[\[({][^\[\](){}]{1,200}[\])}])[ \t.*_]*\Z")
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
_CODE = re.compile(r"`[^`\n]*`")
_STORY = re.compile(r"\b(?:user story|US)[ \t]*[-#]?[ \t]*(?P<number>[0-9]{1,3})\b", re.IGNORECASE)
_PROPERTY = re.compile(r"\bproperty[ \t]+(?P<number>[1-9][0-9]{0,2})\b", re.IGNORECASE)
_DOCUMENTS = {"design.md", "plan.md", "spec.md", "prd.md", "tasks.md", "requirements.md"}


@dataclass(frozen=True, slots=True)
class FeatureTask:
    """A task as `kedge feature tasks` prints it; `group` is the heading above it.

    `references` are those of its fields and its heading, then those of a table of all tasks. For
    documents that these do not name, references in its text count, if they name the document.
    `mentions` are other ids of the design in its text.
    """

    section: TaskSection
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
        return task_key(self.number)


def read_tasks(
    text: str, lexicon: Lexicon, layout: Layout = FEATURE_DOCS, spec: Artifact | None = None
) -> list[FeatureTask]:
    """Read the tasks of a document; the lexicon has what they can refer to.

    Where the layout says so, the criteria of the requirements that a task refers to are its own.
    """
    document = markdown.read(text)
    sections = doc.parse_tasks(text, layout)
    matrix = _read_matrix(document, sections, lexicon)
    tasks = [_read_task(document, section, matrix, lexicon, layout) for section in sections]
    if layout.has_criteria and spec is not None:
        return [_add_criteria(task, spec) for task in tasks]
    return tasks


def _add_criteria(task: FeatureTask, spec: Artifact) -> FeatureTask:
    if task.done_criteria:
        return task
    return replace(task, done_criteria=criteria.find_criteria(spec, task.references))


def _find_properties(prose: Sequence[tuple[int, str]]) -> Iterator[Reference]:
    """Yield the correctness properties of Kiro's design that a task is to test."""
    for _, line in prose:
        for found in _PROPERTY.finditer(line):
            key = Id("PROPERTY", found["number"])
            yield Reference(references.DESIGN, str(key), found[0], key=key, typed=True)


def _find_story(document: markdown.Document, section: TaskSection) -> Iterator[Reference]:
    """Yield the user story of a task: by its marker, else by the headings above."""
    story, raw = section.story, f"[US{section.story}]"
    if not story:
        above = document.heading_path(document.heading_at(section.line))
        found = next((one for h in reversed(above) if (one := _STORY.search(h.text))), None)
        story, raw = (found["number"].lstrip("0"), found[0]) if found else ("", "")
    if story:
        key = Id("US", story)
        yield Reference(references.SPEC, str(key), raw, key=key, typed=True)


def _read_task(
    document: markdown.Document,
    section: TaskSection,
    matrix: dict[tuple[str, ...], list[Reference]],
    lexicon: Lexicon,
    layout: Layout,
) -> FeatureTask:
    prose = [
        (index, line)
        for index, line in enumerate(document.prose[section.head_end : section.end_line])
        if line is not None
    ]
    every = doc.parse_fields(section)
    found = [
        *(_find_story(document, section) if layout.has_stories else ()),
        *(_find_properties(prose) if layout.has_criteria else ()),
        *_find_in_fields(every, lexicon),
        *_find_in_heading(section.title, lexicon),
        *_find_in_lines(prose, lexicon),
    ]
    types = {reference.type for reference in found}
    found += [one for one in matrix.get(task_key(section.number), ()) if one.type not in types]
    types |= {reference.type for reference in found}
    mentions = _find_mentions(section.title, prose, lexicon)
    found += [one for one in mentions if one.typed and one.type not in types]
    if layout.has_stories:  # besides its story, a task names requirements in its text
        found += [one for one in mentions if one.type == references.SPEC and one.key]
    place = document.heading_at(section.line)
    if section.kind == task_forms.HEADING:
        place = document.headings[place].parent
    return FeatureTask(
        section,
        section.number,
        section.title,
        section.line,
        doc.find_criteria(every, prose),
        _unique(found),
        tuple(one for one in mentions if not one.typed and one.type == references.DESIGN),
        tuple(dict.fromkeys(_find_files(section, every, prose, bare=layout.is_foreign))),
        document.headings[place].text if place >= 0 else "",
    )


def _find_in_fields(every: Sequence[fields.Field], lexicon: Lexicon) -> Iterator[Reference]:
    for field in every:
        if field.name in fields.TRACE:
            for entry in field.entries:
                found = parse_references(entry, lexicon, field.name)
                if not found.loose or field.name not in fields.DONE:
                    yield from found.references


def _find_in_heading(title: str, lexicon: Lexicon) -> Iterator[Reference]:
    """Yield the references in brackets at the end of a title."""
    while tail := _TAIL.search(title[-260:]):
        yield from _parse_pure(tail["group"][1:-1], lexicon)
        title = title[: len(title) - len(tail[0])]


def _find_in_lines(prose: Sequence[tuple[int, str]], lexicon: Lexicon) -> Iterator[Reference]:
    """Yield the references of lines with nothing else: `Implements Design C3.`, `_C1, D3_`."""
    for _, line in prose:
        item = markdown.ITEM.match(line)
        text = _SIGNS.sub("", item["text"] if item else line).rstrip(" \t*_)")
        if len(text) < 300 and not fields.is_known_field(line):
            name = fields.normalize_name(text.partition(":")[0]) if ":" in text else ""
            if name in fields.TRACE or _TRACE_LINE.match(text):
                yield from _parse_pure(text, lexicon)


def _parse_pure(text: str, lexicon: Lexicon) -> tuple[Reference, ...]:
    """Return the references of a text, if it consists of or begins with them."""
    name, colon, rest = text.partition(":")
    field = fields.normalize_name(name) if colon else ""
    if field in fields.TRACE:
        return parse_references(rest, lexicon, field).references
    found = parse_references(text, lexicon)
    if found.first and len(text.split()) > 2:
        return found.references  # Implements Design C3, so that …
    firm = all(
        (one.key and one.key.prefix) or " " in one.raw or one.by not in ("id", "title")
        for one in found.references
    ) and all(one.by != "title" or lexicon.find_title(one.id) for one in found.references)
    return found.references if not found.loose and firm else ()


def _read_matrix(
    document: markdown.Document, sections: Sequence[TaskSection], lexicon: Lexicon
) -> dict[tuple[str, ...], list[Reference]]:
    """Return the references of each task in a table of all tasks: `| Task | Design | Plan |`."""
    found: dict[tuple[str, ...], list[Reference]] = {}
    rows = {section.line for section in sections if section.kind == task_forms.TABLE}
    known = {task_key(section.number) for section in sections}
    for row in tables.read_rows(document):
        number = re.sub(r"[*_`]", "", row.cells[0][1]).split(":")[0]
        if row.line in rows or task_key(number) not in known:
            continue
        for head, value in row.cells[1:]:
            name = fields.normalize_name(re.sub(r"[*_`]", "", head))
            if name in fields.TRACE:
                scanned = parse_references(value, lexicon, name).references
                found.setdefault(task_key(number), []).extend(scanned)
    return found


def _find_mentions(
    title: str, prose: Sequence[tuple[int, str]], lexicon: Lexicon
) -> tuple[Reference, ...]:
    found: list[Reference] = []
    for line in (title, *(line for _, line in prose)):
        if len(found) < 50:
            found += parse_references(line, lexicon, strict=True).references
    return _unique(found)


def _find_files(
    section: TaskSection,
    every: Sequence[fields.Field],
    prose: Sequence[tuple[int, str]],
    *,
    bare: bool,
) -> Iterator[str]:
    for field in every:
        if field.name in fields.FILES:
            for entry in field.entries:
                quoted = list(_find_paths(entry))
                yield from quoted or (found["path"] for found in _BARE_PATH.finditer(entry[:2000]))
    for line in (section.title, *(line for _, line in prose)):
        yield from _find_paths(line)
        if bare:
            paths = markers.find_paths(_CODE.sub(" ", line))
            yield from (path for path in paths if path.rpartition("/")[2] not in _DOCUMENTS)


def _find_paths(text: str) -> Iterable[str]:
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
