"""The lines of a transcript, one at a time, whatever is in the file.

A file may be written by several processes while it is read, and may be cut off at any byte. Memory
depends neither on the length of the file nor on that of its longest line, and time on the number
of bytes more than on that of lines: a flood of lines that cannot be records is passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

from kedge.host.files import file_error
from kedge.host.text import count_noun
from kedge.host.zstd import open_zstd

COMPRESSED = ".zst"
SUFFIXES = (".jsonl", f".jsonl{COMPRESSED}")  # of the names of transcripts
LONGEST = 8 << 20  # bytes; longer lines are left out
_BUFFER = 1 << 18
_BOM = b"\xef\xbb\xbf"
# one of them is in every record that is read
_RECORD = re.compile(rb'type"|"instructions"|"projectHash"')
_OBJECTS = re.compile(rb"^\{[^\n]*\}\r?$", re.MULTILINE)  # of a kind that is not known
_BLANK_LINES = re.compile(rb"\n\s+")
# how a record starts, to find one behind a truncated record
_BEGIN = re.compile(r'\{"(?:parentUuid|type|timestamp)":')
_MOST_TRIES = 16
_MOST_REPAIRS = 10_000  # damaged lines of a file


class TranscriptLines:
    """The lines of a file that may hold a record, and a count of damaged lines.

    Blank and overlong lines are left out, and those after the line number `last`.
    """

    def __init__(
        self,
        path: Path,
        on_read: Callable[[int], None] | None = None,
        *,
        last: float = float("inf"),
    ) -> None:
        self.path = path
        self.number = 0
        self.long = 0  # lines
        self.damaged = 0
        self.first = 0  # number of the first damaged or overlong line
        self._on_read = on_read
        self._last = last

    def __iter__(self) -> Iterator[bytes]:
        """Yield the lines, and call `on_read` with the bytes read; raises FileError."""
        begun: list[bytes] = []  # a line that does not end in its block
        size = 0
        try:
            with self._open() as file:
                while self.number < self._last and (block := file.read(_BUFFER)):
                    if self._on_read is not None:
                        self._on_read(len(block))
                    if not (self.number or begun):
                        block = block.removeprefix(_BOM)
                    head, newline, rest = block.partition(b"\n")
                    size += len(head)
                    if size < LONGEST:
                        begun.append(head)
                    if not newline:
                        continue
                    yield from self._find_line(b"".join(begun), size)
                    whole, newline, last = rest.rpartition(b"\n")
                    if newline:
                        yield from self._find_lines(whole)
                    begun, size = [last], len(last)
                if size and self.number < self._last:
                    yield from self._find_line(b"".join(begun), size)
        except OSError as error:
            raise file_error("read", self.path, error) from error

    def _open(self) -> AbstractContextManager[IO[bytes]]:
        if self.path.name.endswith(COMPRESSED):
            return open_zstd(self.path)
        return self.path.open("rb")

    def _find_line(self, line: bytes, size: int) -> Iterator[bytes]:
        """Yield a line that was read in parts, unless it is longer than what was kept of it."""
        if size < LONGEST:
            yield from self._find_lines(line)
        else:
            self.number += 1
            self.long += 1
            self.first = self.first or self.number

    def _find_lines(self, lines: bytes) -> Iterator[bytes]:
        """Yield those of some whole lines that may hold a record, and count the others."""
        at = 0
        while found := _RECORD.search(lines, at):
            start, end = lines.rfind(b"\n", at, found.start()) + 1, lines.find(b"\n", found.end())
            start, end = max(start, at), len(lines) if end < 0 else end
            if start > at:
                self._pass_over(lines[at : start - 1])
            self.number += 1
            yield lines[start:end]
            at = end + 1
        if at <= len(lines):
            self._pass_over(lines[at:])

    def _pass_over(self, lines: bytes) -> None:
        """Count lines without a record; they are damaged, unless blank or an object."""
        others = _OBJECTS.sub(b"", lines)
        if text := others.strip():
            before = others[: others.index(text[:1])].count(b"\n")
            self.first = self.first or self.number + before + 1
            self.damaged += _BLANK_LINES.sub(b"\n", text).count(b"\n") + 1
        self.number += lines.count(b"\n") + 1

    def count_damaged(self) -> None:
        """Count the last line as damaged."""
        self.damaged += 1
        self.first = self.first or self.number

    @property
    def can_repair(self) -> bool:
        """True if there are not too many damaged lines to try to repair one more."""
        return self.damaged < _MOST_REPAIRS

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
