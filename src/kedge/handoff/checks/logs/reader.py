"""What every reader of logs shares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kedge.handoff.checks.summary import FINDINGS, TESTS, Summary, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

COUNT = r"(\d{1,9})"
SHORTEST = 5


class Reader:
    """Reads a log line by line and says at the end what its tool told.

    A line has no line end and no colour. Only those are given that begin with one of `starts`,
    if there are any, and none shorter than `SHORTEST`.
    """

    tool: ClassVar[str]
    starts: ClassVar[str] = ""
    adds_up = False  # whether counts come from all over the log, not from one last line

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        self.root = root
        self.hinted = hinted  # the command names the tool

    def line(self, line: str) -> None:
        raise NotImplementedError

    def summary(self) -> Summary | None:
        raise NotImplementedError


class Tests(Reader):
    """The runs of a test tool in one log, added up."""

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self.runs: list[tuple[Summary, Iterable[str]]] = []

    def summary(self) -> Summary | None:
        if not self.runs:
            return None
        runs = [run for run, _ in self.runs]
        made = Summary(
            self.tool,
            TESTS,
            passed=_sum(run.passed for run in runs),
            failed=_sum(run.failed for run in runs),
            skipped=_sum(run.skipped for run in runs),
            errors=_sum(run.errors for run in runs),
            warnings=_sum(run.warnings for run in runs),
        )
        return named(made, (name for _, names in self.runs for name in names), self.root)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


class Findings(Reader):
    """The findings of a linter or a type checker.

    `closes` is called at the line in which the tool says how many there were. More findings than
    that since the last such line are not the tool's own: the ones next to that line are.
    """

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self.found: list[str] = []
        self.warned = 0
        self._open: list[str] = []
        self._open_warned = 0
        self._errors: int | None = None

    def finding(self, path: str, line: str, code: str) -> None:
        self._open.append(f"{path}:{line}:{code}")

    def warning(self) -> None:
        self._open_warned += 1

    def closes(self, errors: int, warnings: int | None = None) -> None:
        self.found += self._open[-errors:] if errors else []
        self.warned += self._open_warned if warnings is None else warnings
        self._errors = (self._errors or 0) + errors
        self._open, self._open_warned = [], 0

    def summary(self) -> Summary | None:
        if self._errors is None:
            # Without its last line a finding could be anybody's.
            if not (self.hinted and (self._open or self._open_warned)):
                return None
            self.closes(len(self._open))
        made = Summary(self.tool, FINDINGS, errors=self._errors, warnings=self.warned)
        return named(made, self.found, self.root)


def counts(text: str, pattern: re.Pattern[str]) -> Mapping[str, int]:
    """The counts in a line as "3 failed, 4 passed"; empty if a part of it is none."""
    found: dict[str, int] = {}
    for part in text.split(","):
        match = pattern.fullmatch(part.strip())
        if match is None:
            return {}
        found[match[2]] = int(match[1])
    return found
