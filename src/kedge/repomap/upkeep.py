"""Commits that only keep a project up to date: releases, dependency updates, change logs.

They change the same few files again and again, which says nothing of where the work is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_MOSTLY = 0.4  # share of upkeep in the changes of a file that is only kept up to date
_OFTEN = 3  # changes by upkeep that such a file has at least
_DISTINCT = 0.8  # if more of all commits look like upkeep, their subjects say nothing

_VERSION = r"v?\d{1,5}(?:\.\d{1,5}){1,3}(?:[-.+]?[a-z]{1,8}[-.\d]{0,8})?"
# `chore(deps): …`, `release: …`
_PREFIX = re.compile(r"(?:\w{1,12}\((?:deps|deps-dev|release)\)|release)!?:")
_TAG = re.compile(r"^\[[^\]]{0,40}\] {0,2}")
_KIND = re.compile(r"\w{1,20}(?:\([^()]{0,40}\))?!?: {0,3}")
_NUMBER = re.compile(rf"(?:^|[\s@(=^~]){_VERSION}")
_BARE = re.compile(rf"(?:[\w@/.-]{{1,40}} )?(?:[\w/-]{{1,40}}@)?{_VERSION}(?: \(#\d+\))?$")
_OPENING_WORDS = """release releases released releasing bump bumps bumped bumping prepare prepares
preparing start finalize finalise tag cut reopen version move back begin update updates updated
upgrade upgrades upgraded"""
_OPENINGS = frozenset(_OPENING_WORDS.split())
_OBJECT_WORDS = """version versions release changelog dependency dependencies deps requirement
requirements changelog.md"""
_OBJECTS = frozenset(_OBJECT_WORDS.split())

_LOCKS = (".lock", "-lock.json", "-lock.yaml", ".lockb", ".lockfile", ".lock.json", ".lock.hcl")
_LOCK_NAMES = frozenset({"go.sum", "npm-shrinkwrap.json", "package.resolved", "go.work.sum"})
_CHANGE_LOGS = """changelog changelogs changes history news releases release-notes releasenotes
release_notes newsfragments changeset .changeset whatsnew"""
_CHANGES = frozenset(_CHANGE_LOGS.split())
_PROSE = frozenset(["", "md", "rst", "txt", "adoc", "rdoc", "org", "markdown"])


def find_upkeep(commits: Sequence[tuple[str, list[str]]]) -> list[bool]:
    """True for each commit, of subject and paths, that only keeps the project up to date.

    Its subject is that of a release or of a dependency update, or all of its files are change logs,
    lock files, or files that such commits change most of the time.
    """
    found = [is_upkeep(subject) for subject, _ in commits]
    if sum(found) > _DISTINCT * len(found):
        found = [False] * len(found)
    total = Counter(path for _, paths in commits for path in paths)
    upkeep = Counter(
        path for (_, paths), own in zip(commits, found, strict=True) if own for path in paths
    )
    kept = {
        path for path, count in upkeep.items() if count >= _OFTEN and count >= _MOSTLY * total[path]
    }
    kept |= set(filter(is_record, total))
    return [
        own or (bool(paths) and kept.issuperset(paths))
        for own, (_, paths) in zip(found, commits, strict=True)
    ]


def is_upkeep(subject: str) -> bool:
    """True for the subject of a release or a dependency update, such as `Release v1.2`."""
    lower = _TAG.sub("", subject[:200].lower().strip())
    if _PREFIX.match(lower):
        return True
    kind = _KIND.match(lower)
    rest = lower[kind.end() :] if kind else lower
    if _BARE.match(rest):
        return True
    first, *others = rest.split() or [""]
    return first in _OPENINGS and (
        _NUMBER.search(rest) is not None or not _OBJECTS.isdisjoint(others)
    )


def is_record(path: str) -> bool:
    """True for change logs and lock files, which other changes are recorded in."""
    *folders, name = path.lower().split("/")
    if name.endswith(_LOCKS) or name in _LOCK_NAMES:
        return True
    stem, _, ending = name.rpartition(".") if "." in name else (name, "", "")
    if ending not in _PROSE:
        return False
    return stem in _CHANGES or not _CHANGES.isdisjoint(folders)
