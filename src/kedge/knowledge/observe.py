"""The rules of observing: what a confirmation, a challenge and their absence do to an entry.

An observation names the feature or task it was made in and its evidence, and adds to what is
there. To keep an entry is not to observe it: that only puts off the question whether it is stale.
"""

from __future__ import annotations

from kedge.host.record import NamedTuple
from kedge.knowledge import edit, values
from kedge.knowledge.entries import Entry, Page
from kedge.knowledge.fields import CHALLENGED, CONFIRMED, COUNT, KEPT, LAST, PROVENANCE
from kedge.knowledge.finished import Clock, Finished, number_of
from kedge.knowledge.values import Seen

STALE_AFTER = 10  # finished features, or tasks
FRESH, STALE, UNKNOWN, NONE = "fresh", "stale", "unknown", "missing"
_NON_NUMERIC = "(approximate — original provenance was non-numeric)"
_NOT_GIVEN = "(approximate — no provenance was given)"


class Standing(NamedTuple):
    """How an entry stands: its state, and how much was finished since it was last observed."""

    state: str
    age: int | None
    why: str


class Changed(NamedTuple):
    page: Page
    warnings: tuple[str, ...] = ()


def confirm(page: Page, at: int, where: str, evidence: str, clock: Clock) -> Changed:
    """The entry was seen to hold. What is recorded already is not counted again."""
    entry = page.entries[at]
    told = f"{where} — {evidence}"
    if any(field.value == told for field in entry.all(CONFIRMED)):
        return Changed(page, (f"{entry.name}: this was recorded already",))
    warnings = []
    last = entry.field(LAST)
    before = values.seen(last.value) if last else Seen(values.MISSING)
    if not _is_later(before, values.seen(where), clock):
        page = edit.with_value(page, at, LAST, where)
    count = entry.field(COUNT)
    if count is None:
        page = edit.with_value(page, at, COUNT, str(2 if last or entry.all(PROVENANCE) else 1))
    elif (number := values.count(count.value)) is not None:
        page = edit.with_value(page, at, COUNT, values.counted(count.value, number + 1))
    else:
        warnings.append(f"{entry.name}: its observation count is no number, and stays as it is")
    return Changed(edit.with_more(page, at, CONFIRMED, told), tuple(warnings))


def challenge(page: Page, at: int, where: str, evidence: str) -> Changed:
    """The entry was contradicted: that is recorded beside it, and its text stays."""
    entry = page.entries[at]
    told = f"{where} — {evidence}"
    if any(field.value == told for field in entry.all(CHALLENGED)):
        return Changed(page, (f"{entry.name}: this was recorded already",))
    return Changed(edit.with_more(page, at, CHALLENGED, told))


def keep(page: Page, at: int, where: str, reason: str) -> Changed:
    """Somebody wants the entry although nobody has observed it for long."""
    return Changed(edit.with_more(page, at, KEPT, f"{where} — {reason}" if reason else where))


def standing(entry: Entry, clock: Clock, after: int = STALE_AFTER) -> Standing:
    last = entry.field(LAST)
    if last is None or not last.value.strip():
        return Standing(NONE, None, "does not say when it was last observed")
    since = age(values.seen(last.value), clock)
    if since is None:
        gone = values.seen(last.value).kind in (values.FEATURE, values.TASK)
        why = "there is none here to count from" if gone else "no feature, task or date"
        return Standing(UNKNOWN, None, f"{last.value}: {why}")
    if since < after:
        return Standing(FRESH, since, f"{since} finished since")
    kept = [age(values.seen(field.value), clock) for field in entry.all(KEPT)]
    if any(one is not None and one < after for one in kept):
        return Standing(FRESH, since, f"{since} finished since; kept")
    return Standing(STALE, since, f"{since} finished since {last.value}")


def age(seen: Seen, clock: Clock) -> int | None:
    """How much was finished after what was seen; None where that cannot be told."""
    if seen.kind == values.FEATURE:
        ages = [found for ref in seen.refs if (found := _since(ref, clock)) is not None]
        if not ages and seen.day:
            return _after(seen.day, clock)
        return min(ages, default=None)
    if seen.kind == values.TASK:
        order = [one.id for one in clock.tasks]
        ages = [len(order) - 1 - order.index(ref) for ref in seen.refs if ref in order]
        ages += [0 for ref in seen.refs if ref in clock.open_tasks]
        if not ages and seen.day:
            return _after(seen.day, clock)
        return min(ages, default=None)
    return _after(seen.day, clock) if seen.kind == values.DATE else None


def provenance(entry: Entry, clock: Clock, near: str, today: str) -> tuple[str, int]:
    """What `Last observed` and the count are, going by where the entry was first seen.

    `near` is the day on which the entry was written, or empty where that is not known.
    """
    first = values.seen(entry.value(PROVENANCE) or None)
    number = max(len(first.refs), 1)
    if first.kind == values.FEATURE and all(number_of(ref) is not None for ref in first.refs):
        return f"Feature #{_latest(first.refs, clock)}", number
    if first.kind == values.TASK:
        return f"Task {first.refs[-1]}", number
    day = first.day or near
    note = _NOT_GIVEN if first.kind == values.MISSING else _NON_NUMERIC
    return f"{_about(day, clock) or day or today} {note}", 1


def label(folder: str) -> str:
    """A feature as it is written in an entry."""
    digits = folder.partition("-")[0]
    return f"Feature #{digits}" if digits.isdecimal() else f"Feature {folder}"


def _about(day: str, clock: Clock) -> str:
    """The feature that was finished last by then; the last of all where the day is not known."""
    before = [one for one in clock.features if not day or (one.when and one.when[:10] <= day)]
    numbered = [one for one in before or clock.features[:1] if number_of(one.id) is not None]
    return label(numbered[-1].id) if numbered else ""


def _latest(refs: tuple[str, ...], clock: Clock) -> str:
    order = [one.id for one in clock.features]

    def place(ref: str) -> tuple[int, int]:
        folder = clock.folder(ref)
        known = order.index(folder) if folder in order else len(order) if folder else -1
        return known, number_of(ref) or 0

    return max(refs, key=place)


def _since(ref: str, clock: Clock) -> int | None:
    folder = clock.folder(ref)
    order = [one.id for one in clock.features]
    if folder in order:
        return len(order) - 1 - order.index(folder)
    if folder is not None and folder not in clock.dropped:
        return 0  # it is being worked on
    if folder is not None and (when := clock.dropped[folder]):
        return sum(one.when > when for one in clock.features)
    number = number_of(ref)
    if number is None or not order:
        return None
    return sum((number_of(one) or 0) > number for one in order)  # there is no better clock


def _after(day: str, clock: Clock) -> int | None:
    finished = clock.features if clock.folders else clock.tasks
    dated: list[Finished] = [one for one in finished if one.when]
    if len(dated) < len(finished):
        return None
    return sum(one.when[:10] > day for one in dated)


def _is_later(before: Seen, new: Seen, clock: Clock) -> bool:
    """Whether what was seen before was seen after the new."""
    if before.kind != new.kind:
        return False
    one, other = age(before, clock), age(new, clock)
    return one is not None and other is not None and one < other
