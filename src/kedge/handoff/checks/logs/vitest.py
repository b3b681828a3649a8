"""vitest."""

from __future__ import annotations

import re

from kedge.handoff.checks.logs.reader import COUNT, TestRunReader, parse_counts
from kedge.handoff.checks.summary import ToolSummary

_PART = re.compile(COUNT + r" (failed|skipped|todo|passed|expected fail)")
_TABLE = re.compile(r" {1,12}(Test Files|Tests|Errors|Start at|Duration)  (\S.*)")
_TOTAL = re.compile(r" \(\d{1,9}\)$")
_SUITE = re.compile(r"(\S+) \[ .* \]")
_NONE = re.compile(r"No test files found, exiting with code \d+")


class VitestReader(TestRunReader):
    """A summary is real if the start time follows it: tests can print the lines before that."""

    tool = "vitest"

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self._begin()

    def _begin(self) -> None:
        self._table: dict[str, str] = {}
        self._failed: dict[str, None] = {}
        self._broken: dict[str, None] = {}

    def line(self, line: str) -> None:
        if line[0] == " ":
            if line.startswith(" FAIL  "):
                self._fail(line[7:].strip())
            elif found := _TABLE.fullmatch(line):
                self._row(found[1], found[2])
        elif line.startswith("No test files found") and _NONE.fullmatch(line):
            self.runs.append((ToolSummary(self.tool, passed=0, failed=0, skipped=0, errors=0), []))

    def _fail(self, name: str) -> None:
        if suite := _SUITE.fullmatch(name):
            self._broken[suite[1]] = None
        else:
            self._failed[name] = None

    def _row(self, name: str, text: str) -> None:
        if name == "Test Files":
            self._table = {}
        elif name == "Start at" and {"Test Files", "Tests"} <= self._table.keys():
            self._end_run()
        self._table[name] = text

    def _end_run(self) -> None:
        tests = _counts(self._table["Tests"])
        if tests or self._table["Tests"].startswith("no tests"):
            unhandled = re.match(COUNT + " error", self._table.get("Errors", ""))
            files = _counts(self._table["Test Files"])
            run = ToolSummary(
                self.tool,
                passed=tests.get("passed", 0),
                failed=tests.get("failed", 0),
                skipped=sum(tests.get(name, 0) for name in ("skipped", "todo", "expected fail")),
                errors=min(len(self._broken), files.get("failed", 0))
                + (int(unhandled[1]) if unhandled else 0),
            )
            self.runs.append((run, [*self._failed, *self._broken]))
        self._begin()


def _counts(text: str) -> dict[str, int]:
    return dict(parse_counts(_TOTAL.sub("", text).replace("|", ","), _PART))
