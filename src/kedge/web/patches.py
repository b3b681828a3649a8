"""A patch as lines to show: which file, what was added, what was removed. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kedge.host.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 200_000  # of a patch that are shown
_MOST_LINE = 600  # characters
_KINDS = {"+": "added", "-": "removed", "@": "hunk", " ": "same", "\\": "note"}


@dataclass(frozen=True, slots=True)
class PatchedFile:
    """A file of a patch, and its lines with what each is."""

    path: str
    lines: tuple[tuple[str, str], ...]

    @property
    def added(self) -> int:
        return sum(kind == "added" for kind, _ in self.lines)

    @property
    def removed(self) -> int:
        return sum(kind == "removed" for kind, _ in self.lines)


def read_patch(data: bytes) -> tuple[list[PatchedFile], bool]:
    """Return the files of a patch, and True if it was too long to show all of it."""
    text = redact(data[:MOST_BYTES].decode("utf-8", "replace"))
    return list(_split_files(text)), len(data) > MOST_BYTES


def _split_files(text: str) -> Iterator[PatchedFile]:
    path, lines, inside = "", list[tuple[str, str]](), False
    for line in text.split("\n"):
        if line.startswith("diff --git "):
            if path:
                yield PatchedFile(path, tuple(lines))
            path, lines, inside = _find_path(line), [], False
        elif line.startswith("@@ "):
            inside = True
            lines.append(("hunk", line[:_MOST_LINE]))
        elif inside and line[:1] in _KINDS:
            lines.append((_KINDS[line[0]], line[:_MOST_LINE]))
        elif not inside and line.startswith(
            ("new file", "deleted file", "rename ", "old mode", "new mode", "GIT binary")
        ):
            lines.append(("note", line[:_MOST_LINE]))
    if path:
        yield PatchedFile(path, tuple(lines))


def _find_path(line: str) -> str:
    """Return the path in the head of a file's part: `diff --git a/PATH b/PATH`, or a rename."""
    names = line.removeprefix("diff --git ")
    half = len(names) // 2
    before, after = names[:half], names[half + 1 :]
    if before[2:] == after[2:]:
        return after.removeprefix("b/")
    return names.rpartition(" b/")[2].strip('"') or names
