"""pytest, in any verbosity, with xdist, and with errors at collection."""

from __future__ import annotations

import re
from collections import Counter

from kedge.handoff.checks.logs.reader import COUNT, TestRunReader, parse_counts
from kedge.handoff.checks.summary import ToolSummary

_BANNER = re.compile(r"=+ (\S(?:[^=]*\S)?) =+")
_LAST = re.compile(r"([^=]*\S) in \d[\d.]*s(?: \(\d+:\d\d:\d\d\)| \(\d+ days?, [\d:]+\))?")
_PART = re.compile(COUNT + r" ([a-z]+(?: [a-z]+)?)")
_PROGRESS = re.compile(r"([.FEsxXR]+) +\[ *\d{1,3}%\]")
_FAILED = re.compile(r"(?:SUB)?(?:FAILED|ERROR)(?= |\[)(.+)")
_HEADING = re.compile(r"_{2,} (\S.*) _{2,}")
_WORD = re.compile(
    "passed|failed|skipped|errors?|warnings?|deselected|xfailed|xpassed"  # plugins add others
)
_RUNNING, _REPORTING = "running", "reporting"


class PytestReader(TestRunReader):
    """Tracks where each run begins and ends, because a test can print the log of another run.

    Of two last lines without a beginning between them, the later one is real.
    """

    tool = "pytest"

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self._begun: list[str] = []  # the phase of each unfinished run
        self._announced = False  # the beginning of the outermost run was seen
        self._inner: tuple[ToolSummary, list[str]] | None = None
        self._names: list[str] = []
        self._headings: list[str] = []
        self._listing = False
        self._progress: Counter[str] = Counter()
        self._progressed = False  # up to 100%

    def line(self, line: str) -> None:
        first = line[0]
        if first == "=":
            if banner := _BANNER.fullmatch(line):
                self._banner(banner[1])
        elif first.isdigit() or first == "n":
            self._last(line)
        elif first == "_":
            if (
                self._begun
                and self._begun[-1] == _REPORTING
                and (found := _HEADING.fullmatch(line))
            ):
                self._heading(found[1].strip("_ "))
        elif first in ".FEsxXRS":
            self._read_mark(line)

    def _banner(self, text: str) -> None:
        self._listing = text == "short test summary info"
        if text == "test session starts":
            self._begin(_RUNNING)
        elif self._listing or text in ("FAILURES", "ERRORS"):
            if not self._begun:
                self._begin(_REPORTING)
            if self._listing:
                self._names = []
            elif self._begun[-1] == _RUNNING:
                self._headings = []
            self._begun[-1] = _REPORTING
        else:
            self._last(text)

    def _begin(self, at: str) -> None:
        if not self._begun:
            self._announced = at == _RUNNING
        self._begun.append(at)

    def _heading(self, text: str) -> None:
        self._headings.append(text)
        if text.startswith("ERROR collecting "):  # with -q the first line of a run
            self._announced = True

    def _read_mark(self, line: str) -> None:
        """Read a line of progress, or one that names a failed test."""
        if self._listing and (failed := _FAILED.fullmatch(line)):
            self._names.append(_without_reason(failed[1].strip()))
        elif line.endswith("%]") and (progress := _PROGRESS.fullmatch(line)):
            if not self._begun or self._begun[-1] == _REPORTING:
                self._begin(_RUNNING)
                self._progress.clear()
            self._progress.update(progress[1])
            self._progressed = line.endswith("[100%]")

    def _last(self, text: str) -> None:
        found = _LAST.fullmatch(text)
        if found is None:
            return
        number = parse_counts(found[1], _PART)
        if found[1] != "no tests ran" and not any(map(_WORD.fullmatch, number)):
            return
        failed, errors = number.get("failed", 0), number.get("error", number.get("errors", 0))
        run = ToolSummary(
            self.tool,
            passed=number.get("passed", 0) + number.get("xpassed", 0),
            failed=failed,
            skipped=number.get("skipped", 0) + number.get("xfailed", 0),
            errors=errors,
            warnings=number.get("warning", number.get("warnings", 0)),
        )
        self._end_run(run, self._names)
        self._names, self._listing = [], False

    def _end_run(self, run: ToolSummary, names: list[str]) -> None:
        if self._begun:
            self._begun.pop()
            if self._begun:
                self._inner = run, names
                return
        else:
            self._announced = False
        bad = (run.failed or 0) + (run.errors or 0)
        self._add(run, names or (self._headings[-bad:] if bad else []))
        self._headings, self._inner = [], None

    def _add(self, run: ToolSummary, names: list[str]) -> None:
        if self.runs and not self._announced:  # the line before was printed by a test
            self.runs.pop()
        self.runs.append((run, names))

    def summary(self) -> ToolSummary | None:
        if self._inner is not None:  # an inner run broke off, so this is the outer one
            self._add(*self._inner)
        elif self._begun and self._progressed:  # -qq has no last line
            self._add(self._count_marks(), self._names)
        return super().summary()

    def _count_marks(self) -> ToolSummary:
        seen = self._progress
        return ToolSummary(
            self.tool,
            passed=seen["."] + seen["X"],
            failed=seen["F"],
            skipped=seen["s"] + seen["x"],
            errors=seen["E"],
        )


def _without_reason(text: str) -> str:
    """Drop the reason from `path::name[a - b] - reason`."""
    name = text.partition(" - ")[0]
    if name.count("[") > name.count("]"):
        inside, end, _ = text.partition("] - ")
        return inside + "]" if end else text
    return name
