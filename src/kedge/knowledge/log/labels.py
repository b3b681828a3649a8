"""Find where fields of a report begin: headings, bold leads, `Label:` lines, tags, table rows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kedge.knowledge.log.headings import OTHER, match_fields
from kedge.text import markdown
from kedge.text.markdown import Document

HEADING, BOLD, PLAIN = range(3)
_LEAD = (
    r"(?P<indent>[ \t]*)(?P<bullet>(?:[-*+•]|[0-9]{1,2}[.)])[ \t]+)?(?:\[.\][ \t]+)?"
    r"(?:[^\w\s*`|<>#\"'(\[{\\/.-]{1,4}[ \t]*)?"  # an emoji or an arrow
)
_NAME = r"(?P<label>[A-Za-z][\w '’/&(),+-]{1,80}?)"
_FORMS = (
    (BOLD, re.compile(r"(?P<indent>)<(?P<end>/?)(?P<label>[A-Za-z][\w-]{2,40})>(?P<rest>.*)\Z")),
    (BOLD, re.compile(rf"{_LEAD}\*\*(?P<label>[^*:]{{1,90}}):[ \t]*(?P<rest>[^*].*)\*\*\Z")),
    (BOLD, re.compile(rf"{_LEAD}\*\*(?P<label>[^*]{{1,90}}):\*\*(?P<rest>.*)\Z")),
    (BOLD, re.compile(rf"{_LEAD}\*\*(?P<label>[^*]{{1,90}})\*\*(?:[ \t]*[:—–-](?P<rest>.*))?\Z")),
    (PLAIN, re.compile(rf"(?P<indent>)\|[ \t*]*{_NAME}[ \t*:]*\|(?P<rest>.*)\Z")),
    (PLAIN, re.compile(rf"{_LEAD}{_NAME}[ \t]*(?::|[ \t][-–—][ \t])(?P<rest>.*)\Z")),
)
_ALONE = re.compile(rf"[ \t]*[=~\[-]{{0,10}}[ \t]*{_NAME}[.!]?[ \t]*[=~\]-]{{0,10}}\Z")


@dataclass(frozen=True, slots=True)
class Label:
    """A line that begins a field. `rank` orders labels by form, then by depth.

    Without fields it is a heading of something else; `rest` is the text after it on its line.
    """

    last: int  # its last line, from 0: the underline of a heading
    rank: tuple[int, int]
    fields: tuple[str, ...]
    rest: str = ""


def find_labels(document: Document) -> dict[int, Label]:
    """Return the labels of a text by their lines, from 0; those in code do not count."""
    headings = {one.line - 1: one for one in document.headings}
    labels: dict[int, Label] = {}
    before = ""
    for index, line in enumerate(document.prose):
        heading = headings.get(index)
        if heading is not None:
            labels[index] = _heading(heading)
        elif line and line.strip() and (label := _in_line(line, index, alone=not before.strip())):
            labels[index] = label
        before = line or ""
    return labels


def _heading(heading: markdown.Heading) -> Label:
    text = heading.text.replace("**", "").replace("__", "").strip(" *:")
    name, _, rest = text.partition(":")
    fields = match_fields(name, sure=True) if rest else ()
    if not fields:
        fields, rest = match_fields(text, sure=True), ""
    return Label(heading.end - 1, (HEADING, heading.level), fields, rest.strip())


def _in_line(line: str, index: int, *, alone: bool) -> Label | None:
    for form, pattern in _FORMS:
        match = pattern.match(line)
        fields = match_fields(match["label"]) if match else ()
        if match is None or not fields:
            continue
        parts = match.groupdict("")
        if form == PLAIN and OTHER in fields and parts.get("bullet"):
            return None  # a list item, which does not end a field
        rest = parts["rest"].replace(f"</{parts['label']}>", "").strip(" \t|>")
        rank = form, markdown.indent_width(parts["indent"])
        return Label(index, rank, (OTHER,) if parts.get("end") else fields, rest)
    match = _ALONE.match(line) if alone else None
    fields = match_fields(match["label"]) if match else ()
    rest = "none" if line.strip().startswith("No ") else ""
    return Label(index, (PLAIN, 0), fields, rest) if fields else None
