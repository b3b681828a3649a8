"""Append a new entry to a page, in the style of the entries that are there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kedge.errors import InvalidValue
from kedge.knowledge.bank import edits, entries, titles
from kedge.knowledge.bank.entries import BankPage, strip_ending
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


def empty_page(file: str, type_: str) -> BankPage:
    """Return a page with nothing but its title."""
    return entries.parse_page(f"# {titles.LABELS[type_]}s\n", file)


def append_entry(page: BankPage, draft: Draft) -> BankPage:
    """Append the entry to the page; InvalidValue if it would not parse back unchanged."""
    text = draft.text.strip()
    style = edits.style_for(page)
    provenance = edits.key_for(page, PROVENANCE)
    if draft.type == titles.HEURISTIC and not any(e.all(PROVENANCE) for e in page.entries):
        provenance = "Source"
    metadata = [
        (provenance, draft.provenance),
        (edits.key_for(page, CONFIDENCE), draft.confidence),
        (edits.key_for(page, LAST), draft.last),
        (edits.key_for(page, COUNT), "1"),
        *((edits.key_for(page, ANCHOR), anchor) for anchor in draft.anchors),
    ]
    new = [_heading(page, draft), *text.split("\n"), *([] if style.bullet else [""])]
    new += [style.format_line(key, value) for key, value in metadata]
    place = _end_of_entries(page)
    lead = [""] if place and page.lines[place - 1].strip() else []
    tail = [""] if place < len(page.lines) and page.lines[place].strip() else []
    lines = list(page.lines)
    edits.insert_lines(lines, place, lead + new + tail, page.ending)
    after = entries.parse_page("".join(lines), page.file)
    _check(page, after, draft, text)
    return after


def _check(before: BankPage, after: BankPage, draft: Draft, text: str) -> None:
    """Refuse a draft that does not parse back as it is, or changes another entry."""
    new = [
        (entry.type, titles.name_key(entry.name), entry.text, entry.value(LAST))
        for entry in after.entries[len(before.entries) :]
    ]
    if new != [(draft.type, titles.name_key(draft.name), text, draft.last)]:
        raise InvalidValue(
            f"{draft.name!r} would not parse back unchanged",
            hint="use plain words as its name, without a type or a number in front; in its text, "
            "no headings, open code fences and lines such as 'Source: …'",
        )
    if edits.entry_contents(after)[:-1] != edits.entry_contents(before):
        raise edits.unsafe_edit(before, max(len(before.lines) - 1, 0))


def _heading(page: BankPage, draft: Draft) -> str:
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


def _end_of_entries(page: BankPage) -> int:
    """Return the line after the last entry if other text follows, else the end of the page."""
    if not page.entries:
        return len(page.lines)
    last = page.entries[-1].last
    return last + 1 if any(line.strip() for line in page.lines[last + 1 :]) else len(page.lines)
