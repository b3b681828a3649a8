"""How far a session's work is from what was asked, judged by words, pairs of words and files.

Two questions. Does the work mention what the user asked about? Many actions that mention little of
a long goal are work on another goal. And do the last few changes belong to the work before them?
Changes in unknown files, with unknown words, that mention nothing of the goal do not.
"""

from __future__ import annotations

import posixpath
from functools import lru_cache
from math import log1p

from kedge.drift.evidence.memory import WINDOW
from kedge.drift.evidence.topic import extract_terms
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence, Set
    from typing import Protocol

    from kedge.drift.evidence.memory import SessionMemory

    class Neighbours(Protocol):
        """Files that belong together: by imports, by names, by changing together."""

        @property
        def lacks(self) -> tuple[str, ...]:
            """What is missing to find neighbours by."""
            ...

        def near(self, path: str) -> Collection[str]: ...


_FEWEST_PAIRS = 2  # a goal with fewer is too short to compare with
SPECIFIC = 14  # a goal with fewer is too short for the work to be far from it
_FEWEST_CHANGES = 3  # before the distance is measured
_LARGEST = 120  # pairs that count: the rest of a long message is mostly logs and details
_MOST_NAMES = 20
_MOST_FILES = 100  # paths of the last changes that are read
_TEST_PREFIXES = tuple(f"{word}{sign}" for word in ("test", "spec", "it") for sign in "_.-")
_TEST_SUFFIXES = (
    *(f"{sign}{word}" for word in ("test", "tests", "spec", "e2e", "unit") for sign in "_.-"),
    "Tests", "Test", "Spec",
)  # fmt: skip
_DOCUMENTS = ("/doc/", "/docs/", "/changes/", "/changelog.d/", "/newsfragments/")
_MANIFESTS = frozenset(("package.json", "pyproject.toml", "Cargo.toml", "go.mod"))


class Distance(NamedTuple):
    """`goal` and `work` are log-odds, far when high; None where they cannot be measured."""

    goal: float | None
    work: float | None
    named: bool  # the action changes a file that the user named, or one near it


@lru_cache(4_096)
def find_key(path: str) -> str:
    """Return the key that a file shares with its test: its name without test marks and suffix."""
    stem = posixpath.basename(path).removeprefix(".").partition(".")[0]
    for mark in _TEST_PREFIXES:
        stem = stem.removeprefix(mark) or stem
    for mark in _TEST_SUFFIXES:
        stem = stem.removesuffix(mark) or stem
    return stem.lower()


_folder = lru_cache(4_096)(posixpath.dirname)


def is_companion(path: str) -> bool:
    """True for files that change along with others: documents, manifests, lock files."""
    name = posixpath.basename(path)
    if name in _MANIFESTS or name.endswith((".md", ".rst", ".adoc", ".lock", ".sum")):
        return True
    if "lock" in name and name.endswith((".json", ".yaml", ".yml")):
        return True
    return any(folder in f"/{path}" for folder in _DOCUMENTS)


def _is_path(name: str) -> bool:
    """True if a name that the user wrote is a file or folder rather than an identifier."""
    end = name.rpartition(".")[2] if "." in name else ""
    return "/" in name or (
        len(end) < 7 and end.isascii() and end.isalnum() and end.islower() and end[0].isalpha()
    )


@lru_cache(1)  # the same for all changes after a message
def _split_named(named: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the keys of the files that the user named, and the folders."""
    paths = [name for name in named if _is_path(name)]
    return (
        frozenset(find_key(path) for path in paths if "." in posixpath.basename(path)),
        frozenset(path.strip("./") for path in paths if "/" in path),
    )


def measure(
    memory: SessionMemory,
    named: Sequence[str],
    files: tuple[str, ...],
    neighbours: Neighbours | None = None,
) -> Distance:
    """Measure how far the session is after its last modifying action, which changed `files`.

    `named` are the files, folders and identifiers that the user named.
    """
    wanted, folders = _split_named(tuple(named))
    on_named = any(is_near(path, wanted, neighbours) or _folder(path) in folders for path in files)
    if (
        len(memory.pairs) < _FEWEST_PAIRS
        or memory.modified < _FEWEST_CHANGES
        or on_named
        or memory.on_named * 2 > memory.modified
    ):
        return Distance(None, None, on_named)
    return Distance(
        _measure_goal(memory, len(named)), _measure_work(memory, len(named), neighbours), on_named
    )


# The following log-odds were fitted to sessions on their goal and on another goal, and rounded. The
# longer a goal is and the more it names, the more of it must be mentioned. A word of the goal that
# occurs in a path is mentioned by any work in that place, and does not count.


def _measure_goal(memory: SessionMemory, names: int) -> float:
    recent = _union(step.words for step in memory.window) | _union(
        step.read_words for step in memory.window
    )
    vocabulary = len(memory.known) + len(recent.difference(memory.known))
    met = len(memory.reached_words.keys() - memory.placed.keys())
    return (
        1.5 * log1p(min(len(memory.pairs), _LARGEST))
        + 2.0 * log1p(min(names, _MOST_NAMES))
        + 1.5 * log1p(vocabulary)
        - 2.0 * log1p(met)
        - 1.5 * log1p(len(memory.reached_pairs))
        - 2.5 * log1p(min(len(memory.reached_names), _MOST_NAMES))
        - 7.5
    )


def _measure_work(memory: SessionMemory, names: int, neighbours: Neighbours | None) -> float | None:
    """Measure how little the last changes have to do with those before them and with the goal."""
    steps = memory.window[-WINDOW:]
    before = memory.modified - memory.turned_at - len(steps)
    if len(steps) < _FEWEST_CHANGES or before < _FEWEST_CHANGES or memory.elsewhere:
        return None
    words = _union(step.words for step in steps)
    files = [path for step in steps for path in step.files]
    places = extract_terms("\n".join(files[:_MOST_FILES])).words
    unknown = len(words.difference(memory.known).difference(memory.words))
    known = set(map(find_key, memory.files))
    folders = set(map(_folder, memory.files))
    familiar = sum(is_near(path, known, neighbours) for path in files) / (len(files) or 1)
    beside = sum(_folder(path) in folders for path in files) / (len(files) or 1)
    return (
        1.0 * log1p(min(len(memory.pairs), _LARGEST))
        + 0.75 * log1p(min(names, _MOST_NAMES))
        + 3.0 * unknown / (len(words) + 1)
        - 1.25 * familiar
        - 1.0 * beside
        - 1.25 * log1p(len((words & memory.words.keys()) - places))
        - 0.5 * log1p(len(_union(step.pairs for step in steps)))
        - 1.25 * log1p(len(_union(step.names for step in steps)))
        - 2.5
    )


def _union(texts: Iterable[Iterable[str]]) -> set[str]:
    return set().union(*texts)


def is_near(path: str, keys: Set[str], neighbours: Neighbours | None) -> bool:
    """True if a file is one of those with these keys, the test of one, or a neighbour of one."""
    if find_key(path) in keys:
        return True
    return neighbours is not None and any(find_key(near) in keys for near in neighbours.near(path))
