"""The stored output of a check: bounded, without colour, cut between lines."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

HEAD = 2 << 20
TAIL = 6 << 20
_LINE = 2000  # characters; no tool writes a longer line as a result

_CUT = "[kedge: {} bytes of output left out]"
_CUT_LINE = re.compile(r"\[kedge: \d{1,18} bytes of output left out\]")
# CSI, OSC and the short sequences. An OSC may not contain a line break, so that an unclosed one
# does not swallow the log.
_ANSI = re.compile(
    rb"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)|[ -/]++[0-~]|[0-Z\\^-~])"
)
_ANSI_TEXT = re.compile(_ANSI.pattern.decode())


class OutputBuffer:
    """Collects output as it arrives, and keeps its head and its tail."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self.size = 0
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._kept = 0
        self._limits = (head, tail)

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        head, tail = self._limits
        if room := head - len(self._head):
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail.append(chunk)
            self._kept += len(chunk)
            while self._kept - len(self._tail[0]) >= tail:
                self._kept -= len(self._tail.popleft())

    def log(self) -> bytes:
        """Return the kept output without colour, with a line in place of what was left out."""
        head, tail = bytes(self._head), b"".join(self._tail)[-self._limits[1] :]
        if len(head) + len(tail) == self.size:
            return strip_colour(head + tail)
        # Half a line can mean something else: "3 failed" instead of "13 failed".
        head = head[: head.rfind(b"\n") + 1] or head + b"\n"
        tail = tail[tail.find(b"\n") + 1 :]
        mark = _CUT.format(self.size - len(head) - len(tail)).encode()
        return strip_colour(b"%b%b\n%b" % (head, mark, tail))


def bound_log(log: bytes) -> bytes:
    """Bound a log from elsewhere as kedge would have bounded it."""
    buffer = OutputBuffer()
    if len(log) <= HEAD + TAIL + 100:  # with room for the line in place of a cut
        return strip_colour(log)
    buffer.add(log)
    return buffer.log()


def strip_colour(log: bytes) -> bytes:
    return _ANSI.sub(b"", log) if b"\x1b" in log else log


def split_lines(log: bytes | str) -> Iterator[str]:
    """Split a log into lines, whatever its encoding and line endings; cut very long lines."""
    text = log if isinstance(log, str) else log.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ANSI_TEXT.sub("", text)
    if "\r" in text:  # also a line that is overwritten repeatedly
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return (line if len(line) <= _LINE else line[:_LINE] for line in text.split("\n"))


def is_cut(line: str) -> bool:
    """True if the line stands for output that was left out."""
    return line.startswith("[kedge: ") and _CUT_LINE.fullmatch(line) is not None
