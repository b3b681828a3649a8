"""The lines of a transcript, one at a time, whatever is in the file.

A file may be written while it is read, by more than one process, and cut off at any byte. Memory
does not depend on the length of the file, nor on that of its longest line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from kedge.host.files import file_error

LONGEST = 8 << 20  # bytes of a line; longer ones are left out
_BUFFER = 1 << 18
_BOM = b"\xef\xbb\xbf"
# how records begin, for those that stand behind the half of another
_BEGIN = re.compile(r'\{"(?:parentUuid|type|timestamp)":')
_MOST_TRIES = 16


class Lines:
    """The lines of a file, without empty and overlong ones, and a count of what is damaged."""

    def __init__(self, path: Path, read: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.number = 0
        self.long = 0  # lines
        self.damaged = 0
        self.first = 0  # line that is damaged or too long
        self._read = read

    def __iter__(self) -> Iterator[bytes]:
        """Raises FileError when the file cannot be read. `read` is told the bytes of each line."""
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
                    if self._read is not None:
                        self._read(size)
                    if self.number == 1:
                        line = line.removeprefix(_BOM)
                    if not line.isspace() and line:
                        yield line
        except OSError as error:
            raise file_error("read", self.path, error) from error

    def spoil(self) -> None:
        """The line that was given last is damaged."""
        self.damaged += 1
        self.first = self.first or self.number

    def warning(self) -> str | None:
        """What could not be read, in one line."""
        told = []
        if self.damaged:
            told.append(f"{self.damaged} damaged line{'s' * (self.damaged > 1)}")
        if self.long:
            size = f"longer than {LONGEST >> 20} MiB"
            told.append(f"{self.long} line{'s' * (self.long > 1)} {size}, left out")
        return f"{self.path}:{self.first}: {' and '.join(told)}" if told else None


def mended(line: bytes) -> tuple[list[bytes], bool]:
    """The records that can be had from a line that is not one, and whether they are all of it.

    Half a character, a bare control character and half a surrogate are mended; of records on one
    line each is given, and one that stands behind the half of another.
    """
    text = line.decode("utf-8", "replace").strip()
    decoder = json.JSONDecoder(strict=False)
    found: list[bytes] = []
    place = tries = 0
    while place < len(text):
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            tries += 1
            begin = _BEGIN.search(text, place + 1)
            if begin is None or tries > _MOST_TRIES:
                return found, False
            place = begin.start()
        else:
            found.append(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return found, tries == 0
