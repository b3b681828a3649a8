"""The TypeScript compiler, plain and pretty."""

from __future__ import annotations

import re

from kedge.handoff.checks.logs.reader import COUNT, FindingReader
from kedge.handoff.checks.summary import FINDINGS, ToolSummary, add_failures

_PLAIN = re.compile(rf"(\S[^(]*)\({COUNT},{COUNT}\): (error|warning) (TS\d{{1,6}}): .*")
_PRETTY = re.compile(rf"(\S[^:]*):{COUNT}:{COUNT} - (error|warning) (TS\d{{1,6}}): .*")
_NO_FILE = re.compile(r"error (TS\d{1,6}): .*")


class TscReader(FindingReader):
    """A code such as TS2322 belongs to tsc alone, so its findings need no last line."""

    tool = "tsc"
    adds_up = True

    def line(self, line: str) -> None:
        if " TS" not in line:
            return
        if found := _PLAIN.fullmatch(line) or _PRETTY.fullmatch(line):
            if found[4] == "error":
                self.finding(found[1], found[2], found[5])
            else:
                self.warning()
        elif found := _NO_FILE.fullmatch(line):
            self.finding("tsconfig", "1", found[1])

    def summary(self) -> ToolSummary | None:
        if not (self._open or self._open_warned):
            return None
        summary = ToolSummary(
            self.tool, FINDINGS, errors=len(self._open), warnings=self._open_warned
        )
        return add_failures(summary, self._open, self.root)
