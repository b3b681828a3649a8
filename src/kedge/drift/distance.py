"""How far a session's work is from what was asked, told from words, pairs and files.

Two questions. Has the work met what the user spoke of? A goal of many words and names that is
hardly met by many actions is another goal's work. And do the last few changes belong to the work
before them? Changes in unknown files, in unknown words, that meet nothing of the goal, do not.
"""

from __future__ import annotations

import posixpath
from functools import lru_cache
from math import log1p

from kedge.drift.memory import WINDOW
from kedge.drift.topic import terms
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence, Set
    from typing import Protocol

    from kedge.drift.memory import State

    class Neighbours(Protocol):
        """Files that belong together: by imports, by names, by changing together."""

        @property
        def lacks(self) -> tuple[str, ...]:
            """What is not there to know them by."""
            ...

        def near(self, path: str) -> Collection[str]: ...


_FEWEST_PAIRS = 2  # a goal with fewer says too little to be compared with
SPECIFIC = 14  # and one with fewer too little to be missed
_FEWEST_CHANGES = 3  # before anything is said
_LARGEST = 120  # pairs that count: much of a long message is a log, or a plan's detail
_MOST_NAMES = 20
_MOST_FILES = 100  # of the last changes whose paths are read
_BEFORE = tuple(f"{word}{sign}" for word in ("test", "spec", "it") for sign in "_.-")
_AFTER = (
    *(f"{sign}{word}" for word in ("test", "tests", "spec", "e2e", "unit") for sign in "_.-"),
    "Tests", "Test", "Spec",
)  # fmt: skip
_TOLD = ("/doc/", "/docs/", "/changes/", "/changelog.d/", "/newsfragments/")
_ALONG = frozenset(("package.json", "pyproject.toml", "Cargo.toml", "go.mod"))


class Distance(NamedTuple):
    """`goal` and `work` are far when they are high; None where nothing can be said."""

    goal: float | None
    work: float | None
    named: bool  # the user named a file that this changes, or one beside it


@lru_cache(4_096)
def key(path: str) -> str:
    """What a file has in common with its test: the name without marks of a test and ending."""
    stem = posixpath.basename(path).removeprefix(".").partition(".")[0]
    for mark in _BEFORE:
        stem = stem.removeprefix(mark) or stem
    for mark in _AFTER:
        stem = stem.removesuffix(mark) or stem
    return stem.lower()


_folder = lru_cache(4_096)(posixpath.dirname)


def goes_along(path: str) -> bool:
    """Whether a file goes along with changes to others: documents, manifests, lock files."""
    name = posixpath.basename(path)
    if name in _ALONG or name.endswith((".md", ".rst", ".adoc", ".lock", ".sum")):
        return True
    if "lock" in name and name.endswith((".json", ".yaml", ".yml")):
        return True
    return any(folder in f"/{path}" for folder in _TOLD)


def _is_path(name: str) -> bool:
    """Whether a name that the user wrote is that of a file or folder, not of an identifier."""
    end = name.rpartition(".")[2] if "." in name else ""
    return "/" in name or (
        0 < len(end) < 7 and end.isascii() and end.isalnum() and end.islower() and end[0].isalpha()
    )


@lru_cache(1)  # of one message, for all the changes after it
def _places(named: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The keys of the files, and the folders, among what the user named."""
    paths = [name for name in named if _is_path(name)]
    return (
        frozenset(key(path) for path in paths if "." in posixpath.basename(path)),
        frozenset(path.strip("./") for path in paths if "/" in path),
    )


def measure(
    state: State,
    named: Sequence[str],
    files: tuple[str, ...],
    neighbours: Neighbours | None = None,
) -> Distance:
    """How far the session is after its last modifying action, which changed `files`.

    `named` are the files, folders and identifiers that the user named.
    """
    wanted, folders = _places(tuple(named))
    on_named = any(belongs(path, wanted, neighbours) or _folder(path) in folders for path in files)
    if (
        len(state.pairs) < _FEWEST_PAIRS
        or state.modified < _FEWEST_CHANGES
        or on_named
        or state.on_named * 2 > state.modified
    ):
        return Distance(None, None, on_named)
    return Distance(
        _from_goal(state, len(named)), _from_work(state, len(named), neighbours), on_named
    )


# What follows are log-odds, fitted to sessions on their goal and sessions on another one, and
# rounded. The longer a goal is and the more it names, the more of it must be met; a word of the
# goal that stands in a path is met by any work in that place, and does not count.


def _from_goal(state: State, names: int) -> float:
    recent = _all(step.words for step in state.window) | _all(
        step.read_words for step in state.window
    )
    vocabulary = len(state.known) + len(recent.difference(state.known))
    met = len(state.reached_words.keys() - state.placed.keys())
    return (
        1.5 * log1p(min(len(state.pairs), _LARGEST))
        + 2.0 * log1p(min(names, _MOST_NAMES))
        + 1.5 * log1p(vocabulary)
        - 2.0 * log1p(met)
        - 1.5 * log1p(len(state.reached_pairs))
        - 2.5 * log1p(min(len(state.reached_names), _MOST_NAMES))
        - 7.5
    )


def _from_work(state: State, names: int, neighbours: Neighbours | None) -> float | None:
    """How little the last changes have to do with those before them, and with the goal."""
    steps = state.window[-WINDOW:]
    before = state.modified - state.turned_at - len(steps)
    if len(steps) < _FEWEST_CHANGES or before < _FEWEST_CHANGES or state.elsewhere:
        return None
    words = _all(step.words for step in steps)
    files = [path for step in steps for path in step.files]
    places = terms("\n".join(files[:_MOST_FILES])).words
    unknown = len(words.difference(state.known).difference(state.words))
    known = set(map(key, state.files))
    folders = set(map(_folder, state.files))
    familiar = sum(belongs(path, known, neighbours) for path in files) / (len(files) or 1)
    beside = sum(_folder(path) in folders for path in files) / (len(files) or 1)
    return (
        1.0 * log1p(min(len(state.pairs), _LARGEST))
        + 0.75 * log1p(min(names, _MOST_NAMES))
        + 3.0 * unknown / (len(words) + 1)
        - 1.25 * familiar
        - 1.0 * beside
        - 1.25 * log1p(len((words & state.words.keys()) - places))
        - 0.5 * log1p(len(_all(step.pairs for step in steps)))
        - 1.25 * log1p(len(_all(step.names for step in steps)))
        - 2.5
    )


def _all(texts: Iterable[Iterable[str]]) -> set[str]:
    return set().union(*texts)


def belongs(path: str, keys: Set[str], neighbours: Neighbours | None) -> bool:
    """Whether a file is one of these, the test of one, or near one."""
    if key(path) in keys:
        return True
    return neighbours is not None and any(key(near) in keys for near in neighbours.near(path))
