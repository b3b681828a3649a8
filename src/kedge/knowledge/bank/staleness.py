"""Which entries are stale: how many features or tasks were finished since the last observation."""

from __future__ import annotations

from dataclasses import dataclass

from kedge.knowledge.bank import values
from kedge.knowledge.bank.completions import Completions
from kedge.knowledge.bank.entries import Entry
from kedge.knowledge.bank.fields import KEPT, LAST, PROVENANCE
from kedge.knowledge.bank.values import Occasion
from kedge.knowledge.feature_folders import feature_label, feature_number

FRESH, STALE, UNKNOWN, MISSING = "fresh", "stale", "unknown", "missing"
_NON_NUMERIC = "(approximate — original provenance was non-numeric)"
_NOT_GIVEN = "(approximate — no provenance was given)"


@dataclass(frozen=True, slots=True)
class Staleness:
    """An entry's state, and how much was finished since it was last observed."""

    state: str
    age: int | None
    why: str


def assess_staleness(entry: Entry, completions: Completions, after: int) -> Staleness:
    """Return STALE if `after` were finished since the entry was last observed or kept."""
    last = entry.field(LAST)
    if last is None or not last.value.strip():
        return Staleness(MISSING, None, "does not say when it was last observed")
    occasion = values.parse_occasion(last.value)
    age = count_since(occasion, completions)
    if age is None:
        known = occasion.kind in (values.FEATURE, values.TASK)
        why = "no such feature or task to count from" if known else "no feature, task or date"
        return Staleness(UNKNOWN, None, f"{last.value}: {why}")
    if age < after:
        return Staleness(FRESH, age, f"{age} finished since")
    kept = [
        count_since(values.parse_occasion(field.value), completions) for field in entry.all(KEPT)
    ]
    if any(one is not None and one < after for one in kept):
        return Staleness(FRESH, age, f"{age} finished since; kept")
    return Staleness(STALE, age, f"{age} finished since {last.value}")


def count_since(occasion: Occasion, completions: Completions) -> int | None:
    """Return how much was finished after the occasion; None if that cannot be determined."""
    if occasion.kind == values.DATE:
        return _count_after(occasion.day, completions)
    if occasion.kind == values.FEATURE:
        ages = [_count_since_feature(ref, completions) for ref in occasion.refs]
    elif occasion.kind == values.TASK:
        ages = [_count_since_task(ref, completions) for ref in occasion.refs]
    else:
        return None
    known = [age for age in ages if age is not None]
    if not known and occasion.day:
        return _count_after(occasion.day, completions)
    return min(known, default=None)


def infer_observation(entry: Entry, completions: Completions, today: str) -> tuple[str, int]:
    """Infer `Last observed` and the observation count from the entry's provenance."""
    first = values.parse_occasion(entry.value(PROVENANCE) or None)
    number = max(len(first.refs), 1)
    if first.kind == values.FEATURE and all(feature_number(ref) is not None for ref in first.refs):
        return f"Feature #{_latest(first.refs, completions)}", number
    if first.kind == values.TASK:
        return f"Task {first.refs[-1]}", number
    note = _NOT_GIVEN if first.kind == values.MISSING else _NON_NUMERIC
    return f"{_feature_finished_by(first.day, completions) or first.day or today} {note}", 1


def _count_since_feature(ref: str, completions: Completions) -> int | None:
    folder = completions.folder(ref)
    order = [one.id for one in completions.features]
    if folder in order:
        return len(order) - 1 - order.index(folder)
    if folder is not None and folder not in completions.dropped:
        return 0  # it is in progress
    if folder is not None and (when := completions.dropped[folder]):
        return sum(one.when > when for one in completions.features)
    number = feature_number(ref)
    if number is None or not order:
        return None
    # Without a folder or a date, only the numbers tell the order.
    return sum((feature_number(one) or 0) > number for one in order)


def _count_since_task(ref: str, completions: Completions) -> int | None:
    order = [one.id for one in completions.tasks]
    if ref in completions.open_tasks:
        return 0
    return len(order) - 1 - order.index(ref) if ref in order else None


def _count_after(day: str, completions: Completions) -> int | None:
    finished = completions.features if completions.folders else completions.tasks
    if not all(one.when for one in finished):
        return None
    return sum(one.when[:10] > day for one in finished)


def _feature_finished_by(day: str, completions: Completions) -> str:
    """Return the last feature finished by the day; the last of all if the day is not known."""
    features = completions.features
    before = [one for one in features if not day or (one.when and one.when[:10] <= day)]
    numbered = [one for one in before or features[:1] if feature_number(one.id) is not None]
    return feature_label(numbered[-1].id) if numbered else ""


def _latest(refs: tuple[str, ...], completions: Completions) -> str:
    """Return the feature that was finished last; one in progress is later than all of them."""
    order = [one.id for one in completions.features]

    def position(ref: str) -> tuple[int, int]:
        folder = completions.folder(ref)
        known = order.index(folder) if folder in order else len(order) if folder else -1
        return known, feature_number(ref) or 0

    return max(refs, key=position)
