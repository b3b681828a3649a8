"""Check a knowledge bank: stale, duplicate and incomplete entries, drifted and lost anchors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kedge.knowledge.bank import anchors, similarity, titles
from kedge.knowledge.bank.bank import Bank
from kedge.knowledge.bank.entries import Entry
from kedge.knowledge.bank.fields import COUNT, LAST
from kedge.knowledge.bank.staleness import STALE, UNKNOWN, assess_staleness
from kedge.knowledge.bank.view import printable

_NAMED = 5  # entries listed in a warning


@dataclass(frozen=True, slots=True)
class Defect:
    kind: str
    name: str
    file: str
    line: int
    message: str
    hint: str


def find_defects(bank: Bank, after: int) -> tuple[list[Defect], list[str]]:
    """Return the defects, and a warning for entries whose age is unknown."""
    every = [one.entry for one in bank.entries()]
    defects = [*_find_duplicates(every), *_find_similar(every)]
    unknown = []
    for entry in every:
        defects += _check_metadata(entry)
        staleness = assess_staleness(entry, bank.completions, after)
        if staleness.state == STALE:
            hint = "kedge knowledge confirm, challenge or retire it; stale --keep puts it off"
            defects.append(_defect("stale", entry, f"stale: {staleness.why}", hint))
        elif staleness.state == UNKNOWN:
            unknown.append(printable(entry.name))
        defects += _check_anchors(bank, entry)
    defects.sort(key=lambda one: (one.file, one.line, one.kind))
    names = ", ".join(unknown[:_NAMED]) + (" …" if len(unknown) > _NAMED else "")
    entries = "1 entry" if len(unknown) == 1 else f"{len(unknown)} entries"
    return defects, [f"the age of {entries} is unknown: {names}"] if unknown else []


def _find_duplicates(every: list[Entry]) -> Iterator[Defect]:
    first: dict[str, Entry] = {}
    for entry in every:
        other = first.setdefault(titles.name_key(entry.name), entry)
        if other is not entry:
            where = f"{other.file}:{other.line + 1}"
            hint = "merge the two, or kedge knowledge retire one"
            yield _defect("duplicate", entry, f"the same name as {where}", hint)


def _find_similar(every: list[Entry]) -> Iterator[Defect]:
    for one, other in similarity.find_pairs(every):
        where = f"{one.file}:{one.line + 1} ({printable(one.name)})"
        hint = "merge the two, or say how they differ"
        yield _defect("near-duplicate", other, f"is similar to {where}", hint)


def _check_metadata(entry: Entry) -> Iterator[Defect]:
    missing = [name for name in (LAST, COUNT) if not entry.value(name)]
    if missing:
        message = f"has no {' and no '.join(missing)}"
        yield _defect("no-metadata", entry, message, "kedge knowledge backfill adds them")


def _check_anchors(bank: Bank, entry: Entry) -> Iterator[Defect]:
    for anchor, state in bank.anchor_states(entry):
        if state == anchors.DRIFTED:
            hint = "check whether it still holds: kedge knowledge confirm, challenge or retire it"
            message = f"{anchor.place} has changed since it was written"
            yield _defect("drifted", entry, message, hint)
        elif state == anchors.ORPHANED:
            hint = "kedge knowledge confirm --at NEW anchors it again; retire removes it"
            yield _defect("orphaned", entry, f"{anchor.place} is gone", hint)


def _defect(kind: str, entry: Entry, message: str, hint: str) -> Defect:
    return Defect(kind, printable(entry.name), entry.file, entry.line + 1, message, hint)
