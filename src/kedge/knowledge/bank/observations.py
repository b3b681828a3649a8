"""Record on a page that an entry was confirmed, challenged or kept.

A confirmation and a challenge name the feature or task they were made in, and the evidence. To keep
an entry is not an observation: it only puts off the question whether the entry is stale.
"""

from __future__ import annotations

from dataclasses import dataclass

from kedge.knowledge.bank import edits, values
from kedge.knowledge.bank.completions import Completions
from kedge.knowledge.bank.entries import BankPage, Entry
from kedge.knowledge.bank.fields import (
    CHALLENGED,
    CONFIRMED,
    COUNT,
    KEPT,
    LAST,
    PROVENANCE,
    UPDATED,
)
from kedge.knowledge.bank.staleness import count_since
from kedge.knowledge.bank.values import Occasion


@dataclass(frozen=True, slots=True)
class PageChange:
    """The page after a change; the same object if nothing changed."""

    page: BankPage
    warnings: tuple[str, ...] = ()


def confirm(
    page: BankPage, index: int, where: str, evidence: str, completions: Completions
) -> PageChange:
    """Record that the entry was seen to hold.

    The same evidence is recorded once, and what is observed in one place is counted once.
    """
    entry = page.entries[index]
    value = f"{where} — {evidence}"
    if any(field.value == value for field in entry.all(CONFIRMED)):
        return PageChange(page, (f"{entry.name}: this confirmation is already recorded",))
    warnings = []
    last = entry.field(LAST)
    if _is_counted(entry, where):
        return PageChange(edits.append_field(page, index, CONFIRMED, value))
    before = values.parse_occasion(last.value if last else None)
    if not _is_later(before, values.parse_occasion(where), completions):
        page = edits.set_field(page, index, LAST, where)
    count = entry.field(COUNT)
    if count is None:
        first = 2 if last or entry.all(PROVENANCE) else 1
        page = edits.set_field(page, index, COUNT, str(first))
    elif (number := values.parse_count(count.value)) is not None:
        page = edits.set_field(page, index, COUNT, values.replace_count(count.value, number + 1))
    else:
        warnings.append(f"{entry.name}: its observation count is not a number and stays unchanged")
    return PageChange(edits.append_field(page, index, CONFIRMED, value), tuple(warnings))


def challenge(page: BankPage, index: int, where: str, evidence: str) -> PageChange:
    """Record that the entry was contradicted; its text stays unchanged."""
    entry = page.entries[index]
    value = f"{where} — {evidence}"
    if any(field.value == value for field in entry.all(CHALLENGED)):
        return PageChange(page, (f"{entry.name}: this challenge is already recorded",))
    return PageChange(edits.append_field(page, index, CHALLENGED, value))


def update(page: BankPage, index: int, where: str, text: str) -> PageChange:
    """Replace the entry's text, and record where that was found to be needed."""
    page = edits.replace_text(page, index, text)
    page = edits.set_field(page, index, LAST, where)
    return PageChange(edits.append_field(page, index, UPDATED, where))


def keep(page: BankPage, index: int, where: str, reason: str) -> PageChange:
    """Record that the entry is still wanted although it is stale."""
    value = f"{where} — {reason}" if reason else where
    return PageChange(edits.append_field(page, index, KEPT, value))


def is_challenged(entry: Entry) -> bool:
    """True if the entry was contradicted and has not been confirmed or updated since."""
    last = {
        name: max((field.line for field in entry.all(name)), default=-1)
        for name in (CHALLENGED, CONFIRMED, UPDATED)
    }
    return last[CHALLENGED] > max(last[CONFIRMED], last[UPDATED])


def _is_counted(entry: Entry, where: str) -> bool:
    """True if the count has an observation from there already: by its place, not its wording."""
    known = [field.value.partition(" — ")[0] for field in entry.all(CONFIRMED)]
    last = entry.field(LAST)
    new = values.parse_occasion(where)
    return any(
        one == where or (new.refs and values.parse_occasion(one).refs == new.refs)
        for one in [*known, *([last.value] if last and entry.field(COUNT) else [])]
    )


def _is_later(before: Occasion, new: Occasion, completions: Completions) -> bool:
    """True if the recorded occasion is later than the new one."""
    if before.kind != new.kind:
        return False
    old_age, new_age = count_since(before, completions), count_since(new, completions)
    return old_age is not None and new_age is not None and old_age < new_age
