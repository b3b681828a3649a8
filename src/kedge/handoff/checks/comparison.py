"""Compare a check with its baseline: what broke, what was fixed, what is no longer checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kedge.handoff.checks.check_result import CheckResult
from kedge.handoff.checks.summary import COVERAGE, FINDINGS, PACKAGES, TESTS, ToolSummary

LESS_COVERAGE = 0.1  # percentage points; a smaller drop is rounding
_FINDING = re.compile(r"(.*):\d{1,9}:(.*)", re.DOTALL)
_DOC_TEST = re.compile(r" \(line \d{1,9}\)$")
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences. `reasons` are those for the worse, `notes` the others."""

    newly_failing: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    still_failing: tuple[str, ...] = ()
    vanished: int = 0
    more_skipped: int = 0
    more_warnings: int = 0
    coverage: tuple[float, float] | None = None
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

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
        values = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}
        return {**values, "regressed": self.regressed, "text": self.text}


def compare(baseline: CheckResult, later: CheckResult) -> Comparison:
    """Compare a later run of the same check with the baseline.

    A finding that only moved to another line is the same one. Names are compared if both logs give
    all of them, and counts otherwise.
    """
    differences = _Differences()
    _compare_ends(baseline, later, differences)
    before = {one.tool: one for one in baseline.summaries}
    after = {one.tool: one for one in later.summaries}
    for tool in (*before, *(tool for tool in after if tool not in before)):
        old, new = before.get(tool), after.get(tool)
        if new is None and old is not None:
            new = _read_silence(old, later, differences)
        if new is not None:
            _compare_tool(
                old or ToolSummary(tool, new.unit), new, differences, known=old is not None
            )
    return differences.comparison()


class _Differences:
    """Collects the differences."""

    def __init__(self) -> None:
        self.newly: list[str] = []
        self.fixed: list[str] = []
        self.still: list[str] = []
        self.vanished = self.skipped = self.warnings = 0
        self.coverage: tuple[float, float] | None = None
        self.reasons: list[str] = []
        self.notes: list[str] = []

    def comparison(self) -> Comparison:
        reasons, notes = self.reasons, self.notes
        if self.newly:
            reasons = [f"{len(self.newly)} newly failing ({_list_few(self.newly)})", *reasons]
        if self.fixed:
            notes = [*notes, f"{len(self.fixed)} no longer failing"]
        if self.still:
            notes = [*notes, f"{len(self.still)} still failing"]
        if self.warnings > 0:
            notes = [*notes, f"{_count_more(self.warnings, 'warning')}"]
        return Comparison(
            tuple(self.newly),
            tuple(self.fixed),
            tuple(self.still),
            self.vanished,
            self.skipped,
            self.warnings,
            self.coverage,
            tuple(reasons),
            tuple(notes),
        )


def _compare_ends(baseline: CheckResult, later: CheckResult, differences: _Differences) -> None:
    if later.timed_out and not baseline.timed_out:
        differences.reasons.append("timed out")
    elif baseline.passed and later.passed is False:
        differences.reasons.append(f"exit code {later.exit_code} instead of 0")
    elif baseline.passed is False and later.passed:
        differences.notes.append("passes")


def _read_silence(
    old: ToolSummary, later: CheckResult, differences: _Differences
) -> ToolSummary | None:
    """Return the summary that a tool's missing output stands for; None if there is none."""
    if old.unit == FINDINGS:  # many linters print nothing without findings
        return ToolSummary(old.tool, old.unit, errors=0, warnings=0) if later.passed else None
    if old.unit in (TESTS, PACKAGES):
        differences.vanished += old.total or 0
    differences.reasons.append(f"no output of {old.tool} any more")
    return None


def _compare_tool(
    old: ToolSummary, new: ToolSummary, differences: _Differences, *, known: bool
) -> None:
    if new.unit == COVERAGE:
        _compare_coverage(old, new, differences)
        return
    _compare_names(old, new, differences)
    differences.warnings += max(0, (new.warnings or 0) - (old.warnings or 0)) if known else 0
    if not known or old.unit != new.unit or old.total is None or new.total is None:
        return
    fewer = old.total - new.total
    if fewer > 0:
        differences.vanished += fewer
        differences.reasons.append(f"{fewer} {new.unit} fewer than {old.total} ({new.tool})")
    skipped = (new.skipped or 0) - (old.skipped or 0)
    if skipped > 0:
        differences.skipped += skipped
        # A new test that is skipped is no loss; one that passed before is.
        lost = (new.passed or 0) < (old.passed or 0) or old.bad > new.bad
        (differences.reasons if lost else differences.notes).append(
            f"{skipped} more skipped ({new.tool})"
        )


def _compare_names(old: ToolSummary, new: ToolSummary, differences: _Differences) -> None:
    if old.complete and new.complete:
        newly, still, fixed = _match(old.failures, new.failures, _line_pattern(new))
        differences.newly += newly
        differences.still += still
        differences.fixed += fixed
    elif (more := new.bad - old.bad) > 0:
        differences.reasons.append(f"{more} more failing than {old.bad} ({new.tool})")
    elif more < 0 and not new.partial:
        differences.notes.append(f"{-more} fewer failing than {old.bad} ({new.tool})")


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


def _compare_coverage(old: ToolSummary, new: ToolSummary, differences: _Differences) -> None:
    if old.coverage is None or new.coverage is None:
        return
    if differences.coverage is None or new.coverage - old.coverage < (
        differences.coverage[1] - differences.coverage[0]
    ):
        differences.coverage = (old.coverage, new.coverage)
    if old.coverage - new.coverage >= LESS_COVERAGE:
        differences.reasons.append(f"coverage {old.coverage:g}% → {new.coverage:g}% ({new.tool})")


def _list_few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _count_more(count: int, what: str) -> str:
    return f"{count} more {what}{'' if count == 1 else 's'}"
