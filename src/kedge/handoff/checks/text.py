"""The output of a check as it is kept: bounded, without colour, cut only between lines."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

HEAD = 2 << 20
TAIL = 6 << 20
_LINE = 2000  # no line that a tool writes as a result is longer

_CUT = "[kedge: {} bytes of output left out]"
_CUT_LINE = re.compile(r"\[kedge: \d{1,18} bytes of output left out\]")
# CSI, OSC and the short sequences. An OSC may hold no line break: one that is never closed must
# not swallow the log.
_ANSI = re.compile(
    rb"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)|[ -/]++[0-~]|[0-Z\\^-~])"
)
_ANSI_TEXT = re.compile(_ANSI.pattern.decode())


class Keeper:
    """Takes output as it arrives and keeps its head and its tail."""

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
        """What is kept, without colour, and where something is missing a line that says so."""
        head, tail = bytes(self._head), b"".join(self._tail)[-self._limits[1] :]
        if len(head) + len(tail) == self.size:
            return without_colour(head + tail)
        # Half of a line could say something else than the whole: "13 failed", "3 failed".
        head = head[: head.rfind(b"\n") + 1] or head + b"\n"
        tail = tail[tail.find(b"\n") + 1 :]
        mark = _CUT.format(self.size - len(head) - len(tail)).encode()
        return without_colour(b"%b%b\n%b" % (head, mark, tail))


def bounded(log: bytes) -> bytes:
    """A log that somebody else kept, as kedge would have kept it."""
    keeper = Keeper()
    if len(log) <= HEAD + TAIL + 100:  # the line that tells of a cut has room, too
        return without_colour(log)
    keeper.add(log)
    return keeper.log()


def without_colour(log: bytes) -> bytes:
    return _ANSI.sub(b"", log) if b"\x1b" in log else log


def lines(log: bytes | str) -> Iterator[str]:
    """The lines of a log, from any encoding and with any line ends, each of a bearable length."""
    text = log if isinstance(log, str) else log.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ANSI_TEXT.sub("", text)
    if "\r" in text:  # also a line that is written over and over
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return (line if len(line) <= _LINE else line[:_LINE] for line in text.split("\n"))


def is_cut(line: str) -> bool:
    """Whether the line is the one that stands for what was left out."""
    return line.startswith("[kedge: ") and _CUT_LINE.fullmatch(line) is not None
