"""cargo test with all its test programs; the findings of rustc and clippy."""

from __future__ import annotations

import re

from kedge.handoff.checks.logs.reader import COUNT, FindingReader, TestRunReader
from kedge.handoff.checks.summary import FINDINGS, ToolSummary, add_failures

_RUNNING = re.compile(rf"running {COUNT} tests?")
_RESULT = re.compile(
    rf"test result: (?:ok|FAILED)\. {COUNT} passed; {COUNT} failed; {COUNT} ignored; "
    rf"{COUNT} measured; {COUNT} filtered out(?:; finished in .*)?"
)
_TARGET = re.compile(r" +Running (?:\S+ )?\S+ \((?:.*/)?([\w-]+)-[0-9a-f]{8,}(?:\.exe)?\)")
_DOCS = re.compile(r" +Doc-tests (\S+)")
_NAME = re.compile(r"    (\S.*)")


class CargoTestReader(TestRunReader):
    """Each test program announces how many tests it will run.

    Of several lines that look like its result, the one with that number is real, or else the last.
    """

    tool = "cargo test"
    adds_up = True

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self._target = ""
        self._expected: int | None = None
        self._sure = False
        self._result: tuple[int, ...] | None = None
        self._names: list[str] = []
        self._listed: list[str] = []
        self._listing = False

    def line(self, line: str) -> None:
        if self._listing and (name := _NAME.fullmatch(line)):
            self._listed.append(name[1])
            return
        self._listing = False
        first = line[0]
        if first == "f" and line == "failures:":
            self._listing, self._listed = True, []
        elif first == "r" and (found := _RUNNING.fullmatch(line)):
            self._close()
            self._expected = int(found[1])
        elif first == "t" and (found := _RESULT.fullmatch(line)):
            self._read_result(tuple(map(int, found.groups())))
        elif first == " " and (found := _TARGET.fullmatch(line) or _DOCS.fullmatch(line)):
            self._close()
            self._target = found[1]

    def _read_result(self, numbers: tuple[int, ...]) -> None:
        sure = sum(numbers[:4]) == self._expected
        if sure or not self._sure:
            self._result, self._sure = numbers, sure
            self._names = self._listed if numbers[1] else []

    def _close(self) -> None:
        if self._result is not None:
            passed, failed, ignored, measured, _ = self._result
            run = ToolSummary(self.tool, passed=passed + measured, failed=failed, skipped=ignored)
            prefix = f"{self._target}::" if self._target else ""
            self.runs.append((run, [prefix + name for name in self._names]))
        self._result, self._expected, self._sure = None, None, False
        self._names, self._listed = [], []

    def summary(self) -> ToolSummary | None:
        self._close()
        return super().summary()


_HEADER = re.compile(r"(error|warning)(?:\[([\w:]+)\])?: .*")
_PLACE = re.compile(rf" +--> (.+):{COUNT}:{COUNT}")


class RustcReader(FindingReader):
    """Findings of rustc and clippy, each with a line of its own for the position."""

    tool = "rustc"
    adds_up = True

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self._level = ""
        self._code = ""
        self._rust = False

    def line(self, line: str) -> None:
        first = line[0]
        if first in "ew":
            if found := _HEADER.fullmatch(line):
                self._level, self._code = found[1], found[2] or found[1]
                self._rust = self._rust or "could not compile" in line or "generated " in line
        elif first == " " and self._level and "--> " in line[:20]:
            if found := _PLACE.fullmatch(line):
                if self._level == "error":
                    self.finding(found[1], found[2], self._code)
                else:
                    self.warning()
            self._level = ""

    def summary(self) -> ToolSummary | None:
        if not (self._rust and (self._open or self._open_warned)):
            return None
        summary = ToolSummary(
            self.tool, FINDINGS, errors=len(self._open), warnings=self._open_warned
        )
        return add_failures(summary, self._open, self.root)
