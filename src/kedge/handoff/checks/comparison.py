"""Compare a check with its baseline: what broke, what was fixed, what is no longer checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kedge.handoff.checks.check_result import CheckResult
from kedge.handoff.checks.summary import COVERAGE, FINDINGS, PACKAGES, TESTS, ToolSummary

LESS_COVERAGE = 0.1  # percentage points; a smaller drop is rounding
_FINDING = re.compile(r"(.*):\d{1,9}:(.*)", re.DOTALL)
_DOC_TEST = re.compile(r" \(line \d{1,9}\)$")
_NAMED = 3


@dataclass(slots=True)
class Comparison:
    """The found. `reasons` are those for the worse, `notes` the others."""

    newly_failing: list[str] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)
    still_failing: list[str] = field(default_factory=list)
    vanished: int = 0
    more_skipped: int = 0
    more_warnings: int = 0
    coverage: tuple[float, float] | None = None
    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def regressed(self) -> bool:
        return bool(self.reasons)

    @property
    def text(self) -> str:
        """The comparison in one line."""
        details = "; ".join((*self.reasons, *self.notes))
        if self.reasons:
            return f"worse than the baseline: {details}"
        return f"no worse than the baseline: {details}" if details else "same as the baseline"

    def data(self) -> dict[str, Any]:
        return {**asdict(self), "regressed": self.regressed, "text": self.text}


def compare(baseline: CheckResult, later: CheckResult) -> Comparison:
    """Compare a later run of the same check with the baseline.

    A finding that only moved to another line is the same one. Names are compared if both logs give
    all of them, and counts otherwise.
    """
    found = Comparison()
    _compare_ends(baseline, later, found)
    before = {one.tool: one for one in baseline.summaries}
    after = {one.tool: one for one in later.summaries}
    for tool in (*before, *(tool for tool in after if tool not in before)):
        old, new = before.get(tool), after.get(tool)
        if new is None and old is not None:
            new = _read_silence(old, later, found)
        if new is not None:
            _compare_tool(old or ToolSummary(tool, new.unit), new, found, known=old is not None)
    if found.newly_failing:
        names = _list_few(found.newly_failing)
        found.reasons.insert(0, f"{len(found.newly_failing)} newly failing ({names})")
    if found.fixed:
        found.notes.append(f"{len(found.fixed)} no longer failing")
    if found.still_failing:
        found.notes.append(f"{len(found.still_failing)} still failing")
    if found.more_warnings:
        plural = "" if found.more_warnings == 1 else "s"
        found.notes.append(f"{found.more_warnings} more warning{plural}")
    return found


def _compare_ends(baseline: CheckResult, later: CheckResult, found: Comparison) -> None:
    if later.timed_out and not baseline.timed_out:
        found.reasons.append("timed out")
    elif baseline.passed and later.passed is False:
        found.reasons.append(f"exit code {later.exit_code} instead of 0")
    elif baseline.passed is False and later.passed:
        found.notes.append("passes")


def _read_silence(old: ToolSummary, later: CheckResult, found: Comparison) -> ToolSummary | None:
    """Return the summary that a tool's missing output stands for; None if there is none."""
    if old.unit == FINDINGS:  # many linters print nothing without findings
        return ToolSummary(old.tool, old.unit, errors=0, warnings=0) if later.passed else None
    if old.unit in (TESTS, PACKAGES):
        found.vanished += old.total or 0
    found.reasons.append(f"no output of {old.tool} any more")
    return None


def _compare_tool(old: ToolSummary, new: ToolSummary, found: Comparison, *, known: bool) -> None:
    if new.unit == COVERAGE:
        _compare_coverage(old, new, found)
        return
    _compare_names(old, new, found)
    found.more_warnings += max(0, (new.warnings or 0) - (old.warnings or 0)) if known else 0
    if not known or old.unit != new.unit or old.total is None or new.total is None:
        return
    fewer = old.total - new.total
    if fewer > 0:
        found.vanished += fewer
        found.reasons.append(f"{fewer} {new.unit} fewer than {old.total} ({new.tool})")
    skipped = (new.skipped or 0) - (old.skipped or 0)
    if skipped > 0:
        found.more_skipped += skipped
        # A new test that is skipped is no loss; one that passed before is.
        lost = (new.passed or 0) < (old.passed or 0) or old.bad > new.bad
        (found.reasons if lost else found.notes).append(f"{skipped} more skipped ({new.tool})")


def _compare_names(old: ToolSummary, new: ToolSummary, found: Comparison) -> None:
    if old.complete and new.complete:
        newly, still, fixed = _match(old.failures, new.failures, _line_pattern(new))
        found.newly_failing += newly
        found.still_failing += still
        found.fixed += fixed
    elif (more := new.bad - old.bad) > 0:
        found.reasons.append(f"{more} more failing than {old.bad} ({new.tool})")
    elif more < 0 and not new.partial:
        found.notes.append(f"{-more} fewer failing than {old.bad} ({new.tool})")


def _match(
    old: Sequence[str], new: Sequence[str], pattern: re.Pattern[str]
) -> tuple[list[str], list[str], list[str]]:
    """Return the newly failing, still failing and fixed names, matching moved ones last."""
    same = Counter(old) & Counter(new)
    left_old, _ = _split_taken(old, same)
    left_new, still = _split_taken(new, same)
    keys_old = Counter(pattern.sub(_drop_line, name) for name in left_old)
    keys_new = Counter(pattern.sub(_drop_line, name) for name in left_new)
    moved = keys_old & keys_new
    newly, still_moved = _split_taken(left_new, moved, pattern)
    fixed, _ = _split_taken(left_old, moved, pattern)
    return newly, still + still_moved, fixed


def _split_taken(
    names: Sequence[str], taken: Counter[str], pattern: re.Pattern[str] | None = None
) -> tuple[list[str], list[str]]:
    """Split the names into those that are not in `taken` and those that are."""
    left = Counter(taken)
    rest, matched = [], []
    for name in names:
        key = pattern.sub(_drop_line, name) if pattern else name
        if left[key] > 0:
            left[key] -= 1
            matched.append(name)
        else:
            rest.append(name)
    return rest, matched


def _line_pattern(summary: ToolSummary) -> re.Pattern[str]:
    return _FINDING if summary.unit == FINDINGS else _DOC_TEST


def _drop_line(match: re.Match[str]) -> str:
    return "\0".join(part for part in match.groups() if part)


def _compare_coverage(old: ToolSummary, new: ToolSummary, found: Comparison) -> None:
    if old.coverage is None or new.coverage is None:
        return
    pairs = [(old.coverage, new.coverage), *([found.coverage] if found.coverage else [])]
    found.coverage = min(pairs, key=lambda pair: pair[1] - pair[0])
    if old.coverage - new.coverage >= LESS_COVERAGE:
        found.reasons.append(f"coverage {old.coverage:g}% → {new.coverage:g}% ({new.tool})")


def _list_few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
