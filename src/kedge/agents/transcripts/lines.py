"""The lines of a transcript, one at a time, whatever is in the file.

A file may be written by several processes while it is read, and may be cut off at any byte. Memory
depends neither on the length of the file nor on that of its longest line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from kedge.host.files import file_error
from kedge.host.text import count_noun

LONGEST = 8 << 20  # bytes; longer lines are left out
_BUFFER = 1 << 18
_BOM = b"\xef\xbb\xbf"
# how a record starts, to find one behind a truncated record
_BEGIN = re.compile(r'\{"(?:parentUuid|type|timestamp)":')
_MOST_TRIES = 16


class TranscriptLines:
    """The lines of a file without blank and overlong ones, and a count of damaged lines."""

    def __init__(self, path: Path, on_read: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.number = 0
        self.long = 0  # lines
        self.damaged = 0
        self.first = 0  # number of the first damaged or overlong line
        self._on_read = on_read

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines, and call `on_read` with the size of each; raises FileError."""
        try:
            with self.path.open("rb", buffering=_BUFFER) as file:
                while line := file.readline(LONGEST):
                    self.number += 1
                    size = len(line)
                    if size == LONGEST and not line.endswith(b"\n"):
                        while more := file.readline(_BUFFER):
                            size += len(more)
                            if more.endswith(b"\n"):
                                break
                        line = b""
                        self.long += 1
                        self.first = self.first or self.number
                    if self._on_read is not None:
                        self._on_read(size)
                    if self.number == 1:
                        line = line.removeprefix(_BOM)
                    if not line.isspace() and line:
                        yield line
        except OSError as error:
            raise file_error("read", self.path, error) from error

    def count_damaged(self) -> None:
        """Count the last line as damaged."""
        self.damaged += 1
        self.first = self.first or self.number

    def warning(self) -> str | None:
        """Return a sentence on what could not be read; None if there was nothing."""
        parts = []
        if self.damaged:
            parts.append(count_noun(self.damaged, "damaged line"))
        if self.long:
            lines = count_noun(self.long, "line")
            parts.append(f"{lines} longer than {LONGEST >> 20} MiB, left out")
        return f"{self.path}:{self.first}: {' and '.join(parts)}" if parts else None


def repair_line(line: bytes) -> tuple[list[bytes], bool]:
    """Return the records in a damaged line, and True if nothing of the line was lost.

    Incomplete characters, bare control characters and half surrogate pairs are replaced. Several
    records on one line are separated, also one behind a truncated record.
    """
    text = line.decode("utf-8", "replace").strip()
    decoder = json.JSONDecoder(strict=False)
    records: list[bytes] = []
    place = tries = 0
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            tries += 1
            begin = _BEGIN.search(text, place + 1)
            if begin is None or tries > _MOST_TRIES:
                return records, False
            place = begin.start()
        else:
            records.append(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return records, tries == 0
