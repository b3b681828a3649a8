"""mypy."""

from __future__ import annotations

import re

from kedge.handoff.checks.logs.reader import COUNT, FindingReader

_FINDING = re.compile(rf"(\S(?:[^:]*[^:\s])?):{COUNT}(?::\d{{1,9}}){{0,3}}: (error|warning): (.*)")
_CODE = re.compile(r"\[([\w-]+)\]$")
_LAST = re.compile(
    rf"Found {COUNT} errors? in {COUNT} files? \((?:checked {COUNT} source|errors prevented).*\)"
)
_CLEAN = re.compile(rf"Success: no issues found in {COUNT} source files?")


class MypyReader(FindingReader):
    tool = "mypy"

    def line(self, line: str) -> None:
        if line[0] == "F" and (last := _LAST.fullmatch(line)):
            self.close(int(last[1]))
        elif line[0] == "S" and _CLEAN.fullmatch(line):
            self.close(0)
        elif ": error: " in line and (found := _FINDING.fullmatch(line)):
            code = _CODE.search(found[4])
            self.finding(found[1], found[2], code[1] if code else "error")
