"""Search terms: the same for a path, an identifier, a commit subject, a task and a section.

Which terms say nothing differs (every section of a plan has "step"), so that each user of this
module leaves out its own. It is part of the hook path: `typing` and `dataclasses` stay out.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NAME = re.compile(r"[^\W\d]\w+")
_SHORTEST = 3
_LONGEST = 300  # letters of a path at most
_UNMISTAKABLE = 3  # a word that more paths end with names none of them
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
def split_name(name: str) -> tuple[str, ...]:
    """Return the terms of an identifier: its parts and the whole, stemmed, in lower case."""
    parts = _PARTS.findall(name) if name.isascii() else re.findall(r"[^\W\d_]+|[0-9]+", name)
    words = [*parts, name]
    return tuple(dict.fromkeys(stem(word.lower()) for word in words if len(word) >= _SHORTEST))


def stem(word: str) -> str:
    """Return the word without a plural ending, -ing or -ed: `claim` for claims or claimed."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-2] if word.endswith(("sses", "xes", "ches", "shes")) else word[:-1]
    for end in ("ing", "ed"):
        if word.endswith(end) and len(word) - len(end) >= 4:
            stem = word[: -len(end)]
            return stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "ls" else stem
    return word


def split_text(text: str) -> Iterator[str]:
    """Yield the terms of each word and identifier in a text."""
    for name in _NAME.findall(text):
        yield from split_name(name)


def drop_hidden(text: str) -> str:
    """Return the text without HTML comments, such as the instructions of an issue template."""
    kept, place = [], 0
    while (start := text.find("<!--", place)) >= 0 and (end := text.find("-->", start)) >= 0:
        kept.append(text[place:start])
        place = end + len("-->")
    return " ".join([*kept, text[place:]])


def weigh_terms(text: str) -> dict[str, float]:
    """Return the terms of a text with their weights, without common words."""
    counts = Counter(term for term in split_text(drop_hidden(text)) if term not in _COMMON)
    return {term: 1 + math.log(count) if count > 1 else 1.0 for term, count in counts.items()}


def find_pairs(text: str) -> list[tuple[str, str]]:
    """Return the words that stand side by side in the first line of a text, in lower case.

    The first line is the title of a task, an issue or a commit.
    """
    title = drop_hidden(text).strip().partition("\n")[0].lower()
    found = [word for word in re.findall(r"[a-z]+", title) if len(word) > 1]
    return list(dict.fromkeys(pairwise(found)))


def find_paths(text: str) -> list[str]:
    """Return the words of the text that look like a path or the end of one."""
    found = re.findall(r"[\w./+-]+", drop_hidden(text))
    runs = (run.strip(".-+/") for run in found if len(run) <= _LONGEST)
    return sorted({run for run in runs if "/" in run or "." in run})


def find_mentions(text: str, paths: Iterable[str]) -> set[str]:
    """Return the paths that the text names, in full or by an unambiguous end."""
    words = tuple(find_paths(text))
    ends = [path for path in paths if path.endswith(words)] if words else []
    found: set[str] = set()
    for word in words:
        near = [path for path in ends if f"/{path}".endswith(f"/{word}")]
        if len(near) <= _UNMISTAKABLE:
            found.update(near)
    return found
