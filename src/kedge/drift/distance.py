"""How far a session's work is from what was asked, told from words, pairs and files.

Two questions. Has the work met what the user spoke of? A goal of many words and names that is
hardly met by many actions is another goal's work. And do the last few changes belong to the work
before them? Changes in unknown files, in unknown words, that meet nothing of the goal, do not.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from math import log1p
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kedge.drift.memory import WINDOW

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kedge.drift.memory import State

_FEWEST_PAIRS = 6  # a goal with fewer says too little to be compared with
SPECIFIC = 14  # and one with fewer too little to be missed
_FEWEST_CHANGES = 3  # before anything is said
_LARGEST = 120  # pairs that count: much of a long message is a log, or a plan's detail
_MOST_NAMES = 20
_FEWEST_WORDS = 30  # of the work, before it can be said to meet nothing
_MET = 1 / 3  # of the goal's words: more of them is no other goal
_PATH = re.compile(r"/|\.[a-z][a-z0-9]{0,5}$")
_TEST = re.compile(
    r"^(?:test|spec|it)[_.-]|[_.-](?:test|tests|spec|e2e|unit)$|(?:Test|Tests|Spec)$"
)
_ALONG = re.compile(
    r"(?:^|/)(?:docs?|changes|changelog\.d|newsfragments)/|\.(?:md|rst|adoc|lock|sum)$"
    r"|(?:^|/)(?:[^/]*lock[^/]*\.(?:json|ya?ml)|package\.json|pyproject\.toml|Cargo\.toml|go\.mod)$"
)


class Neighbours(Protocol):
    """Files that belong together: by imports, by names, by changing together."""

    def near(self, path: str) -> Collection[str]: ...


class Distance(NamedTuple):
    """`goal` and `work` are far when they are high; None where nothing can be said."""

    goal: float | None
    work: float | None
    named: bool  # the user named a file that this changes, or one beside it


@lru_cache(4_096)
def key(path: str) -> str:
    """What a file has in common with its test: the name without marks of a test and ending."""
    stem = posixpath.basename(path).removeprefix(".").partition(".")[0]
    for _ in range(2):
        stem = _TEST.sub("", stem) or stem
    return stem.lower()


def goes_along(path: str) -> bool:
    """Whether a file goes along with changes to others: documents, manifests, lock files."""
    return _ALONG.search(path) is not None


def measure(
    state: State,
    named: Sequence[str],
    files: tuple[str, ...],
    neighbours: Neighbours | None = None,
) -> Distance:
    """How far the session is after its last modifying action, which changed `files`.

    `named` are the files, folders and identifiers that the user named.
    """
    paths = [name for name in named if _PATH.search(name)]
    wanted = {key(path) for path in paths if "." in posixpath.basename(path)}
    folders = {path.strip("./") for path in paths if "/" in path}
    on_named = any(
        belongs(path, wanted, neighbours) or posixpath.dirname(path) in folders for path in files
    )
    if (
        len(state.pairs) < _FEWEST_PAIRS
        or state.modified < _FEWEST_CHANGES
        or on_named
        or state.on_named * 2 > state.modified
    ):
        return Distance(None, None, on_named)
    names = min(len(named), _MOST_NAMES)
    goal = _from_goal(state, names, wanted)
    return Distance(goal, _from_work(state, names, neighbours), on_named)


def _apart(state: State, names: int, vocabulary: int, words: int, pairs: int) -> float:
    """How much less of the goal is met than such a goal, and so much work, would let expect.

    What is spoken of by its name is met by name; what is told in prose is not.
    """
    size = min(len(state.pairs), _LARGEST)
    expected = 1.5 * log1p(size) + 0.75 * log1p(names) + 0.5 * log1p(vocabulary)
    return expected - 1.5 * (log1p(words) + log1p(pairs))


def _from_goal(state: State, names: int, wanted: set[str]) -> float | None:
    met = len(state.reached_words)
    recent = {word for step in state.window for word in (*step.words, *step.read_words)}
    vocabulary = len(state.known) + len(recent - state.known.keys())
    if vocabulary < _FEWEST_WORDS:
        return None
    if met > _MET * (len(state.words) + 1):
        return 0.0
    touched = wanted and any(key(path) in wanted for path in (*state.made, *state.files))
    return _apart(state, names, vocabulary, met, len(state.reached_pairs)) - (
        0 if not wanted else 1 if touched else -1
    )


def _from_work(state: State, names: int, neighbours: Neighbours | None) -> float | None:
    steps = state.window[-WINDOW:]
    before = state.modified - len(steps)
    if len(steps) < _FEWEST_CHANGES or before < _FEWEST_CHANGES or state.elsewhere:
        return None
    words = {word for step in steps for word in step.words}
    pairs = {pair for step in steps for pair in step.pairs}
    unknown = sum(word not in state.known and word not in state.words for word in words)
    files = [path for step in steps for path in step.files]
    known = {key(path) for path in state.files}
    familiar = sum(belongs(path, known, neighbours) for path in files) / (len(files) or 1)
    met = len(words & state.words.keys())
    apart = _apart(state, names, len(words), met, len(pairs))
    return apart + 2 * unknown / (len(words) + 1) - 2 * familiar


def belongs(path: str, keys: set[str], neighbours: Neighbours | None) -> bool:
    """Whether a file is one of these, the test of one, or near one."""
    if key(path) in keys:
        return True
    return neighbours is not None and any(key(near) in keys for near in neighbours.near(path))
