"""The outcome of reviews: which reviews count, and what the next reviewer is told."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.errors import InvalidValue
from kedge.host import tokens
from kedge.knowledge.reviews.outcome import (
    describe_result,
    latest_reviews,
    list_unresolved,
    render_outcome,
)
from kedge.knowledge.reviews.records import Claim, Finding, Review, number_review

TREE, OTHER = "a" * 40, "b" * 40


def make_review(result: str = "failed", **values: Any) -> Review:
    values = {"reviewer": "spec-reviewer", "tree": TREE, "iteration": 1, **values}
    return Review(subject="k-1", result=result, **values)


def lines(*reviews: Review, **options: Any) -> list[str]:
    return render_outcome(reviews, **options).splitlines()


def line(review: Review, label: str, **options: Any) -> str:
    """Return the value of one line of the outcome; empty if it has none."""
    found = [one for one in lines(review, **options) if one.startswith(f"- {label}: ")]
    return found[0].removeprefix(f"- {label}: ") if found else ""


@pytest.mark.parametrize(
    ("result", "iteration", "cap", "text"),
    [
        ("failed", 1, 3, "FAILED at iteration 1/3"),
        ("failed", 2, 3, "FAILED at iteration 2/3"),
        ("failed", 3, 3, "FAILED at iteration cap (3/3)"),
        ("failed", 4, 3, "FAILED at iteration cap (4/3)"),
        ("approved", 3, 3, "APPROVED at iteration 3/3"),
        ("approved-with-notes", 1, 3, "APPROVED at iteration 1/3 (with notes)"),
    ],
)
def test_result_is_described_with_iteration_and_cap(
    result: str, iteration: int, cap: int, text: str
) -> None:
    assert describe_result(make_review(result, iteration=iteration, cap=cap)) == text


def test_last_review_of_each_reviewer_counts() -> None:
    first = make_review(tree=OTHER)
    second = make_review("approved", iteration=2)
    security = make_review(reviewer="security-reviewer")
    assert latest_reviews([first, security, second]) == [second, security]
    assert latest_reviews([first, security, second], reviewer="SPEC-reviewer") == [second]
    assert latest_reviews([first], reviewer="nobody") == []
    assert latest_reviews([]) == []
    assert render_outcome([]) == ""


def test_phase_defaults_to_that_of_the_last_review() -> None:
    design = make_review(phase="design")
    other = make_review(phase="design", reviewer="security-reviewer")
    specify = make_review(phase="specify")
    assert latest_reviews([specify, design, other]) == [design, other]
    assert latest_reviews([design, other, specify]) == [specify]
    assert latest_reviews([design, other, specify], phase="design") == [design, other]
    assert latest_reviews([design, specify], phase="create-plan") == []
    assert latest_reviews([design, specify, other], reviewer="spec-reviewer") == [specify]


def test_notes_are_not_unresolved_and_the_worst_come_first() -> None:
    severities = ("minor", "note", "blocker", "major")
    findings = tuple(Finding(f"F{n}", kind, "x") for n, kind in enumerate(severities))
    found = list_unresolved(make_review(findings=findings))
    assert [one.severity for one in found] == ["blocker", "major", "minor"]


def test_issue_names_its_location_once() -> None:
    for text, shown in (
        ("it slips", "it slips (a.py:3)"),
        ("it slips (a.py:3)", "it slips (a.py:3)"),
    ):
        review = make_review(findings=(Finding("F1", "major", text, "a.py:3"),))
        assert line(review, "Unresolved issues") == f"F1 (major): {shown}"
    assert line(make_review("approved"), "Unresolved issues") == "none"
    long = make_review(findings=(Finding("F1", "major", "word " * 100),))
    assert 230 < len(line(long, "Unresolved issues")) < 270


def test_issues_are_cut_at_the_budget_but_one_is_always_shown() -> None:
    findings = tuple(Finding(f"F{n}", "major", "word " * 20) for n in range(30))
    issues = line(make_review(findings=findings), "Unresolved issues")
    shown = issues.count("(major)")
    assert 4 < shown < 12
    assert 180 < tokens.count(issues) < 230
    assert issues.endswith(f"; and {30 - shown} more (kedge review list k-1)")
    far = make_review(findings=(Finding("F1", "major", "x", "a/" * 900 + "b.py:1"), *findings))
    assert line(far, "Unresolved issues").endswith("; and 30 more (kedge review list k-1)")


@pytest.mark.parametrize(
    ("result", "tree", "same", "text"),
    [
        ("approved", None, (), "approved tree aaaaaaaaaaaa"),
        ("approved", TREE, (), "approved tree aaaaaaaaaaaa"),
        ("approved", OTHER, (), "approved tree aaaaaaaaaaaa; the tree is bbbbbbbbbbbb now"),
        ("approved-with-notes", OTHER, (TREE,), "approved tree aaaaaaaaaaaa"),
        ("failed", OTHER, (), ""),
    ],
)
def test_approval_names_its_tree_and_the_current_one_if_it_differs(
    result: str, tree: str | None, same: tuple[str, ...], text: str
) -> None:
    assert line(make_review(result), "Tree", tree=tree, same=same) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"kind": "domain"}, ""),
        ({"kind": "security"}, "not stated"),
        ({"kind": "implementation"}, "not stated"),
        (
            {"kind": "domain", "tools_missing": ("web", "docs")},
            "not stated (web, docs unavailable)",
        ),
        ({"verification": "none"}, "no external claims to verify"),
        ({"verification": "verified", "verified": (Claim("a", "b"),)}, "1 verified"),
        (
            {"verification": "verified", "verified": (Claim("a", "b"),), "unverified": ("c", "d")},
            "1 verified, 2 unverified",
        ),
        (
            {"verification": "unverified", "unverified": ("c",), "tools_missing": ("web",)},
            "unverified, 1 flagged for human review (web unavailable)",
        ),
    ],
)
def test_external_claims_are_reported(values: dict[str, Any], text: str) -> None:
    assert line(make_review(**values), "External claims") == text


# What may be recorded


def test_cap_is_that_of_the_previous_iteration_unless_given() -> None:
    past = [make_review(cap=2)]
    second, _ = number_review(past, make_review(tree=OTHER, iteration=0, cap=5))
    assert (second.iteration, second.cap) == (2, 2)
    third = make_review(tree="c" * 40, iteration=0)
    with pytest.raises(InvalidValue, match="the cap of 2 iterations is reached"):
        number_review([*past, second], third)
    allowed, _ = number_review([*past, second], third, cap=3)
    assert (allowed.iteration, allowed.cap) == (3, 3)
    assert number_review([], make_review(iteration=0))[0].cap == 3


def test_approval_with_an_open_blocker_is_a_warning() -> None:
    blocker, major = Finding("F1", "blocker", "x"), Finding("F2", "major", "y")
    for result in ("approved", "approved-with-notes"):
        _, warnings = number_review([], make_review(result, findings=(blocker, major)))
        assert warnings == ["approved with open blockers: F1"]
        assert number_review([], make_review(result, findings=(major,)))[1] == []
    assert number_review([], make_review("failed", findings=(blocker,)))[1] == []


def test_same_tree_is_refused_to_the_same_reviewer_only() -> None:
    past = [make_review()]
    with pytest.raises(InvalidValue, match="has reviewed this tree already"):
        number_review(past, make_review(iteration=0))
    assert number_review(past, make_review(iteration=0, reviewer="other"))[0].iteration == 1
    between = [*past, make_review(tree=OTHER, iteration=2)]
    assert number_review(between, make_review(iteration=0))[0].iteration == 3
