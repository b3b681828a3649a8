"""Where the parts of a report begin: headings, bold leads, `Label:` lines, tags, table rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kedge.host.record import NamedTuple
from kedge.knowledge.report_headings import OTHER, fields_of
from kedge.tasks.feature_docs import markdown
from kedge.tasks.feature_docs.markdown import Document

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


_BLOCKS = ("|", ">", "|-", ">-")  # YAML: the text is below


class Label(NamedTuple):
    """A line that begins a part. `rank` is how strong it is: its form, then how deep it stands.

    Without fields it is a heading of something else; `rest` is what follows on its line.
    """

    line: int  # counted from 0, `last` being an underline's
    last: int
    rank: tuple[int, int]
    fields: tuple[str, ...]
    rest: str = ""


def find(document: Document) -> list[Label]:
    """The labels of a text, in their order. Code has none."""
    headings = {one.line - 1: one for one in document.headings}
    found = []
    before = ""
    for index, line in enumerate(document.prose):
        heading = headings.get(index)
        if heading is not None:
            made = _heading(heading.text, heading.level)
            found.append(made._replace(line=index, last=heading.end - 1))
        elif line and line.strip():
            label = _in_line(line, alone=not before.strip())
            if label is not None:
                found.append(label._replace(line=index, last=index))
        before = line or ""
    return found


def _heading(text: str, level: int) -> Label:
    bare = text.replace("**", "").replace("__", "").strip(" *")
    name, colon, rest = bare.partition(":")
    fields = fields_of(name, sure=True) if colon and rest.strip() else ()
    if fields:
        return Label(0, 0, (HEADING, level), fields, rest.strip())
    return Label(0, 0, (HEADING, level), fields_of(bare.rstrip(":"), sure=True))


def _in_line(line: str, *, alone: bool) -> Label | None:
    found = _TIGHT.match(line)
    if found:
        return _heading(found["text"], len(found["marks"]))
    return (
        _tag(line)
        or _absent(line)
        or _bold(line)
        or _plain(line)
        or (_bare(line) if alone else None)
    )


def _bold(line: str) -> Label | None:
    found = _BOLD.match(line)
    if not found:
        return None
    name, tail = (found["a"] or found["b"]).strip(), found["tail"].strip()
    inside, colon, more = name.partition(":")
    if not name.endswith(":") and tail and tail[0] not in ":—–-":
        return None
    if colon and more.strip():  # all of it is bold
        name, tail = inside, f"{more.strip()} {tail}".strip()
    fields = fields_of(name.rstrip(":"))
    return _made(BOLD, found["lead"], fields, tail.lstrip(":—–- \t"))


def _plain(line: str) -> Label | None:
    found = _PLAIN.match(line)
    if not found:
        return None
    fields = fields_of(found["label"])
    if OTHER in fields and found["lead"].strip():  # an item of a list, not the end of one
        return None
    return _made(PLAIN, found["lead"], fields, found["rest"])


def _absent(line: str) -> Label | None:
    """`No deviations.` as a line of its own."""
    found = _ABSENT.match(line)
    return _made(PLAIN, found["lead"], fields_of(found["what"]), "none") if found else None


def _bare(line: str) -> Label | None:
    found = _ALONE.match(line)
    if not found or len(found["label"].split()) > 6:
        return None
    return _made(PLAIN, "", fields_of(found["label"]), "")


def _tag(line: str) -> Label | None:
    """`<files_changed>`, which agents write that were asked for tags; a closing one ends it."""
    found = _TAG.match(line)
    fields = fields_of(found["tag"]) if found else ()
    if not found or not fields:
        return None
    rest = found["rest"].replace(f"</{found['tag']}>", "").strip()
    return Label(0, 0, (BOLD, 0), (OTHER,) if found["end"] else fields, rest)


def _made(form: int, lead: str, fields: tuple[str, ...], rest: str) -> Label | None:
    depth = markdown.width(lead[: len(lead) - len(lead.lstrip())])
    said = "" if rest.strip() in _BLOCKS else rest.strip()
    return Label(0, 0, (form, depth), fields, said) if fields else None


def without_tables(lines: Sequence[str]) -> list[str]:
    """The lines, with tables whose rows or columns are parts of the report written as labels."""
    made: list[str] = []
    table: list[list[str]] = []
    for line in [*lines, ""]:
        bare = line.strip()
        if bare.startswith("|") and bare.count("|") > 1:
            table.append([line, *(cell.strip() for cell in bare.strip("|").split("|"))])
            continue
        made += _untabled(table)
        table = []
        made.append(line)
    return made[:-1]


def _untabled(table: list[list[str]]) -> Iterator[str]:
    rows = [row for row in table if not re.fullmatch(r"[|:\s-]+", row[0])]
    named = [_label(row[1]) for row in rows]
    if len({one for one in named if one}) > 1:
        for row, label in zip(rows, named, strict=True):
            text = " | ".join(cell for cell in row[2:] if cell).replace("<br>", "\n")
            yield from f"{row[1]}: {text}".split("\n") if label else [row[0]]
        return
    columns = [_label(cell) for cell in rows[0][1:]] if len(rows) > 1 else []
    if len({one for one in columns if one}) > 1 and all(columns):
        for place, head in enumerate(rows[0][1:], 1):
            yield f"{head}:"
            cells = [row[place] for row in rows[1:] if place < len(row) and row[place]]
            yield from "\n".join(cells).replace("<br>", "\n").split("\n")
        return
    yield from (row[0] for row in table)


def _label(cell: str) -> tuple[str, ...]:
    fields = fields_of(cell.strip("*_: "))
    return () if OTHER in fields else fields
