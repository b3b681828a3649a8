"""Adding an entry to a page, in the way that the page has them."""

from __future__ import annotations

import re

from kedge.errors import InvalidValue
from kedge.host.record import NamedTuple
from kedge.knowledge import edit, entries, titles
from kedge.knowledge.entries import Entry, Page, bare
from kedge.knowledge.fields import ANCHOR, CONFIDENCE, COUNT, LAST, PROVENANCE

_TITLES = {
    titles.ANTI_PATTERN: "Anti-Patterns",
    titles.HEURISTIC: "Heuristics",
    titles.PATTERN: "Patterns",
}


class Draft(NamedTuple):
    """An entry to be."""

    type: str
    name: str
    text: str
    provenance: str
    confidence: str
    last: str
    anchors: tuple[str, ...] = ()


def empty(file: str, type_: str) -> Page:
    """A page that has nothing but its title."""
    return entries.parse(f"# {_TITLES[type_]}\n", file)


def with_entry(page: Page, draft: Draft) -> Page:
    """The page with one entry more, at its end. InvalidValue where that cannot be read back."""
    text = draft.text.strip().split("\n")
    _check_text("\n".join(text))
    style = edit.style_for(page)
    provenance = edit.key_for(page, PROVENANCE)
    if draft.type == titles.HEURISTIC and not any(e.all(PROVENANCE) for e in page.entries):
        provenance = "Source"
    told = [(provenance, draft.provenance), (edit.key_for(page, CONFIDENCE), draft.confidence)]
    told += [(edit.key_for(page, LAST), draft.last), (edit.key_for(page, COUNT), "1")]
    told += [(edit.key_for(page, ANCHOR), anchor) for anchor in draft.anchors]
    model = page.entries[-1] if page.entries else None
    airy = model is not None and model.last > model.line and not _line(page, model.line + 1)
    apart = not style.bullet or (model is not None and _is_apart(page, model))
    new = [_heading(page, draft), *([""] if airy else []), *text]
    new += [""] if apart and text else []
    new += [style.line(key, value) for key, value in told]
    place = _end(page)
    lead = [""] if place and page.lines[place - 1].strip() else []
    if model and (rule := _rule(page)):
        lead += [rule, ""]
    tail = [""] if place < len(page.lines) and page.lines[place].strip() else []
    after = entries.parse("".join(edit.insert(page, place, lead + new + tail)), page.file)
    _check(page, after, draft, "\n".join(text))
    return after


def _check_text(text: str) -> None:
    """Refuse a text that would not stay one between two headings."""
    page = entries.parse(f"### Pattern: a\n{text}\n- Observed in: b\n### Pattern: c\n", "x")
    if len(page.entries) != 2 or page.entries[0].text != text:
        raise InvalidValue(
            "the text would not read back as it was given",
            hint="take headings, open code fences and lines such as 'Source: …' out of it",
        )


def _check(before: Page, after: Page, draft: Draft, text: str) -> None:
    entry = after.entries[-1] if after.entries else None
    if entry is None or edit.said(after)[:-1] != edit.said(before):
        raise edit.unsafe(before, max(len(before.lines) - 1, 0))
    kept = (entry.type, titles.key(entry.name), entry.text, entry.value(LAST))
    if kept != (draft.type, titles.key(draft.name), text, draft.last):
        raise InvalidValue(
            f"the name {draft.name!r} would not read back as it was given",
            hint="use plain words, without a type or a number before them",
        )


def _heading(page: Page, draft: Draft) -> str:
    """As the last one of its type is written, with the next number where they have numbers."""
    for model in reversed(page.entries):
        raw = bare(page.lines[model.line])
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


def _end(page: Page) -> int:
    """Behind the last entry where something else follows, or at the end."""
    if not page.entries:
        return len(page.lines)
    last = page.entries[-1].last
    return last + 1 if any(line.strip() for line in page.lines[last + 1 :]) else len(page.lines)


def _rule(page: Page) -> str:
    """The rule that stands between entries, where one does."""
    if len(page.entries) < 2:
        return ""
    one, other = page.entries[-2:]
    between = [bare(line) for line in page.lines[one.last + 1 : other.line] if line.strip()]
    return between[0] if len(between) == 1 and re.fullmatch(r"[-*_ ]{3,}", between[0]) else ""


def _is_apart(page: Page, entry: Entry) -> bool:
    """Whether a blank line stands before the entry's metadata."""
    known = [field for field in entry.fields if field.known]
    above = known[0].line - 1 if known else -1
    return above > entry.line + 1 and not _line(page, above)


def _line(page: Page, at: int) -> str:
    return page.lines[at].strip()
