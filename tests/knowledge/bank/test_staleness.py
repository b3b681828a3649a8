"""Staleness: how much was finished since an entry was last observed, as a function of values."""

from __future__ import annotations

import pytest

from kedge.knowledge.bank import entries
from kedge.knowledge.bank.completions import Completion, Completions
from kedge.knowledge.bank.entries import Entry
from kedge.knowledge.bank.staleness import (
    Staleness,
    assess_staleness,
    count_since,
    infer_observation,
)
from kedge.knowledge.bank.values import parse_occasion

# Finished in the order 1, 2, 4, 3; 5 is in progress, 6 was abandoned before 4 was finished.
FEATURES = Completions(
    features=(
        Completion("001-rope", "2025-01-10T09:00:00"),
        Completion("002-knot", "2025-01-20T09:00:00"),
        Completion("004-sail", "2025-01-30T09:00:00"),
        Completion("003-mast", "2025-02-10T09:00:00"),
    ),
    folders=("001-rope", "002-knot", "003-mast", "004-sail", "005-oar", "006-gone"),
    dropped={"006-gone": "2025-01-25T00:00:00"},
    renamed={"017-line": "001-rope"},
)
TASKS = Completions(
    tasks=(
        Completion("k-1", "2025-01-01T00:00:00"),
        Completion("k-2", "2025-01-02T00:00:00"),
        Completion("k-3", "2025-01-03T00:00:00"),
    ),
    open_tasks=frozenset({"k-4"}),
)


def make_entry(*metadata: str) -> Entry:
    lines = "".join(f"- {line}\n" for line in metadata)
    (entry,) = entries.parse_page(f"### Pattern: Knots\nText.\n{lines}", "patterns.md").entries
    return entry


@pytest.mark.parametrize(
    ("value", "age"),
    [
        ("Feature #003", 0),
        ("Feature #004", 1),
        ("Feature #001", 3),
        ("Features #001, #004", 1),  # the latest of several
        ("Feature #005", 0),  # in progress
        ("Feature #006", 2),  # abandoned: what was finished after that
        ("Feature #017", 3),  # a former number
        ("Feature #099", 0),  # no such folder: by its number
        ("Feature #0", 4),
        ("feature knot", 2),
        ("feature anchor", None),
        ("2025-01-20", 2),  # finished on that day is not after it
        ("2025-01-19", 3),
        ("2024-12-31", 4),
        ("Feature #001 on 2025-02-28", 3),  # the feature is more exact than the day
        ("feature anchor-9, 2025-01-20", 2),  # else the day
        ("Task k-1", None),  # tasks are not known here
        ("Task k-1 on 2025-01-20", 2),
        ("last spring", None),
    ],
)
def test_age_counts_what_was_finished_after_a_feature_or_day(value: str, age: int | None) -> None:
    assert count_since(parse_occasion(value), FEATURES) == age


@pytest.mark.parametrize(
    ("value", "age"),
    [
        ("Task k-1", 2),
        ("Task k-3", 0),
        ("Tasks k-1, task k-2", 1),
        ("Task k-4", 0),  # open
        ("Task k-9", None),
        ("2025-01-02", 1),
        ("Feature #001", None),
    ],
)
def test_without_features_age_counts_finished_tasks(value: str, age: int | None) -> None:
    assert count_since(parse_occasion(value), TASKS) == age


def test_age_of_a_day_is_unknown_if_a_completion_has_no_date() -> None:
    undated = Completions(
        features=(Completion("001-a", "2025-01-01T00:00:00"), Completion("002-b")),
        folders=("001-a", "002-b"),
    )
    assert count_since(parse_occasion("2024-01-01"), undated) is None
    assert count_since(parse_occasion("Feature #001"), undated) == 1


def test_abandoned_feature_without_a_date_goes_by_its_number() -> None:
    features = (Completion("001-a"), Completion("003-b"))
    completions = Completions(features, ("001-a", "002-x", "003-b"), dropped={"002-x": ""})
    assert count_since(parse_occasion("Feature #002"), completions) == 1
    named = Completions((Completion("rope"), Completion("003-b")), ("rope", "003-b"))
    assert count_since(parse_occasion("Feature #0"), named) == 1  # a name has no number


