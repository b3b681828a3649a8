"""The code as a tree of directories, with the share of each in the files and in the ranking."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A directory with code. One that only contains another directory is joined with it."""

    path: str  # empty for the root
    files: int
    own: int  # files that are in no directory below
    share: float  # of all files
    weight: float  # share of all weights
    parts: tuple[Part, ...] = ()  # the largest first


def divide_code(weights: Mapping[str, float]) -> Part:
    """Divide files into directories. `weights` has the path and the weight of each file."""
    direct: defaultdict[str, list[float]] = defaultdict(list)
    for path, weight in weights.items():
        direct[path.rpartition("/")[0]].append(weight)
    below: defaultdict[str, list[str]] = defaultdict(list)
    for folder in {up for home in direct for up in _ancestors(home)}:
        below[folder.rpartition("/")[0]].append(folder)
    total = math.fsum(weights.values()) or 1.0
    built: dict[str, Part] = {}
    order = {folder for inner in below.values() for folder in inner} | {""}
    for folder in sorted(order, key=lambda name: (-name.count("/"), name == "")):
        own = direct.get(folder, [])
        inner = [built.pop(child) for child in sorted(below.get(folder, ()))]
        if folder and len(inner) == 1 and not own:
            built[folder] = inner[0]
            continue
        inner.sort(key=lambda part: (-part.share - part.weight, part.path))
        files = sum([part.files for part in inner], start=len(own))
        weight = math.fsum([*(part.weight for part in inner), math.fsum(own) / total])
        share = files / (len(weights) or 1)
        built[folder] = Part(folder, files, len(own), share, weight, tuple(inner))
    return built[""]


def _ancestors(folder: str) -> list[str]:
    """The directory itself and those above, without the root."""
    found = []
    while folder:
        found.append(folder)
        folder = folder.rpartition("/")[0]
    return found
