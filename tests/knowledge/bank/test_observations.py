"""Observations: what a confirmation, a challenge and keeping write to an entry."""

from __future__ import annotations

import pytest

from kedge.knowledge.bank import entries, observations
from kedge.knowledge.bank.completions import Completion, Completions
from kedge.knowledge.bank.entries import BankPage

COMPLETIONS = Completions(
    (Completion("002-b", "2025-01-02"), Completion("001-a", "2025-01-03")), ("001-a", "002-b")
)


def make_page(*metadata: str) -> BankPage:
    lines = "".join(f"- {line}\n" for line in metadata)
    return entries.parse_page(f"### Pattern: Knots\nText.\n{lines}", "patterns.md")


def metadata(page: BankPage) -> list[str]:
    return [line.removeprefix("- ").rstrip() for line in page.lines[2:]]


@pytest.mark.parametrize(
    ("before", "where", "last"),
    [
        ("Feature #002", "Feature #001", "Feature #001"),  # 1 was finished after 2
        ("Feature #001", "Feature #002", "Feature #001"),
        ("Feature #1", "Feature #001", "Feature #001"),  # the same one
        ("once", "Feature #002", "Feature #002"),
        ("2025-12-31", "Feature #002", "Feature #002"),  # not comparable: the new one counts
        ("Task k-9", "Task k-8", "Task k-8"),
    ],
)
def test_last_observed_is_never_set_back(before: str, where: str, last: str) -> None:
    page = make_page(f"Last observed: {before}", "Observation count: 1")
    after = observations.confirm(page, 0, where, "seen", COMPLETIONS)
    assert metadata(after.page) == [
        f"Last observed: {last}",
        "Observation count: 2",
        f"Confirmed: {where} — seen",
    ]
    assert after.warnings == ()


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        (["Observation count: 4 times"], "5 times"),
        (["Observation count: 0"], "1"),
        (["Observed in: Feature #001"], "2"),
        (["Last observed: Feature #001"], "2"),
        (["Confidence: high"], "1"),
    ],
)
def test_confirmation_raises_the_count_or_starts_it(fields: list[str], count: str) -> None:
    after = observations.confirm(make_page(*fields), 0, "Feature #001", "seen", COMPLETIONS)
    assert f"Observation count: {count}" in metadata(after.page)


def test_recorded_observation_is_a_warning_and_changes_nothing() -> None:
    page = make_page("Confirmed: Feature #001 — seen", "Challenged: Feature #001 — not so")
    confirmed = observations.confirm(page, 0, "Feature #001", "seen", COMPLETIONS)
    challenged = observations.challenge(page, 0, "Feature #001", "not so")
    assert confirmed.page is page
    assert challenged.page is page
    assert confirmed.warnings == ("Knots: this confirmation is already recorded",)
    assert challenged.warnings == ("Knots: this challenge is already recorded",)
    other = observations.challenge(page, 0, "Feature #001", "not at all")
    assert metadata(other.page)[-1] == "Challenged: Feature #001 — not at all"


@pytest.mark.parametrize(("reason", "value"), [("", "Task k-1"), ("why", "Task k-1 — why")])
def test_keeping_adds_a_line_and_nothing_else(reason: str, value: str) -> None:
    page = make_page("Last observed: Feature #001", "Observation count: 1")
    after = observations.keep(page, 0, "Task k-1", reason)
    assert metadata(after.page) == [*metadata(page), f"Kept: {value}"]
