"""The outcome of the latest reviews, as a block for the next reviewer's prompt."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kedge.host import tokens
from kedge.host.text import shorten
from kedge.knowledge.reviews.records import (
    IMPLEMENTATION,
    NO_CLAIMS,
    NOT_STATED,
    SECURITY,
    UNVERIFIED,
    VERIFIED,
    Finding,
    Review,
)
from kedge.knowledge.reviews.vocabulary import FAILED, NOTE, SEVERITIES, WITH_NOTES

_MAX_TOKENS = 200  # for the unresolved issues
_MAX_ISSUE = 240  # characters
_TREE = 12  # digits of a tree id


def render_outcome(
    reviews: Sequence[Review],
    *,
    phase: str | None = None,
    reviewer: str | None = None,
    tree: str | None = None,
    same: Collection[str] = (),
) -> str:
    """Render the latest review of each reviewer in the phase; empty if there is none.

    The phase defaults to that of the last review. `tree` is the current working tree, and `same`
    are trees that count as unchanged.
    """
    latest = latest_reviews(reviews, phase=phase, reviewer=reviewer)
    return "\n".join(_render_review(one, None if one.tree in same else tree) for one in latest)


def latest_reviews(
    reviews: Sequence[Review], *, phase: str | None = None, reviewer: str | None = None
) -> list[Review]:
    """Return the reviews that count: the last of each reviewer in the phase."""
    name = reviewer.casefold() if reviewer is not None else None
    mine = [one for one in reviews if name in (None, one.reviewer.casefold())]
    if not mine:
        return []
    wanted = phase if phase is not None else mine[-1].phase
    return list({one.series: one for one in mine if one.phase == wanted}.values())


def describe_result(review: Review) -> str:
    """Describe the result in words, with the iteration and the cap."""
    count = f"{review.iteration}/{review.cap}"
    if review.result == FAILED:
        at_cap = review.iteration >= review.cap
        return f"FAILED at iteration cap ({count})" if at_cap else f"FAILED at iteration {count}"
    notes = " (with notes)" if review.result == WITH_NOTES else ""
    return f"APPROVED at iteration {count}{notes}"


def list_unresolved(review: Review) -> list[Finding]:
    """Return the findings that are not notes, the most severe first."""
    issues = [one for one in review.findings if one.severity != NOTE]
    return sorted(issues, key=lambda one: SEVERITIES.index(one.severity))


def _render_review(review: Review, tree: str | None) -> str:
    lines = [
        "## Domain Reviewer Outcome",
        f"- Reviewer: {review.reviewer}",
        f"- Result: {describe_result(review)}",
        f"- Unresolved issues: {_list_issues(review)}",
    ]
    if review.approved:
        changed = tree is not None and tree != review.tree
        now = f"; the tree is {(tree or '')[:_TREE]} now" if changed else ""
        lines.append(f"- Tree: approved tree {review.tree[:_TREE]}{now}")
    claims = _describe_claims(review)
    if claims:
        lines.append(f"- External claims: {claims}")
    return "\n".join(lines) + "\n"


def _list_issues(review: Review) -> str:
    issues = list_unresolved(review)
    lines: list[str] = []
    for one in issues:
        place = f" ({one.location})" if one.location and one.location not in one.text else ""
        line = f"{one.id} ({one.severity}): {shorten(one.text, _MAX_ISSUE)}{place}"
        if lines and tokens.count("; ".join([*lines, line])) > _MAX_TOKENS:
            break
        lines.append(line)
    if len(lines) < len(issues):
        lines.append(f"and {len(issues) - len(lines)} more (kedge review list {review.subject})")
    return "; ".join(lines) or "none"


def _describe_claims(review: Review) -> str:
    """Describe the verification of external claims; empty if there is nothing to say."""
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
