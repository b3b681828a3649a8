"""Server-sent events, read incrementally with the raw bytes of each, and written."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any

# Two line ends: the second one ends the event. A line ends with LF, CR or CRLF; the groups are
# atomic, so that the two halves of one CRLF are not taken for two line ends.
_END = re.compile(rb"(?>\r\n?|\n)(?>\r\n?|\n)")
_LINE = re.compile(rb"\r\n?|\n")
_OVERLAP = 3  # bytes of two line ends that a chunk may cut off


class SseEvent:
    """One event with its bytes as they arrived, the blank line included.

    What stands before a blank line is an event here, comments and empty lines as well: all raw
    bytes together are the stream.
    """

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def __repr__(self) -> str:
        return f"SseEvent({self.raw!r})"

    @cached_property
    def data(self) -> bytes:
        """The data of the event: its `data` lines, joined."""
        return b"\n".join(self._list_fields(b"data"))

    @cached_property
    def name(self) -> str:
        """The event's type; empty if it has none."""
        names = self._list_fields(b"event")
        return names[-1].decode("utf-8", "replace") if names else ""

    @cached_property
    def json(self) -> dict[str, Any] | None:
        """The data if it is a JSON object, else None."""
        try:
            value = json.loads(self.data)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def _list_fields(self, name: bytes) -> list[bytes]:
        values = []
        for line in _LINE.split(self.raw.removeprefix(b"\xef\xbb\xbf")):
            field, _, value = line.partition(b":")
            if field == name:
                values.append(value.removeprefix(b" "))
        return values


class SseReader:
    """Splits a stream of bytes into events, however the bytes are cut into chunks."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._searched = 0  # bytes of `_pending` in which no event ends

    @property
    def size(self) -> int:
        """The number of bytes of the event that is not complete."""
        return len(self._pending)

    def feed(self, data: bytes) -> list[SseEvent]:
        """Return the events that are complete with these bytes."""
        self._pending += data
        events, place = [], 0
        while end := _END.search(self._pending, max(place, self._searched)):
            events.append(SseEvent(bytes(self._pending[place : end.end()])))
            place = self._searched = end.end()
        del self._pending[:place]
        self._searched = max(0, len(self._pending) - _OVERLAP)
        return events

    def skip(self, data: bytes, marks: bytes) -> bytes | None:
        """Return the events that are complete with these bytes in one piece, if none of them has
        the marks; None if they have to be read.

        Most events of a stream are text that nobody looks at; this spares taking them apart.
        """
        whole = bytes(self._pending) + data if self._pending else data
        place = whole.rfind(b"\n\n", max(0, len(self._pending) - 1)) + 2
        if place < 2 or marks in whole or b"\r" in whole:
            return None
        self._pending = bytearray(whole[place:])
        self._searched = max(0, len(self._pending) - _OVERLAP)
        return whole[:place]

    def rest(self) -> bytes:
        """Return the bytes after the last complete event, and forget them."""
        data = bytes(self._pending)
        self._pending.clear()
        self._searched = 0
        return data


def write_event(name: str, data: bytes) -> bytes:
    """Return the bytes of an event. `data` must not hold line breaks; JSON does not need any."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"".join(b"data: %s\n" % line for line in _LINE.split(data)) + b"\n"