def test_feature_finished_when_another_was_abandoned_does_not_age_it() -> None:
    when = "2025-01-01T00:00:00"
    completions = Completions(
        (Completion("001-a", when),), ("001-a", "002-x"), dropped={"002-x": when}
    )
    assert count_since(parse_occasion("Feature #002"), completions) == 0


@pytest.mark.parametrize(
    ("after", "state"), [(2, "stale"), (3, "stale"), (4, "fresh"), (10, "fresh")]
)
def test_entry_is_stale_from_the_limit_on(after: int, state: str) -> None:
    entry = make_entry("Last observed: Feature #001")
    found = assess_staleness(entry, FEATURES, after)
    assert (found.state, found.age) == (state, 3)


@pytest.mark.parametrize(
    ("kept", "state"),
    [
        ("Feature #004 — still true", "fresh"),
        ("Feature #002 — still true", "stale"),  # as long ago as the limit
        ("Feature #001 — still true", "stale"),
        ("whenever — still true", "stale"),
    ],
)
def test_kept_entry_is_fresh_until_the_limit_is_reached_again(kept: str, state: str) -> None:
    entry = make_entry("Last observed: Feature #001", "Kept: Feature #001 — a", f"Kept: {kept}")
    assert assess_staleness(entry, FEATURES, 2).state == state


def test_reason_of_each_state() -> None:
    assert assess_staleness(make_entry("Confidence: high"), FEATURES, 10) == Staleness(
        "missing", None, "does not say when it was last observed"
    )
    for value, why in (
        ("Task k-9", "no such feature or task to count from"),
        ("once", "no feature, task or date"),
    ):
        found = assess_staleness(make_entry(f"Last observed: {value}"), FEATURES, 10)
        assert found == Staleness("unknown", None, f"{value}: {why}")
    fresh = make_entry("Last observed: Feature #004")
    assert assess_staleness(fresh, FEATURES, 10) == Staleness("fresh", 1, "1 finished since")
    assert assess_staleness(fresh, FEATURES, 1).why == "1 finished since Feature #004"
    kept = make_entry("Last observed: Feature #004", "Kept: Feature #003")
    assert assess_staleness(kept, FEATURES, 1).why == "1 finished since; kept"


NON_NUMERIC = "(approximate — original provenance was non-numeric)"
NOT_GIVEN = "(approximate — no provenance was given)"


@pytest.mark.parametrize(
    ("provenance", "last", "count"),
    [
        ("Feature #002", "Feature #002", 1),
        ("Features #004, #003", "Feature #003", 2),  # 3 was finished after 4
        ("Features #003, #005", "Feature #005", 2),  # one in progress is the latest
        ("Features #003, #099", "Feature #003", 2),  # unknown ones come first
        ("Features #098, #099", "Feature #099", 2),
        ("Task k-1, task k-2", "Task k-2", 2),
        ("feature knot", f"Feature #003 {NON_NUMERIC}", 1),
        ("a bug", f"Feature #003 {NON_NUMERIC}", 1),
        ("a bug of 2025-01-20", f"Feature #002 {NON_NUMERIC}", 1),
        ("a bug of 2025-01-19", f"Feature #001 {NON_NUMERIC}", 1),
        ("a bug of 2020-01-01", f"Feature #001 {NON_NUMERIC}", 1),  # before all of them
        ("", f"Feature #003 {NOT_GIVEN}", 1),
    ],
)
def test_observation_is_inferred_from_the_provenance(
    provenance: str, last: str, count: int
) -> None:
    entry = make_entry(f"Observed in: {provenance}" if provenance else "Confidence: low")
    assert infer_observation(entry, FEATURES, "2025-03-01") == (last, count)


def test_without_features_the_inferred_observation_is_a_day() -> None:
    for provenance, day in (("a bug of 2025-01-20", "2025-01-20"), ("a bug", "2025-03-01")):
        entry = make_entry(f"Observed in: {provenance}")
        assert infer_observation(entry, TASKS, "2025-03-01") == (f"{day} {NON_NUMERIC}", 1)
    named = Completions((Completion("rope", "2025-01-01"),), ("rope",))
    assert infer_observation(entry, named, "2025-03-01") == (f"2025-03-01 {NON_NUMERIC}", 1)
