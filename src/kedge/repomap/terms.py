"""Words that mean the same in a path, an identifier, a commit subject and a task."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")
_SHORTEST = 3
_LONGEST = 300  # letters of a path
_UNMISTAKABLE = 3  # files that one word may mean
_COMMON = frozenset(
    """
    the and for with from that this are was were not when into its has have had been being than
    then them they there their can could should would will use used using uses add added adds
    fix fixed fixes make makes made update updated updates remove removed removes also only
    more some which each other does doesn don let get new all any one two but out via now
    instead after before because where while like just over under between thanks issue refs ref
    closes see https http com www org github pull request commit change changes changed none
    true false self
    """.split()  # noqa: SIM905 - easier on the eye
)


@cache
def of_name(name: str) -> tuple[str, ...]:
    """The terms of one identifier: its parts and the whole, in lower case."""
    parts = [part.lower() for part in _PARTS.findall(name) if len(part) >= _SHORTEST]
    found = dict.fromkeys(stem(part) for part in parts)
    whole = name.lower()
    if len(whole) >= _SHORTEST:
        found[stem(whole)] = None
    return tuple(found)


def stem(word: str) -> str:
    """The word without the ending of a plural, an -ing or an -ed: claims, claiming, claimed."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-2] if word.endswith(("sses", "xes", "ches", "shes")) else word[:-1]
    for end in ("ing", "ed"):
        if word.endswith(end) and len(word) - len(end) >= 4:
            stem = word[: -len(end)]
            return stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "ls" else stem
    return word


def of_text(text: str) -> dict[str, float]:
    """What a text is about, with weights; the words that all texts share are left out."""
    counts: dict[str, int] = {}
    for name in _IDENTIFIER.findall(text):
        for term in of_name(name):
            if term not in _COMMON:
                counts[term] = counts.get(term, 0) + 1
    return {term: 1 + math.log(count) if count > 1 else 1.0 for term, count in counts.items()}


def paths_in(text: str) -> list[str]:
    """What looks like a path, or the end of one."""
    runs = (run.strip(".-+/") for run in re.findall(r"[\w./+-]+", text) if len(run) <= _LONGEST)
    return sorted({run for run in runs if "/" in run or "." in run})


def mentioned(text: str, paths: Iterable[str]) -> set[str]:
    """The paths that the text names, in full or by an unmistakable end."""
    words = tuple(paths_in(text))
    ends = [path for path in paths if path.endswith(words)] if words else []
    found: set[str] = set()
    for word in words:
        near = [path for path in ends if f"/{path}".endswith(f"/{word}")]
        if len(near) <= _UNMISTAKABLE:
            found.update(near)
    return found
