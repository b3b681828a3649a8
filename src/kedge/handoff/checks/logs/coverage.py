"""Test coverage: coverage.py, istanbul, go, llvm-cov."""

from __future__ import annotations

import re

from kedge.handoff.checks.logs.reader import LogReader
from kedge.handoff.checks.summary import COVERAGE, ToolSummary

_NUMBER = r"(\d{1,3}(?:\.\d{1,6})?)"


class CoverageReader(LogReader):
    """Keeps the last total that follows the head of the tool's table."""

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self.percent: float | None = None

    def set_percent(self, number: str) -> None:
        if float(number) <= 100:
            self.percent = float(number)

    def summary(self) -> ToolSummary | None:
        if self.percent is None:
            return None
        return ToolSummary(self.tool, COVERAGE, coverage=self.percent)


class CoveragePyReader(CoverageReader):
    tool = "coverage.py"
    _head = re.compile(r"Name +Stmts +Miss .*Cover.*")
    _total = re.compile(rf"TOTAL +\d+ +\d+ .*?{_NUMBER}%(?: .*)?")
    _table = False

    def line(self, line: str) -> None:
        if line[0] == "N" and self._head.fullmatch(line):
            self._table = True
        elif self._table and line.startswith("TOTAL ") and (found := self._total.fullmatch(line)):
            self.set_percent(found[1])
            self._table = False


class IstanbulReader(CoverageReader):
    """The coverage of lines, from the table (also vitest's) or the short form."""

    tool = "istanbul"
    _head = re.compile(r"File +\| +% Stmts \| +% Branch \| +% Funcs \| +% Lines \|.*")
    _total = re.compile(rf"All files +\|(?: +[\d.]+ +\|){{3}} +{_NUMBER} +\|.*")
    _short = re.compile(rf"Lines +: {_NUMBER}% \( \d+/\d+ \)")
    _table = False
    _summary = False

    def line(self, line: str) -> None:
        first = line[0]
        if first == "F" and self._head.fullmatch(line):
            self._table = True
        elif first == "A" and self._table:
            if found := self._total.fullmatch(line):
                self.set_percent(found[1])
                self._table = False
        elif first == "=" and " Coverage summary " in line:
            self._summary = True
        elif first == "L" and self._summary and (found := self._short.fullmatch(line)):
            self.set_percent(found[1])
            self._summary = False


class GoCoverReader(CoverageReader):
    """The total of `go tool cover`, or else the mean of the packages."""

    tool = "go cover"
    _package = re.compile(rf"(?:ok  |FAIL)?\t(\S+)\t(?:.*coverage: {_NUMBER}% of statements)?.*")
    _bare = re.compile(rf"coverage: {_NUMBER}% of statements(?: in .*)?")
    _event = re.compile(
        rf'.*"Package":"([^"]*)".*"Output":"coverage: {_NUMBER}% of statements(?: in .*)?\\n".*'
    )
    _total = re.compile(rf"total:\s+\(statements\)\s+{_NUMBER}%")

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self._packages: dict[str, float] = {}
        self._unnamed: str | None = None  # a later line names the package

    def line(self, line: str) -> None:
        if line.startswith("coverage: "):
            if found := self._bare.fullmatch(line):
                self._unnamed = found[1]
        elif line.startswith(("ok  \t", "FAIL\t", "\t")):
            if found := self._package.fullmatch(line):
                if percent := found[2] or self._unnamed:
                    self._packages[found[1]] = float(percent)
                self._unnamed = None
        elif line[0] == "{" and '"coverage: ' in line:
            if found := self._event.fullmatch(line):
                self._packages[found[1]] = float(found[2])
        elif line.startswith("total:") and (found := self._total.fullmatch(line)):
            self.set_percent(found[1])

    def summary(self) -> ToolSummary | None:
        if self.percent is None and self._packages:
            self.set_percent(f"{sum(self._packages.values()) / len(self._packages):.1f}")
        return super().summary()


class LlvmCovReader(CoverageReader):
    """The coverage of lines, in the column that the head of the table gives."""

    tool = "llvm-cov"
    _columns = re.compile(r" (Regions|Functions|Instantiations|Lines|Branches) +Missed ")
    _cell = re.compile(r"\d{1,12} +\d{1,12} +(\d{1,3}\.\d{1,6}%|-)")
    _lines = -1

    def line(self, line: str) -> None:
        if line.startswith("Filename ") and " Missed Regions " in line:
            columns = self._columns.findall(line)
            self._lines = columns.index("Lines") if "Lines" in columns else 0
        elif self._lines >= 0 and line.startswith("TOTAL "):
            cells = self._cell.findall(line)
            if self._lines < len(cells) and cells[self._lines] != "-":
                self.set_percent(cells[self._lines][:-1])
            self._lines = -1
