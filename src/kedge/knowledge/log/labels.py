"""Find where fields of a report begin: headings, bold leads, `Label:` lines, tags, table rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kedge.knowledge.log.headings import OTHER, match_fields
from kedge.text import markdown
from kedge.text.markdown import Document

HEADING, BOLD, PLAIN = range(3)
_LEAD = r"(?P<lead>[ \t]*(?:(?:[-*+•‣▪]|[0-9]{1,2}[.)])[ \t]+)?(?:\[.\][ \t]+)?)"
_SIGN = r"(?:[^\w\s*`|<>#\"'(\[{\\/.-]{1,4}[ \t]*)?"  # an emoji or an arrow
_BOLD = re.compile(
    rf"{_LEAD}{_SIGN}(?:\*\*\*?(?P<a>[^*\n]{{1,90}})\*\*\*?|__(?P<b>[^*\n]{{1,90}}?)__)(?P<tail>.*)\Z"
)
_PLAIN = re.compile(
    rf"{_LEAD}{_SIGN}(?P<label>[A-Za-z][\w '’/&(),+-]{{1,80}}?)[ \t]*(?P<stop>:|[ \t][-–—][ \t])"
    r"[ \t]*(?P<rest>.*)\Z"
)
_ALONE = re.compile(
    rf"[ \t]*(?:[=~\[-]{{1,10}}[ \t]*)?{_SIGN}(?P<label>[A-Za-z][\w '’/&(),+-]{{2,80}}?)"
    r"[ \t]*[=~\]-]{0,10}\Z"
)
_ABSENT = re.compile(
    rf"{_LEAD}No (?P<what>(?:\w+ ){{0,3}}(?:deviations?|concerns?|issues?|decisions?))"
    r"(?: (?:from|with|to|in) [\w ]{1,40}| (?:were )?(?:made|found|noted))?[.!]?\s*\Z"
)
_TIGHT = re.compile(r" {0,3}(?P<marks>#{2,6})(?P<text>[^#\s].*)\Z")
_TAG = re.compile(r"[ \t]*<(?P<end>/?)(?P<tag>[A-Za-z][\w-]{2,40})>(?P<rest>.*)\Z")


_BLOCKS = ("|", ">", "|-", ">-")  # YAML block scalars: the text follows below


@dataclass(frozen=True, slots=True)
class Label:
    """A line that begins a field. `rank` orders labels by form, then by depth.

    Without fields it is a heading of something else; `rest` is the text after it on its line.
    """

    line: int  # from 0; `last` is the underline of a heading
    last: int
    rank: tuple[int, int]
    fields: tuple[str, ...]
    rest: str = ""


def find_labels(document: Document) -> list[Label]:
    """Return the labels of a text, in order; those in code do not count."""
    headings = {one.line - 1: one for one in document.headings}
    found = []
    before = ""
    for index, line in enumerate(document.prose):
        heading = headings.get(index)
        if heading is not None:
            label = _heading(heading.text, heading.level)
            found.append(replace(label, line=index, last=heading.end - 1))
        elif line and line.strip():
            inline = _in_line(line, alone=not before.strip())
            if inline is not None:
                found.append(replace(inline, line=index, last=index))
        before = line or ""
    return found


def _heading(text: str, level: int) -> Label:
    bare = text.replace("**", "").replace("__", "").strip(" *")
    name, colon, rest = bare.partition(":")
    fields = match_fields(name, sure=True) if colon and rest.strip() else ()
    if fields:
        return Label(0, 0, (HEADING, level), fields, rest.strip())
    return Label(0, 0, (HEADING, level), match_fields(bare.rstrip(":"), sure=True))


def _in_line(line: str, *, alone: bool) -> Label | None:
    match = _TIGHT.match(line)
    if match:
        return _heading(match["text"], len(match["marks"]))
    return (
        _tag(line)
        or _absent(line)
        or _bold(line)
        or _plain(line)
        or (_bare(line) if alone else None)
    )


def _bold(line: str) -> Label | None:
    match = _BOLD.match(line)
    if not match:
        return None
    name, tail = (match["a"] or match["b"]).strip(), match["tail"].strip()
    inside, colon, more = name.partition(":")
    if not name.endswith(":") and tail and tail[0] not in ":—–-":
        return None
    if colon and more.strip():  # all of it is bold
        name, tail = inside, f"{more.strip()} {tail}".strip()
    fields = match_fields(name.rstrip(":"))
    return _label(BOLD, match["lead"], fields, tail.lstrip(":—–- \t"))


def _plain(line: str) -> Label | None:
    match = _PLAIN.match(line)
    if not match:
        return None
    fields = match_fields(match["label"])
    if OTHER in fields and match["lead"].strip():  # a list item, which does not end a field
        return None
    return _label(PLAIN, match["lead"], fields, match["rest"])


def _absent(line: str) -> Label | None:
    """Match a line such as `No deviations.`."""
    match = _ABSENT.match(line)
    return _label(PLAIN, match["lead"], match_fields(match["what"]), "none") if match else None


def _bare(line: str) -> Label | None:
    match = _ALONE.match(line)
    if not match or len(match["label"].split()) > 6:
        return None
    return _label(PLAIN, "", match_fields(match["label"]), "")


def _tag(line: str) -> Label | None:
    """Match a tag such as `<files_changed>`; a closing tag ends the field."""
    match = _TAG.match(line)
    fields = match_fields(match["tag"]) if match else ()
    if not match or not fields:
        return None
    rest = match["rest"].replace(f"</{match['tag']}>", "").strip()
    return Label(0, 0, (BOLD, 0), (OTHER,) if match["end"] else fields, rest)


def _label(form: int, lead: str, fields: tuple[str, ...], rest: str) -> Label | None:
    depth = markdown.indent_width(lead[: len(lead) - len(lead.lstrip())])
    text = "" if rest.strip() in _BLOCKS else rest.strip()
    return Label(0, 0, (form, depth), fields, text) if fields else None


def flatten_tables(lines: Sequence[str]) -> list[str]:
    """Rewrite tables whose rows or columns are fields of the report as labelled lines."""
    flat: list[str] = []
    table: list[list[str]] = []
    for line in [*lines, ""]:
        bare = line.strip()
        if bare.startswith("|") and bare.count("|") > 1:
            table.append([line, *(cell.strip() for cell in bare.strip("|").split("|"))])
            continue
        flat += _flatten_table(table)
        table = []
        flat.append(line)
    return flat[:-1]


def _flatten_table(table: list[list[str]]) -> Iterator[str]:
    rows = [row for row in table if not re.fullmatch(r"[|:\s-]+", row[0])]
    labels = [_cell_fields(row[1]) for row in rows]
    if len({one for one in labels if one}) > 1:
        for row, label in zip(rows, labels, strict=True):
            text = " | ".join(cell for cell in row[2:] if cell).replace("<br>", "\n")
            yield from f"{row[1]}: {text}".split("\n") if label else [row[0]]
        return
    columns = [_cell_fields(cell) for cell in rows[0][1:]] if len(rows) > 1 else []
    if len({one for one in columns if one}) > 1 and all(columns):
        for place, head in enumerate(rows[0][1:], 1):
            yield f"{head}:"
            cells = [row[place] for row in rows[1:] if place < len(row) and row[place]]
            yield from "\n".join(cells).replace("<br>", "\n").split("\n")
        return
    yield from (row[0] for row in table)


def _cell_fields(cell: str) -> tuple[str, ...]:
    fields = match_fields(cell.strip("*_: "))
    return () if OTHER in fields else fields
