"""Reading a map's text back: which files and definitions it shows."""

from __future__ import annotations

import re
from dataclasses import dataclass

_GROUP = re.compile(r"([^{}]*)\{([^{}]+,[^{}]+)\}(\.[^{},/]*)?")
_LEGEND = re.compile(r"^… in a path stands for (.+)$", re.MULTILINE)
_SYMBOL = re.compile(r"((?:  )+)(\d+) (.+)")


@dataclass(frozen=True)
class Shown:
    """A file of the map, who uses it, and its definitions as depth, line and signature."""

    path: str
    users: tuple[str, ...]
    symbols: tuple[tuple[int, int, str], ...]


def expand(line: str) -> list[str]:
    """The paths of a line below `also`."""
    group = _GROUP.fullmatch(line)
    if group is None:
        return [line]
    return [f"{group[1]}{stem}{group[3] or ''}" for stem in group[2].split(",")]


def read_map(text: str) -> tuple[list[Shown], list[str]]:
    """The files with their definitions, and the paths below `also`, all of them in full."""
    body = text.partition("\n\n")[2]
    legend = _LEGEND.search(text)
    folders = legend[1] if legend else ""
    if body.startswith("also\n"):
        body = f"\n{body}"
    outline, _, tail = body.partition("\nalso\n")
    shown: list[Shown] = []
    for line in outline.splitlines():
        symbol = _SYMBOL.fullmatch(line)
        if symbol is None:
            path, _, users = line.partition("  used by ")
            path = path.replace("…", folders)
            shown += [Shown(path, tuple(users.split(", ")) if users else (), ())] if line else []
        else:
            last = shown.pop()
            found = (len(symbol[1]) // 2, int(symbol[2]), symbol[3])
            shown.append(Shown(last.path, last.users, (*last.symbols, found)))
    paths = (path for line in tail.splitlines() for path in expand(line))
    return shown, [path.replace("…", folders) for path in paths]
