"""Append a new entry to a page, in the style of the entries that are there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kedge.errors import InvalidValue
from kedge.knowledge.bank import edits, entries, titles
from kedge.knowledge.bank.entries import Entry, Page, strip_ending
from kedge.knowledge.bank.fields import ANCHOR, CONFIDENCE, COUNT, LAST, PROVENANCE


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry that is to be added."""

    type: str
    name: str
    text: str
    provenance: str
    confidence: str
    last: str
    anchors: tuple[str, ...] = ()


def empty_page(file: str, type_: str) -> Page:
    """Return a page with nothing but its title."""
    return entries.parse_page(f"# {titles.LABELS[type_]}s\n", file)


def append_entry(page: Page, draft: Draft) -> Page:
    """Append the entry to the page; InvalidValue if it would not parse back unchanged."""
    text = draft.text.strip().split("\n")
    _check_text("\n".join(text))
    style = edits.style_for(page)
    provenance = edits.key_for(page, PROVENANCE)
    if draft.type == titles.HEURISTIC and not any(e.all(PROVENANCE) for e in page.entries):
        provenance = "Source"
    metadata = [(provenance, draft.provenance), (edits.key_for(page, CONFIDENCE), draft.confidence)]
    metadata += [(edits.key_for(page, LAST), draft.last), (edits.key_for(page, COUNT), "1")]
    metadata += [(edits.key_for(page, ANCHOR), anchor) for anchor in draft.anchors]
    model = page.entries[-1] if page.entries else None
    airy = model is not None and model.last > model.line and not _line(page, model.line + 1)
    apart = not style.bullet or (model is not None and _is_apart(page, model))
    new = [_heading(page, draft), *([""] if airy else []), *text]
    new += [""] if apart and text else []
    new += [style.format_line(key, value) for key, value in metadata]
    place = _end_of_entries(page)
    lead = [""] if place and page.lines[place - 1].strip() else []
    if model and (rule := _rule_between(page)):
        lead += [rule, ""]
    tail = [""] if place < len(page.lines) and page.lines[place].strip() else []
    after = entries.parse_page(
        "".join(edits.insert_lines(page, place, lead + new + tail)), page.file
    )
    _check(page, after, draft, "\n".join(text))
    return after


def _check_text(text: str) -> None:
    """Refuse a text that would not stay in one entry when it is parsed."""
    page = entries.parse_page(f"### Pattern: a\n{text}\n- Observed in: b\n### Pattern: c\n", "x")
    if len(page.entries) != 2 or page.entries[0].text != text:
        raise InvalidValue(
            "the text would not parse back unchanged",
            hint="remove headings, open code fences and lines such as 'Source: …'",
        )


def _check(before: Page, after: Page, draft: Draft, text: str) -> None:
    entry = after.entries[-1] if after.entries else None
    if entry is None or edits.entry_contents(after)[:-1] != edits.entry_contents(before):
        raise edits.unsafe_edit(before, max(len(before.lines) - 1, 0))
    content = (entry.type, titles.name_key(entry.name), entry.text, entry.value(LAST))
    if content != (draft.type, titles.name_key(draft.name), text, draft.last):
        raise InvalidValue(
            f"the name {draft.name!r} would not parse back unchanged",
            hint="use plain words, without a type or a number in front",
        )


def _heading(page: Page, draft: Draft) -> str:
    """Format the heading like the last one of its type, with the next number if they have one."""
    for model in reversed(page.entries):
        raw = strip_ending(page.lines[model.line])
        if (
            model.type != draft.type
            or "STALE" in raw
            or not raw.rstrip("*_# \t").endswith(model.name)
        ):
            continue
        lead, _, tail = raw.rpartition(model.name)
        if model.code:
            digits = re.search(r"[0-9]+", model.code)
            number = str(int(digits[0]) + 1).zfill(len(digits[0])) if digits else ""
            code = re.sub(r"[0-9]+", number, model.code)
            lead = lead.replace(model.code, code, 1)
        return f"{lead}{draft.name}{tail}"
    level = page.entries[-1].level if page.entries else 3
    return f"{'#' * level} {titles.LABELS[draft.type]}: {draft.name}"


def _end_of_entries(page: Page) -> int:
    """Return the line after the last entry if other text follows, else the end of the page."""
    if not page.entries:
        return len(page.lines)
    last = page.entries[-1].last
    return last + 1 if any(line.strip() for line in page.lines[last + 1 :]) else len(page.lines)


def _rule_between(page: Page) -> str:
    """Return the horizontal rule between the last two entries, if there is one."""
    if len(page.entries) < 2:
        return ""
    one, other = page.entries[-2:]
    between = [strip_ending(line) for line in page.lines[one.last + 1 : other.line] if line.strip()]
    return between[0] if len(between) == 1 and re.fullmatch(r"[-*_ ]{3,}", between[0]) else ""


def _is_apart(page: Page, entry: Entry) -> bool:
    """True if a blank line precedes the entry's metadata."""
    known = [field for field in entry.fields if field.known]
    above = known[0].line - 1 if known else -1
    return above > entry.line + 1 and not _line(page, above)


def _line(page: Page, at: int) -> str:
    return page.lines[at].strip()
