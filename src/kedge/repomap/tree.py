"""A short directory tree of where the code is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_LEAST = 0.02  # share of all scores that a directory needs


@dataclass(frozen=True, slots=True)
class Branch:
    depth: int
    name: str  # relative to its parent branch
    path: str
    files: int


def select_branches(scores: Mapping[str, float], most: int) -> list[Branch]:
    """The directories with the highest sum of scores, each below its parent.

    A directory that only contains one other directory is joined with it.
    """
    direct: dict[str, list[float]] = {}
    for path, score in scores.items():
        folder = path.rpartition("/")[0]
        if folder in direct:
            direct[folder].append(score)
        else:
            direct[folder] = [score]
    above: dict[str, str] = {}
    for home in direct:
        folder = home
        while folder and folder not in above:
            parent = above[folder] = folder.rpartition("/")[0]
            folder = parent
    mass = {folder: sum(direct.get(folder, ())) for folder in above}
    count = {folder: len(direct.get(folder, ())) for folder in above}
    below = dict.fromkeys((*above, ""), 0)
    for folder in sorted(above, reverse=True):  # children before their parents
        parent = above[folder]
        below[parent] += 1
        if parent:
            mass[parent] += mass[folder]
            count[parent] += count[folder]
    least = _LEAST * sum(scores.values())
    whole = [
        folder
        for folder in above
        if mass[folder] >= least and (folder in direct or below[folder] > 1)
    ]
    whole = sorted(whole, key=lambda folder: (-mass[folder], folder))[:most]
    shown = set(whole)
    children: dict[str, list[str]] = {}
    for folder in whole:
        parent = folder.rpartition("/")[0]
        while parent and parent not in shown:
            parent = parent.rpartition("/")[0]
        children.setdefault(parent, []).append(folder)
    lines: list[Branch] = []
    stack = [(0, "", folder) for folder in reversed(children.get("", []))]
    while stack:
        depth, parent, folder = stack.pop()
        name = folder[len(parent) + 1 :] if parent else folder
        lines.append(Branch(depth, name, folder, count[folder]))
        stack += [(depth + 1, folder, child) for child in reversed(children.get(folder, []))]
    return lines
