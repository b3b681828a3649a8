"""What is wrong with a knowledge bank."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.host.record import NamedTuple
from kedge.knowledge import anchors, observe, similar, titles
from kedge.knowledge.bank import Bank
from kedge.knowledge.entries import Entry
from kedge.knowledge.fields import COUNT, LAST
from kedge.knowledge.view import plain

_NAMED = 5  # entries that a warning names


class Finding(NamedTuple):
    kind: str
    name: str
    file: str
    line: int
    message: str
    hint: str


def check(bank: Bank, after: int) -> tuple[list[Finding], list[str]]:
    """What was found, and what cannot be told, which is no finding."""
    every = [one.entry for one in bank.found()]
    found = [*_twice(every), *_near(every)]
    unknown = []
    for entry in every:
        found += _metadata(entry)
        stand = observe.standing(entry, bank.clock, after)
        if stand.state == observe.STALE:
            hint = "kedge knowledge confirm, challenge or retire it; stale --keep puts it off"
            found.append(_finding("stale", entry, f"stale: {stand.why}", hint))
        elif stand.state == observe.UNKNOWN:
            unknown.append(plain(entry.name))
        found += _anchors(bank, entry)
    found.sort(key=lambda one: (one.file, one.line, one.kind))
    names = ", ".join(unknown[:_NAMED]) + (" …" if len(unknown) > _NAMED else "")
    told = f"how old {len(unknown)} of the entries are is not known: {names}"
    return found, [told] if unknown else []


def _twice(every: list[Entry]) -> Iterator[Finding]:
    first: dict[str, Entry] = {}
    for entry in every:
        other = first.setdefault(titles.key(entry.name), entry)
        if other is not entry:
            where = f"{other.file}:{other.line + 1}"
            hint = "join the two, or kedge knowledge retire one"
            yield _finding("duplicate", entry, f"the same name as {where}", hint)


def _near(every: list[Entry]) -> Iterator[Finding]:
    for pair in similar.pairs(every):
        one, other = every[pair.one], every[pair.other]
        where = f"{one.file}:{one.line + 1} ({plain(one.name)})"
        hint = "join the two, or say how they differ"
        yield _finding("near-duplicate", other, f"says much the same as {where}", hint)


def _metadata(entry: Entry) -> Iterator[Finding]:
    missing = [name for name in (LAST, COUNT) if not entry.value(name)]
    if missing:
        message = f"has no {' and no '.join(missing)}"
        yield _finding("no-metadata", entry, message, "kedge knowledge backfill adds them")


def _anchors(bank: Bank, entry: Entry) -> Iterator[Finding]:
    for anchor, state in bank.states(entry):
        if state == anchors.DRIFTED:
            hint = "see whether it still holds: kedge knowledge confirm, challenge or retire it"
            message = f"{anchor.place} has changed since it was written"
            yield _finding("drifted", entry, message, hint)
        elif state == anchors.ORPHANED:
            hint = "kedge knowledge confirm --at NEW anchors it anew, retire takes it out"
            yield _finding("orphaned", entry, f"{anchor.place} is gone", hint)


def _finding(kind: str, entry: Entry, message: str, hint: str) -> Finding:
    return Finding(kind, plain(entry.name), entry.file, entry.line + 1, message, hint)
