"""A directory tree that spends its lines where the code is."""

from __future__ import annotations

from collections.abc import Mapping

from kedge.host.record import NamedTuple

_LEAST = 0.02  # of all that the code weighs


class Branch(NamedTuple):
    depth: int
    name: str  # from the branch above it
    path: str
    files: int


def branches(scores: Mapping[str, float], most: int) -> list[Branch]:
    """The directories that weigh most, each below its parent.

    A directory weighs what its files score. One that holds nothing but one other directory is
    written together with it.
    """
    direct: dict[str, tuple[float, int]] = {}
    for path, score in scores.items():
        folder = path.rpartition("/")[0]
        weight, files = direct.get(folder, (0.0, 0))
        direct[folder] = (weight + score, files + 1)
    mass: dict[str, float] = {}
    count: dict[str, int] = {}
    below: dict[str, set[str]] = {}
    for home, (weight, files) in direct.items():
        folder = home
        while folder:
            mass[folder] = mass.get(folder, 0.0) + weight
            count[folder] = count.get(folder, 0) + files
            parent = folder.rpartition("/")[0]
            below.setdefault(parent, set()).add(folder)
            folder = parent
    order = sorted(mass, key=lambda folder: (-mass[folder], folder))
    least = _LEAST * sum(scores.values())
    whole = [
        folder
        for folder in order
        if mass[folder] >= least and (folder in direct or len(below[folder]) > 1)
    ][:most]
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
