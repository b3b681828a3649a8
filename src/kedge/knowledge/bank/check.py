"""Check a knowledge bank: stale, duplicate and incomplete entries, drifted and lost anchors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kedge.host.text import count_noun
from kedge.knowledge.bank import similarity, titles
from kedge.knowledge.bank.anchors import DRIFTED, ORPHANED
from kedge.knowledge.bank.bank import Bank
from kedge.knowledge.bank.entries import Entry
from kedge.knowledge.bank.fields import COUNT, LAST
from kedge.knowledge.bank.staleness import STALE, UNKNOWN, assess_staleness
from kedge.knowledge.bank.view import printable

_NAMED = 5  # entries listed in a warning
_ANCHOR_STATES = {DRIFTED: "has changed since it was written", ORPHANED: "is gone"}
_HINTS = {
    STALE: "kedge knowledge confirm, challenge or retire it; stale --keep puts it off",
    DRIFTED: "check whether it still holds: kedge knowledge confirm, challenge or retire it",
    ORPHANED: "kedge knowledge confirm --at NEW anchors it again; retire removes it",
}


@dataclass(frozen=True, slots=True)
class AgingEntry:
    """An entry that is stale, or whose anchor has changed or is gone."""

    entry: Entry
    state: str
    why: str


@dataclass(frozen=True, slots=True)
class Defect:
    kind: str
    name: str
    file: str
    line: int
    message: str
    hint: str


def find_aging(bank: Bank, after: int) -> list[AgingEntry]:
    """Return the entries that are stale, or whose anchors have changed or are gone."""
    aging = []
    for entry in (one.entry for one in bank.entries()):
        staleness = assess_staleness(entry, bank.completions, after)
        if staleness.state == STALE:
            aging.append(AgingEntry(entry, STALE, staleness.why))
        for anchor, state in bank.anchor_states(entry):
            if state in _ANCHOR_STATES:
                aging.append(AgingEntry(entry, state, f"{anchor.place} {_ANCHOR_STATES[state]}"))
    return aging


def find_defects(bank: Bank, after: int) -> tuple[list[Defect], list[str]]:
    """Return the defects, and a warning for entries whose age is unknown."""
    every = [one.entry for one in bank.entries()]
    defects = [*_find_duplicates(every), *_find_similar(every)]
    defects += [defect for entry in every for defect in _check_metadata(entry)]
    for one in find_aging(bank, after):
        message = f"stale: {one.why}" if one.state == STALE else one.why
        defects.append(_defect(one.state, one.entry, message, _HINTS[one.state]))
    defects.sort(key=lambda one: (one.file, one.line, one.kind))
    states = ((entry, assess_staleness(entry, bank.completions, after).state) for entry in every)
    unknown = [printable(entry.name) for entry, state in states if state == UNKNOWN]
    names = ", ".join(unknown[:_NAMED]) + (" …" if len(unknown) > _NAMED else "")
    entries = count_noun(len(unknown), "entry", "entries")
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


def _defect(kind: str, entry: Entry, message: str, hint: str) -> Defect:
    return Defect(kind, printable(entry.name), entry.file, entry.line + 1, message, hint)
