"""A check against its baseline: what broke, what was mended, what is no longer looked at."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from kedge.errors import InvalidValue
from kedge.handoff.checks.result import Result
from kedge.handoff.checks.summary import COVERAGE, FINDINGS, PACKAGES, TESTS, Summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LESS_COVERAGE = 0.1  # points; below that it is rounding
_FINDING = re.compile(r"(.*):\d{1,9}:(.*)", re.DOTALL)
_DOC_TEST = re.compile(r" \(line \d{1,9}\)$")
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is different. `reasons` are the differences for the worse, `notes` the others."""

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
        """One line for people."""
        told = "; ".join((*self.reasons, *self.notes))
        if self.reasons:
            return f"worse than the baseline: {told}"
        return f"no worse than the baseline: {told}" if told else "as the baseline"

    def data(self) -> dict[str, Any]:
        made = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}
        return {**made, "regressed": self.regressed, "text": self.text}


def compare(baseline: Result, later: Result) -> Comparison:
    """What a later run of the same check shows that the baseline did not, and the other way.

    A finding that only moved to another line is the same one. Names are compared where both logs
    give all of them; elsewhere the counts must do.
    """
    found = _Found()
    _compare_ends(baseline, later, found)
    before = {one.tool: one for one in baseline.summaries}
    after = {one.tool: one for one in later.summaries}
    for tool in (*before, *(tool for tool in after if tool not in before)):
        old, new = before.get(tool), after.get(tool)
        if new is None and old is not None:
            new = _silent(old, later, found)
        if new is not None:
            _compare_tool(old or Summary(tool, new.unit), new, found, known=old is not None)
    return found.comparison()


class _Found:
    """The differences, as they are found."""

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
            reasons = [f"{len(self.newly)} newly failing ({_few(self.newly)})", *reasons]
        if self.fixed:
            notes = [*notes, f"{len(self.fixed)} no longer failing"]
        if self.still:
            notes = [*notes, f"{len(self.still)} still failing"]
        if self.warnings > 0:
            notes = [*notes, f"{_more(self.warnings, 'warning')}"]
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


def _compare_ends(baseline: Result, later: Result, found: _Found) -> None:
    if later.timed_out and not baseline.timed_out:
        found.reasons.append("timed out")
    elif baseline.passed and later.passed is False:
        found.reasons.append(f"exit code {later.exit_code} instead of 0")
    elif baseline.passed is False and later.passed:
        found.notes.append("passes")


def _silent(old: Summary, later: Result, found: _Found) -> Summary | None:
    """What it means that a tool is not heard of any more."""
    if old.unit == FINDINGS:  # many say nothing when they find nothing
        return Summary(old.tool, old.unit, errors=0, warnings=0) if later.passed else None
    if old.unit in (TESTS, PACKAGES):
        found.vanished += old.total or 0
    found.reasons.append(f"nothing from {old.tool} any more")
    return None


def _compare_tool(old: Summary, new: Summary, found: _Found, *, known: bool) -> None:
    if new.unit == COVERAGE:
        _compare_coverage(old, new, found)
        return
    _compare_names(old, new, found)
    found.warnings += max(0, (new.warnings or 0) - (old.warnings or 0)) if known else 0
    if not known or old.unit != new.unit or old.total is None or new.total is None:
        return
    fewer = old.total - new.total
    if fewer > 0:
        found.vanished += fewer
        found.reasons.append(f"{fewer} {new.unit} fewer than {old.total} ({new.tool})")
    skipped = (new.skipped or 0) - (old.skipped or 0)
    if skipped > 0:
        found.skipped += skipped
        # A test that is added and skipped is no loss; one that passed before is.
        lost = (new.passed or 0) < (old.passed or 0) or old.bad > new.bad
        (found.reasons if lost else found.notes).append(f"{skipped} more skipped ({new.tool})")


def _compare_names(old: Summary, new: Summary, found: _Found) -> None:
    if old.complete and new.complete:
        newly, still, fixed = _match(old.failures, new.failures, _key(new))
        found.newly += newly
        found.still += still
        found.fixed += fixed
    elif (more := new.bad - old.bad) > 0:
        found.reasons.append(f"{more} more failing than {old.bad} ({new.tool})")
    elif more < 0 and not new.partial:
        found.notes.append(f"{-more} fewer failing than {old.bad} ({new.tool})")


def _match(
    old: Sequence[str], new: Sequence[str], pattern: re.Pattern[str]
) -> tuple[list[str], list[str], list[str]]:
    """Newly failing, still failing and fixed; the same names first, then those that moved."""
    same = Counter(old) & Counter(new)
    left_old, _ = _without(old, same)
    left_new, still = _without(new, same)
    keys_old = Counter(pattern.sub(_unplaced, name) for name in left_old)
    keys_new = Counter(pattern.sub(_unplaced, name) for name in left_new)
    moved = keys_old & keys_new
    newly, still_moved = _without(left_new, moved, pattern)
    fixed, _ = _without(left_old, moved, pattern)
    return newly, still + still_moved, fixed


def _without(
    names: Sequence[str], taken: Counter[str], pattern: re.Pattern[str] | None = None
) -> tuple[list[str], list[str]]:
    """The names that are not among `taken`, and those that are."""
    left = Counter(taken)
    rest, hit = [], []
    for name in names:
        key = pattern.sub(_unplaced, name) if pattern else name
        if left[key] > 0:
            left[key] -= 1
            hit.append(name)
        else:
            rest.append(name)
    return rest, hit


def _key(summary: Summary) -> re.Pattern[str]:
    return _FINDING if summary.unit == FINDINGS else _DOC_TEST


def _unplaced(match: re.Match[str]) -> str:
    return "\0".join(part for part in match.groups() if part)


def _compare_coverage(old: Summary, new: Summary, found: _Found) -> None:
    if old.coverage is None or new.coverage is None:
        return
    if found.coverage is None or new.coverage - old.coverage < (
        found.coverage[1] - found.coverage[0]
    ):
        found.coverage = (old.coverage, new.coverage)
    if old.coverage - new.coverage >= LESS_COVERAGE:
        found.reasons.append(f"coverage {old.coverage:g}% → {new.coverage:g}% ({new.tool})")


def _few(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _more(count: int, what: str) -> str:
    return f"{count} more {what}{'' if count == 1 else 's'}"


_TEXTS = ("newly_failing", "fixed", "still_failing", "reasons", "notes")
_NUMBERS = ("vanished", "more_skipped", "more_warnings")
_NAMES = frozenset(f.name for f in fields(Comparison))


def parse(data: Mapping[str, Any]) -> Comparison:
    """A comparison from its data; fields of a later version are passed over."""
    values = {key: value for key, value in data.items() if key in _NAMES and value is not None}
    for name in _TEXTS:
        items = values.get(name, [])
        if not isinstance(items, (list, tuple)) or not all(isinstance(i, str) for i in items):
            raise InvalidValue(f"{name!r} must be a list of texts")
        values[name] = tuple(items)
    for name in _NUMBERS:
        if type(values.get(name, 0)) is not int:
            raise InvalidValue(f"{name!r} must be a whole number")
    if (pair := values.get("coverage")) is not None:
        if not isinstance(pair, (list, tuple)) or [type(n) in (int, float) for n in pair] != [
            True,
            True,
        ]:
            raise InvalidValue("'coverage' must be two numbers")
        values["coverage"] = (pair[0], pair[1])
    return Comparison(**values)
