"""jest."""

from __future__ import annotations

import re

from kedge.handoff.checks.logs.reader import COUNT, TestRunReader, parse_counts
from kedge.handoff.checks.summary import ToolSummary

_PART = re.compile(COUNT + r" (failed|skipped|todo|passed|total|obsolete)")
_FILE = re.compile(r"FAIL\s+(\S[^\n]*?)(?: \(\d[\d.]* m?s\))?")
_NONE = re.compile(r"No tests found, exiting with code \d+")
_BROKEN = "Test suite failed to run"
_BLOCK = ("Test Suites: ", "Tests: ", "Snapshots: ")


class JestReader(TestRunReader):
    """A run ends with three lines in a row; a test that prints one of them alone is ignored."""

    tool = "jest"

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self._block: list[str] = []
        self._complete = True
        self._begin()

    def _begin(self) -> None:
        self._file = ""
        self._names: dict[str, None] = {}
        self._broken: set[str] = set()

    def line(self, line: str) -> None:
        if line.startswith(_BLOCK):
            self._last(line)
            return
        self._block = []
        if line.startswith(("FAIL", " FAIL ")):  # coloured output has spaces around the word
            if found := _FILE.fullmatch(line.strip()):
                self._file = found[1].split()[-1].removeprefix("./")
        elif line.startswith("  ● ") and self._file:
            self._test(line[4:].strip())
        elif line.startswith("Ran all test suites"):
            self._complete = True
            self._begin()
        elif line.startswith("No tests found") and _NONE.fullmatch(line):
            self._add(ToolSummary(self.tool, passed=0, failed=0, skipped=0, errors=0))
            self._begin()

    def _test(self, name: str) -> None:
        if name == _BROKEN:
            self._broken.add(self._file)
            self._names[self._file] = None
        elif name != "Console":
            self._names[f"{self._file} › {name}"] = None

    def _last(self, line: str) -> None:
        place = next(i for i, head in enumerate(_BLOCK) if line.startswith(head))
        self._block = [*self._block[:place], line] if place <= len(self._block) else []
        if len(self._block) < len(_BLOCK):
            return
        suites, tests = (parse_counts(text.partition(":")[2], _PART) for text in self._block[:2])
        self._block = []
        if "total" not in suites or "total" not in tests:
            return
        run = ToolSummary(
            self.tool,
            passed=tests.get("passed", 0),
            failed=tests.get("failed", 0),
            skipped=tests.get("skipped", 0) + tests.get("todo", 0),
            errors=min(len(self._broken), suites.get("failed", 0)),
        )
        self._add(run)

    def _add(self, run: ToolSummary) -> None:
        """Add the run; it replaces the one before it unless that one is complete."""
        if not self._complete:
            self.runs.pop()
        self.runs.append((run, self._names))
        self._complete = False
