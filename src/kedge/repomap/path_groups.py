"""Paths grouped by directory, so that their names cost little: `src/net/{tls,udp}.py`."""

from __future__ import annotations

from collections.abc import Container, Sequence

from kedge.host import tokens

_SPECIAL = frozenset("{},")
_HEADING = "also"
_ENOUGH = 400  # files that are looked at


class PathGroups:
    """Paths in rank order, of which as many are chosen as fit; directories as their best path."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = list(paths[:_ENOUGH])
        self.chosen: set[str] = set()

    @property
    def price(self) -> int:
        """The price of all paths."""
        return tokens.price("\n".join(["", _HEADING, *_draw(_group(self._paths)), ""]))

    def drop(self, paths: Container[str]) -> None:
        self._paths = [path for path in self._paths if path not in paths]

    def fill(self, room: int) -> list[str]:
        """The lines with as many of the first paths as fit."""
        lines: list[str] = []
        low, high = 0, len(self._paths)
        while low < high:
            middle = (low + high + 1) // 2
            found = ["", _HEADING, *_draw(_group(self._paths[:middle]))]
            if tokens.price("\n".join([*found, ""])) <= room:
                low, lines = middle, found
            else:
                high = middle - 1
        self.chosen = set(self._paths[:low])
        return lines


def _group(paths: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """The names of files without their suffixes, by directory and suffix."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        folder, slash, name = path.rpartition("/")
        stem, dot, suffix = name.rpartition(".")
        if not stem or not _SPECIAL.isdisjoint(path):
            folder, slash, stem, dot, suffix = "", "", path, "", ""
        found.setdefault((folder + slash, dot + suffix), []).append(stem)
    return found


def _draw(groups: dict[tuple[str, str], list[str]]) -> list[str]:
    lines = []
    for (folder, suffix), stems in groups.items():
        if folder + suffix and len(stems) > 1:
            lines.append(f"{folder}{{{','.join(stems)}}}{suffix}")
        else:
            lines += (folder + stem + suffix for stem in stems)
    return lines
