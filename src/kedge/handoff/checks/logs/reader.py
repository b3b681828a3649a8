"""The base classes of the log readers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar

from kedge.handoff.checks.summary import FINDINGS, TESTS, ToolSummary, add_failures

COUNT = r"(\d{1,9})"
SHORTEST = 5


class LogReader:
    """Reads a log line by line, and summarises at the end what its tool reported.

    Lines have no line ending and no colour, and are never shorter than `SHORTEST`.
    """

    tool: ClassVar[str]
    adds_up = False  # the counts are sums over the whole log, not from one last line

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        self.root = root
        self.hinted = hinted  # the command names the tool

    def line(self, line: str) -> None:
        raise NotImplementedError

    def summary(self) -> ToolSummary | None:
        raise NotImplementedError


class TestRunReader(LogReader):
    """Sums up the runs of a test tool in one log."""

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self.runs: list[tuple[ToolSummary, Iterable[str]]] = []

    def summary(self) -> ToolSummary | None:
        if not self.runs:
            return None
        runs = [run for run, _ in self.runs]
        total = ToolSummary(
            self.tool,
            TESTS,
            passed=_sum(run.passed for run in runs),
            failed=_sum(run.failed for run in runs),
            skipped=_sum(run.skipped for run in runs),
            errors=_sum(run.errors for run in runs),
            warnings=_sum(run.warnings for run in runs),
        )
        return add_failures(total, (name for _, names in self.runs for name in names), self.root)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


class FindingReader(LogReader):
    """Collects the findings of a linter or a type checker.

    Call `close` at the line in which the tool reports how many there are. Of more findings than
    that since the last such line, only the last ones are the tool's own.
    """

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self.names: list[str] = []
        self.warned = 0
        self._open: list[str] = []
        self._open_warned = 0
        self._errors: int | None = None

    def finding(self, path: str, line: str, code: str) -> None:
        self._open.append(f"{path}:{line}:{code}")

    def warning(self) -> None:
        self._open_warned += 1

    def close(self, errors: int, warnings: int | None = None) -> None:
        self.names += self._open[-errors:] if errors else []
        self.warned += self._open_warned if warnings is None else warnings
        self._errors = (self._errors or 0) + errors
        self._open, self._open_warned = [], 0

    def summary(self) -> ToolSummary | None:
        if self._errors is None:
            # Without the last line the findings could be another tool's.
            if not (self.hinted and (self._open or self._open_warned)):
                return None
            self.close(len(self._open))
        summary = ToolSummary(self.tool, FINDINGS, errors=self._errors, warnings=self.warned)
        return add_failures(summary, self.names, self.root)


def parse_counts(text: str, pattern: re.Pattern[str]) -> Mapping[str, int]:
    """Parse the counts in a line such as "3 failed, 4 passed"; empty if any part is not one."""
    numbers: dict[str, int] = {}
    for part in text.split(","):
        match = pattern.fullmatch(part.strip())
        if match is None:
            return {}
        numbers[match[2]] = int(match[1])
    return numbers
