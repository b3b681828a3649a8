"""ruff check, concise and full; ruff format --check."""

from __future__ import annotations

import re

from kedge.handoff.checks.logs.reader import COUNT, FindingReader

_CODE = r"([A-Z]{1,6}\d{1,5}|invalid-syntax|SyntaxError|[a-z]+(?:-[a-z]+)+)"
_CONCISE = re.compile(rf"(\S(?:[^:]*[^:\s])?):{COUNT}:{COUNT}: {_CODE}(?: |: ).*")
_FULL = re.compile(rf"{_CODE}(?: |: ).*")
_PLACE = re.compile(rf" *--> (.+):{COUNT}:{COUNT}")
_LAST = re.compile(rf"Found {COUNT} errors?(?: \({COUNT} fixed, {COUNT} remaining\))?\.")


class RuffReader(FindingReader):
    tool = "ruff"

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self._code = ""  # of a finding whose position is on the next line
        self._unsure: int | None = None
        self._biome = False

    def line(self, line: str) -> None:
        code, self._code = self._code, ""
        unsure, self._unsure = self._unsure, None
        if line.startswith("Found ") and (last := _LAST.fullmatch(line)):
            self._read_result(int(last[3] or last[1]))
        elif line == "All checks passed!":
            self.close(0)
        elif unsure is not None and line.startswith("[*] "):
            self.close(unsure)
        elif code and (place := _PLACE.fullmatch(line)):
            self._biome = False
            self.finding(place[1], place[2], code)
        elif found := _FULL.fullmatch(line):
            self._code = found[1]
        elif ": " in line and (found := _CONCISE.fullmatch(line)):
            self._biome = False
            self.finding(found[1], found[2], found[4])
        elif line.startswith("Checked "):
            self._biome = True

    def _read_result(self, errors: int) -> None:
        """Believe it after a finding, or if ruff was run: other tools end with the same words."""
        if self._open or (self.hinted and not self._biome):
            self.close(errors)
        else:
            self._unsure = errors


_FORMAT = re.compile(rf"{COUNT} files? (would be reformatted|already formatted)(?:, .*)?")


class RuffFormatReader(FindingReader):
    tool = "ruff format"

    def __init__(self, root: str | None = None, *, hinted: bool = False) -> None:
        super().__init__(root, hinted=hinted)
        self._unformatted = False

    def line(self, line: str) -> None:
        if line[0].isdigit():
            if last := _FORMAT.fullmatch(line):
                self.close(int(last[1]) if last[2].startswith("would") else 0)
        elif line.startswith("Would reformat: "):
            self.finding(line[16:], "1", "format")
        elif self._unformatted and (place := _PLACE.fullmatch(line)):
            self.finding(place[1], place[2], "format")
            self._unformatted = False
        elif line.startswith("unformatted: "):
            self._unformatted = True
