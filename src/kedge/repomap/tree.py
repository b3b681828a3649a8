"""A short directory tree of where the code is."""

from __future__ import annotations

from collections import defaultdict
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
    direct: defaultdict[str, list[float]] = defaultdict(list)
    for path, score in scores.items():
        direct[path.rpartition("/")[0]].append(score)
    below: defaultdict[str, set[str]] = defaultdict(set)
    for home in direct:
        folder = home
        while folder:
            parent = folder.rpartition("/")[0]
            below[parent].add(folder)
            folder = parent
    mass: dict[str, float] = {}
    count: dict[str, int] = {}
    folders = {folder for inner in below.values() for folder in inner}
    for folder in sorted(folders, reverse=True):  # children before their parents
        own, inner = direct.get(folder, []), sorted(below.get(folder, ()), reverse=True)
        mass[folder] = sum([mass[child] for child in inner], start=sum(own))
        count[folder] = sum([count[child] for child in inner], start=len(own))
    least = _LEAST * sum(scores.values())
    whole = [
        folder
        for folder in folders
        if mass[folder] >= least and (folder in direct or len(below[folder]) > 1)
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
