"""Paths grouped by directory, so that their names cost little: `src/net/{tls,udp}.py`."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property

from kedge.host import tokens
from kedge.repomap.long_paths import Abbreviation

_SPECIAL = frozenset("{},")
_HEADING = "also"
_ENOUGH = 400  # files that are looked at

Place = tuple[str, str]  # a directory and a suffix


class PathGroups:
    """Paths in rank order, of which as many are chosen as fit."""

    def __init__(self, paths: Sequence[str], short: Abbreviation) -> None:
        self._paths = list(paths[:_ENOUGH])
        self._short = short
        self.chosen: set[str] = set()

    @cached_property
    def price(self) -> int:
        """The price of all paths."""
        return tokens.price("\n".join([*_draw(self._paths, self._short), ""]))

    def drop(self, paths: Container[str]) -> None:
        self._paths = [path for path in self._paths if path not in paths]

    def fill(self, room: int) -> list[str]:
        """The lines with as many of the first paths as fit."""
        lines: list[str] = []
        low, high = 0, len(self._paths)
        while low < high:
            middle = (low + high + 1) // 2
            found = _draw(self._paths[:middle], self._short)
            if tokens.price("\n".join([*found, ""])) <= room:
                low, lines = middle, found
            else:
                high = middle - 1
        self.chosen = set(self._paths[:low])
        return lines


def _split(path: str) -> tuple[Place, str]:
    """The directory and the suffix of a file, and the rest of its name."""
    folder, slash, name = path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    if not stem or not _SPECIAL.isdisjoint(path):
        return ("", ""), path
    return (folder + slash, dot + suffix), stem


def _draw(paths: Sequence[str], short: Abbreviation) -> list[str]:
    groups: dict[Place, list[str]] = {}
    for path in paths:
        place, stem = _split(short.shorten(path))
        groups.setdefault(place, []).append(stem)
    lines = ["", _HEADING] if groups else []
    for (folder, suffix), stems in groups.items():
        if folder + suffix and len(stems) > 1:
            lines.append(f"{folder}{{{','.join(stems)}}}{suffix}")
        else:
            lines += (folder + stem + suffix for stem in stems)
    return lines
