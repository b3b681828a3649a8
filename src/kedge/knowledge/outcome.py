"""The outcome of reviews, as the block that the next reviewer's prompt gets."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kedge.host import tokens
from kedge.host.text import shortened
from kedge.knowledge.review_words import FAILED, NOTE, SEVERITIES, WITH_NOTES
from kedge.knowledge.reviews import (
    IMPLEMENTATION,
    NO_CLAIMS,
    NOT_STATED,
    SECURITY,
    UNVERIFIED,
    VERIFIED,
    Finding,
    Review,
)

TOKENS = 200  # of the unresolved issues
_SHOWN = 240  # characters of an issue
_TREE = 12  # digits of a tree


def block(
    reviews: Sequence[Review],
    *,
    phase: str | None = None,
    reviewer: str | None = None,
    tree: str | None = None,
    same: Collection[str] = (),
    budget: int = TOKENS,
) -> str:
    """The outcome of the last review of each reviewer; nothing where there was none.

    Without a phase it is that of the last review. `tree` is that of the working tree now, and
    `same` are others that count as that.
    """
    found = standing(reviews, phase=phase, reviewer=reviewer)
    return "\n".join(_block(one, None if one.tree in same else tree, budget) for one in found)


def standing(
    reviews: Sequence[Review], *, phase: str | None = None, reviewer: str | None = None
) -> list[Review]:
    """The reviews that count: the last of each reviewer in the phase."""
    name = reviewer.casefold() if reviewer is not None else None
    mine = [one for one in reviews if name in (None, one.reviewer.casefold())]
    if not mine:
        return []
    wanted = phase if phase is not None else mine[-1].phase
    return list({one.series: one for one in mine if one.phase == wanted}.values())


def result(review: Review) -> str:
    """The result in words, with the iteration and how many there may be."""
    count = f"{review.iteration}/{review.cap}"
    if review.result == FAILED:
        at_cap = review.iteration >= review.cap
        return f"FAILED at iteration cap ({count})" if at_cap else f"FAILED at iteration {count}"
    notes = " (with notes)" if review.result == WITH_NOTES else ""
    return f"APPROVED at iteration {count}{notes}"


def unresolved(review: Review) -> list[Finding]:
    """What is left to do by the review, the worst first. Notes are not."""
    left = [one for one in review.findings if one.severity != NOTE]
    return sorted(left, key=lambda one: SEVERITIES.index(one.severity))


def _block(review: Review, tree: str | None, budget: int) -> str:
    lines = [
        "## Domain Reviewer Outcome",
        f"- Reviewer: {review.reviewer}",
        f"- Result: {result(review)}",
        f"- Unresolved issues: {_issues(review, budget)}",
    ]
    if review.approved:
        changed = tree is not None and tree != review.tree
        now = f"; the tree is {(tree or '')[:_TREE]} now" if changed else ""
        lines.append(f"- Tree: approved tree {review.tree[:_TREE]}{now}")
    claims = _claims(review)
    if claims:
        lines.append(f"- External claims: {claims}")
    return "\n".join(lines) + "\n"


def _issues(review: Review, budget: int) -> str:
    left = unresolved(review)
    shown: list[str] = []
    for one in left:
        line = _issue(one)
        if shown and tokens.count("; ".join([*shown, line])) > budget:
            break
        shown.append(line)
    if len(shown) < len(left):
        shown.append(f"and {len(left) - len(shown)} more (kedge review list {review.subject})")
    return "; ".join(shown) or "none"


def _issue(one: Finding) -> str:
    place = f" ({one.location})" if one.location and one.location not in one.text else ""
    return f"{one.id} ({one.severity}): {shortened(one.text, _SHOWN)}{place}"


def _claims(review: Review) -> str:
    """What became of claims about the world outside, where that has to be said."""
    missing = f" ({', '.join(review.tools_missing)} unavailable)" if review.tools_missing else ""
    if review.verification == VERIFIED:
        more = f", {len(review.unverified)} unverified" if review.unverified else ""
        return f"{len(review.verified)} verified{more}{missing}"
    if review.verification == UNVERIFIED:
        return f"unverified, {len(review.unverified)} flagged for human review{missing}"
    if review.verification == NO_CLAIMS:
        return "no external claims to verify"
    if review.verification == NOT_STATED and (missing or review.kind in (SECURITY, IMPLEMENTATION)):
        return f"not stated{missing}"
    return ""
