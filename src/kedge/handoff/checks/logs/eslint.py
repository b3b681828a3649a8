"""eslint, in its own form and the compact one; biome."""

from __future__ import annotations

import re

from kedge.handoff.checks.logs.reader import COUNT, FindingReader

_STYLISH = re.compile(rf" +{COUNT}:{COUNT} +(error|warning) +(\S.*)")
_RULE = re.compile(r"  ([@\w][\w@/.-]*)$")
_LAST = re.compile(rf"✖ {COUNT} problems? \({COUNT} errors?, {COUNT} warnings?\)")
_COMPACT = re.compile(rf"(\S.*): line {COUNT}, col {COUNT}, (Error|Warning) - (.*)")
_COMPACT_RULE = re.compile(r"\(([@\w][\w@/.-]*)\)$")
_COMPACT_LAST = re.compile(rf"{COUNT} problems?")


class EslintReader(FindingReader):
    tool = "eslint"
    adds_up = True

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self._file = ""

    def line(self, line: str) -> None:
        if line[0] == " ":
            if self._file and (found := _STYLISH.fullmatch(line)):
                rule = _RULE.search(found[4])
                self._add_finding(self._file, found[1], found[3], rule)
        elif line[0] == "✖":
            if last := _LAST.fullmatch(line):
                self.close(int(last[2]), int(last[3]))
        elif ", col " in line and (found := _COMPACT.fullmatch(line)):
            self._add_finding(found[1], found[2], found[4].lower(), _COMPACT_RULE.search(found[5]))
        elif line.endswith(("problem", "problems")) and _COMPACT_LAST.fullmatch(line):
            if self._open or self._open_warned:
                self.close(len(self._open))
        else:
            self._file = line

    def _add_finding(self, path: str, line: str, level: str, rule: re.Match[str] | None) -> None:
        if level == "error":
            self.finding(path, line, rule[1] if rule else "parse")
        else:
            self.warning()


_HEADER = re.compile(rf"(\S.*?)(?::{COUNT}:{COUNT})? ((?:lint|assist)/[\w/]+|parse|format)  ?.*━")
_CHECKED = re.compile(rf"Checked {COUNT} files? in \S+\. .*")
_FOUND = re.compile(rf"Found {COUNT} (error|warning)s?\.")


class BiomeReader(FindingReader):
    tool = "biome"
    adds_up = True

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self._place: tuple[str, str, str] | None = None
        self._checked = False

    def line(self, line: str) -> None:
        if line[0] == "C":
            if _CHECKED.fullmatch(line):
                self._checked = True
                self._errors = self._errors or 0
        elif line[0] == "F":
            if self._checked and (found := _FOUND.fullmatch(line)):
                if found[2] == "error":
                    self.close(int(found[1]), 0)
                else:
                    self.warned += int(found[1])
        elif line.startswith("  × ") and self._place:
            self.finding(*self._place)
            self._place = None
        elif line.endswith("━") and (found := _HEADER.fullmatch(line)):
            self._place = (found[1], found[2] or "1", found[4])
