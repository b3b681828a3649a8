"""A mark for the directories that most paths of a map have in common.

In many Java projects a third of a map would repeat `src/main/java/org/example`. One line says what
`…` stands for, and the paths below have it instead: `core/…/net/Tls.java`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

MARK = "…"
_LOOKED_AT = 60  # paths, about as many as a map shows
_LEAST = 3  # directories
_SHORT = 400  # tokens; in a smaller map the line would cost more than it saves


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """Directories, as `src/main/java`, that a mark stands for; empty if none are worth it."""

    folders: str = ""

    def legend(self) -> list[str]:
        return [f"{MARK} in a path stands for {self.folders}"] if self.folders else []

    def shorten(self, path: str) -> str:
        """The path with the mark instead of the directories, if it has them."""
        if not self.folders:
            return path
        return f"/{path}".replace(f"/{self.folders}/", f"/{MARK}/", 1)[1:]


def find_abbreviation(paths: Sequence[str], budget: int) -> Abbreviation:
    """The directories in a row that save most, if at least half of the first paths have them."""
    looked_at = paths[:_LOOKED_AT]
    if budget < _SHORT or any(MARK in path for path in paths):
        return Abbreviation()
    counts = Counter(run for path in looked_at for run in _list_runs(path))
    common = [run for run, count in counts.items() if 2 * count >= len(looked_at)]
    best = max(common, key=lambda run: (counts[run] * len(run), run), default="")
    return Abbreviation(best)


def _list_runs(path: str) -> set[str]:
    """All rows of directories in a path that are long enough."""
    parts = path.split("/")[:-1]
    return {
        "/".join(parts[start:end])
        for start in range(len(parts))
        for end in range(start + _LEAST, len(parts) + 1)
    }
