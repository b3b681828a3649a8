"""The working tree, as far as the effect of an act depends on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class WorkTree(Protocol):
    """Paths are relative to the root. None means that it cannot be known."""

    def exists(self, path: str) -> bool: ...
    def is_folder(self, path: str) -> bool: ...
    def expand(self, pattern: str) -> Sequence[str] | None:
        """Return the files that a pattern matches."""

    def is_tracked(self, path: str) -> bool | None:
        """True if git tracks the file, or a file in the folder."""

    def find_uncommitted(self, *, untracked: bool) -> Sequence[str] | None:
        """Return the changed files, or those that git does not know."""


class ReadableTree(WorkTree, Protocol):
    """A working tree whose files can be read."""

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a regular file; None if it is missing or too large."""
