"""The directories that a workspace's patterns name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from kedge.repomap.project.parts import join, parent
from kedge.repomap.project.source import Project

MAX_PATTERNS = 60
MAX_MEMBERS = 400


def expand(project: Project, home: str, patterns: Iterable[str], manifest: str) -> list[str]:
    """The directories below `home` that match a pattern, not an exclusion, and hold the file."""
    wanted: list[list[str]] = []
    refused: list[list[str]] = []
    for pattern in list(patterns)[:MAX_PATTERNS]:
        plain = pattern.removeprefix("!").removeprefix("./").rstrip("/")
        if plain and len(plain) < 200:
            (refused if pattern.startswith("!") else wanted).append(plain.split("/"))
    if not wanted:
        return []
    start = len(home) + 1 if home else 0
    found = []
    for path in project.named(manifest):
        directory = parent(path)
        if directory == home or not directory.startswith(join(home, "")):
            continue
        parts = directory[start:].split("/")
        if any(_matches(parts, pattern) for pattern in wanted) and not any(
            _matches(parts, pattern) for pattern in refused
        ):
            found.append(directory)
    return found[:MAX_MEMBERS]


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if "**" not in pattern:
        return len(parts) == len(pattern) and all(map(_fits, parts, pattern))
    # which prefixes of the pattern can stand for the parts so far
    reached = _skip({0}, pattern)
    for part in parts:
        after = {place for place in reached if place < len(pattern) and pattern[place] == "**"}
        after |= {
            place + 1
            for place in reached
            if place < len(pattern) and pattern[place] != "**" and _fits(part, pattern[place])
        }
        reached = _skip(after, pattern)
    return len(pattern) in reached


def _fits(part: str, pattern: str) -> bool:
    if pattern in ("*", part):
        return True
    return any(sign in pattern for sign in "*?[") and fnmatchcase(part, pattern)


def _skip(places: set[int], pattern: Sequence[str]) -> set[int]:
    found = set(places)
    for start in sorted(places):
        place = start
        while place < len(pattern) and pattern[place] == "**":
            place += 1
            found.add(place)
    return found
