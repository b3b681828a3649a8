"""Claude Code in a terminal: what its user sees, and the keys that they press."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path
from types import TracebackType

from clients import PATIENCE, environment, program

from kedge.host import proc

_ROWS, _COLUMNS = 60, 140
_SEQUENCE = re.compile(
    r"\x1b\[([0-9;?<>=]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]"
    r"|\x1b[P_^][^\x1b]*\x1b\\|\x1b[=>78cDEHMNOZ]"
)
_LONGEST = 400  # characters of a control sequence
_QUIET = 0.3  # seconds without output after which a screen is complete
_KEY = "sk-ant-dummy"


class Screen:
    """The text of a terminal, as far as Claude Code uses its control sequences."""

    def __init__(self) -> None:
        self.cells = [[" "] * _COLUMNS for _ in range(_ROWS)]
        self.row = self.column = 0
        self.raw = ""
        self._rest = ""

    @property
    def text(self) -> str:
        lines = ("".join(row).rstrip() for row in self.cells)
        return "\n".join(line for line in lines if line)

    def feed(self, text: str) -> None:
        self.raw += text
        text, self._rest = self._rest + text, ""
        at = 0
        while at < len(text):
            sign = text[at]
            if sign == "\x1b":
                found = _SEQUENCE.match(text, at)
                if found is None and len(text) - at < _LONGEST:
                    self._rest = text[at:]
                    return
                if found is not None and found[2]:
                    self._obey(found[1], found[2])
                at = found.end() if found else at + 1
                continue
            at += 1
            if sign == "\n":
                self._feed_line()
            elif sign == "\r":
                self.column = 0
            elif sign >= " ":
                if self.column >= _COLUMNS:
                    self.column = 0
                    self._feed_line()
                self.cells[self.row][self.column] = sign
                self.column += 1

    def _feed_line(self) -> None:
        if self.row < _ROWS - 1:
            self.row += 1
        else:
            self.cells = [*self.cells[1:], [" "] * _COLUMNS]

    def _obey(self, given: str, command: str) -> None:
        if given[:1] in ("?", "<", ">", "="):
            return
        numbers = [int(one or 0) for one in given.split(";")]
        count = numbers[0] or 1
        if command == "A":
            self.row = max(0, self.row - count)
        elif command == "B":
            self.row = min(_ROWS - 1, self.row + count)
        elif command == "C":
            self.column = min(_COLUMNS - 1, self.column + count)
        elif command == "D":
            self.column = max(0, self.column - count)
        elif command == "G":
            self.column = count - 1
        elif command in "Hf":
            self.row = min(count, _ROWS) - 1
            self.column = max(numbers[1], 1) - 1 if len(numbers) > 1 else 0
        elif command in "JK":
            self._erase(numbers[0], below=command == "J")

    def _erase(self, what: int, *, below: bool) -> None:
        whole = what in (2, 3)
        start = 0 if whole else self.column
        self.cells[self.row][start:] = [" "] * (_COLUMNS - start)
        if below:
            for row in range(0 if whole else self.row + 1, _ROWS):
                self.cells[row] = [" "] * _COLUMNS


class Terminal:
    """Claude Code as its user runs it, until the block ends."""

    def __init__(self, url: str, home: Path, cwd: Path, *flags: str) -> None:
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
            "projects": {str(cwd.resolve()): project},
        }
        (home / ".claude.json").write_text(json.dumps(state))
        self.screen = Screen()
        self._ours, theirs = pty.openpty()
        size = struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
        self._child = subprocess.Popen(
            [program("claude"), *flags],
            cwd=cwd,
            env={
                **environment(home),
                "TERM": "xterm-256color",
                "ANTHROPIC_API_KEY": _KEY,
                "ANTHROPIC_BASE_URL": url,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_TMPDIR": str(home / "tmp"),
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_ERROR_REPORTING": "1",
                "DISABLE_TELEMETRY": "1",
                "IS_SANDBOX": "1",
            },
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        proc.end_group(self._child, 0)
        os.close(self._ours)

    def wait(self, text: str) -> str:
        """Return the screen once it shows the text and nothing more is drawn."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            ready, _, _ = select.select([self._ours], [], [], _QUIET)
            if ready:
                try:
                    self.screen.feed(os.read(self._ours, 1 << 16).decode("utf-8", "replace"))
                except OSError:
                    break
            elif text in self.screen.text:
                return self.screen.text
        raise AssertionError(f"{text!r} was not shown:\n{self.screen.text}")

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def say(self, text: str) -> None:
        """Send a message, as soon as one can be typed."""
        self.wait("❯")
        self.press(text)
        self.wait(text[-20:])
        self.press("\r")
