"""How far a session's work is from what was asked, as sums of log-odds whose terms can be shown.

Three questions. Does the work so far have to do with the request: does it mention its words, and
change files that the map expects for it? Do the last few changes belong to the work before them?
Does a single change have anything in common with either?
"""

from __future__ import annotations

import posixpath
from functools import lru_cache
from itertools import islice
from math import log1p

from kedge.drift.evidence.memory import WINDOW
from kedge.drift.evidence.topic import extract_terms
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence, Set
    from typing import Protocol

    from kedge.drift.evidence.memory import SessionMemory

    class CodeMap(Protocol):
        """What the map knows about files: which belong together, which are expected for a goal."""

        @property
        def lacks(self) -> tuple[str, ...]:
            """What is missing to judge by."""
            ...

        @property
        def terms(self) -> Mapping[str, float]:
            """The terms of the goals, each with its weight: one that is rare says more."""
            ...

        @property
        def leaders(self) -> Collection[str]:
            """The files that matter most for the goal."""
            ...

        def expect(self, goal: str) -> None:
            """Rank the files for a goal of the user; earlier goals still count."""
            ...

        def has_path(self, path: str) -> bool:
            """True if the project has or had this file or folder, and if that is not known."""
            ...

        def near(self, path: str) -> Collection[str]:
            """The files related to this one: by imports, by names, by changing together."""
            ...

        def relevance(self, path: str) -> float | None:
            """How much a file has to do with the goals, from -0.5 to 1; None if unknown."""
            ...


_FEWEST_PAIRS = 2  # a goal with fewer is too short to compare with
_FEWEST_CHANGES = 2  # before the distance is measured
_NEAREST = 12  # neighbours of a single change; those farther away have little in common
_UNEXPECTED = 0.05  # relevance of a file that is not expected for the goal
_EXPECTED = 0.3  # relevance of a file that clearly belongs to the goal
_LARGEST = 120  # pairs that count: the rest of a long message is mostly logs and details
_MOST_NAMES = 20
_MOST_FILES = 100  # paths of the last changes that are read
_LEAST_MET = 0.11  # share of the terms of a goal, by weight, that other work meets as well
_TEST_PREFIXES = tuple(f"{word}{sign}" for word in ("test", "spec", "it") for sign in "_.-")
_TEST_SUFFIXES = (
    *(f"{sign}{word}" for word in ("test", "tests", "spec", "e2e", "unit") for sign in "_.-"),
    "Tests", "Test", "Spec",
)  # fmt: skip
_DOCUMENTS = ("/doc/", "/docs/", "/changes/", "/changelog.d/", "/newsfragments/")
_PRESCRIBED = frozenset(("index", "main", "mod", "lib", "__init__", "__main__", "conftest"))
_MANIFESTS = frozenset(("package.json", "pyproject.toml", "Cargo.toml", "go.mod"))


class Odds(NamedTuple):
    """The log-odds of drift, far when high, and the terms they are the sum of."""

    total: float
    terms: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {round(value, 1) + 0.0:+.1f}" for name, value in self.terms)
        return f"{shown} = {self.total:.1f}"


class Distance(NamedTuple):
    """`goal` and `work` are None where they cannot be measured.

    `named` is true if the action changes a file that the user named; `departs` if it has nothing in
    common with the request or the work on it.
    """

    goal: Odds | None = None
    work: Odds | None = None
    named: bool = False
    departs: bool = False


@lru_cache(4_096)
def find_key(path: str) -> str:
    """Return the key that a file shares with its test: its name without test marks and suffix."""
    stem = posixpath.basename(path).removeprefix(".").partition(".")[0]
    for mark in _TEST_PREFIXES:
        stem = stem.removeprefix(mark) or stem
    for mark in _TEST_SUFFIXES:
        stem = stem.removesuffix(mark) or stem
    return stem.lower()


def _find_exact_key(path: str) -> str:
    """Return the key of a file, with its folder where a language prescribes the name."""
    key = find_key(path)
    return f"{_folder(path)}/{key}" if key in _PRESCRIBED else key


_folder = lru_cache(4_096)(posixpath.dirname)


def is_companion(path: str) -> bool:
    """True for files that change along with others: documents, manifests, lock files."""
    name = posixpath.basename(path)
    if name in _MANIFESTS or name.endswith((".md", ".rst", ".adoc", ".lock", ".sum")):
        return True
    if "lock" in name and name.endswith((".json", ".yaml", ".yml")):
        return True
    return any(folder in f"/{path}" for folder in _DOCUMENTS)


def is_text(path: str) -> bool:
    """True for documents in prose, which the map ranks as well."""
    return path.endswith((".md", ".rst", ".adoc", ".txt"))


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


def find_relevance(files: Iterable[str], code_map: CodeMap | None) -> float | None:
    """Return how much the most relevant of the files has to do with the goals; None if unknown."""
    if code_map is None:
        return None
    known = (code_map.relevance(path) for path in files if not is_companion(path) or is_text(path))
    return max((each for each in known if each is not None), default=None)


def measure(
    memory: SessionMemory,
    named: Sequence[str],
    files: tuple[str, ...],
    code_map: CodeMap | None = None,
) -> Distance:
    """Measure how far the session is after its last modifying action, which changed `files`.

    `named` are the files, folders and identifiers that the user named.
    """
    wanted, folders = _split_named(tuple(named))
    if any(find_key(path) in wanted or _folder(path) in folders for path in files):
        return Distance(named=True)
    departs = _departs(memory, files, code_map)
    told = len(memory.words) + len(named)
    if len(memory.pairs) < _FEWEST_PAIRS and (memory.expected is None or told < _FEWEST_PAIRS):
        return Distance(departs=departs)
    code = [path for path in files if not is_companion(path)]
    return Distance(
        _measure_goal(memory, len(named), code_map) if memory.modified >= _FEWEST_CHANGES else None,
        _measure_work(memory, len(named), code_map) if code else None,
        departs=departs,
    )


# The following log-odds were fitted to sessions on their goal and on another goal, with and without
# a map, and rounded (docs/design/drift.md). The longer a goal is and the more it names, the more of
# it must be mentioned; the shorter it is, the more the map's ranking counts, and the share of its
# terms that the work mentions, common words included, where the map tells how rare each is. A word
# of a long goal that occurs in a path is mentioned by any work in that place, and does not count;
# with a short goal it is the best sign there is.


def find_shortness(memory: SessionMemory) -> float:
    """Return how short the request is, from 0 to 3; 0 if it has about twenty words or more."""
    return max(0.0, 3.0 - log1p(len(memory.words)))


def _measure_goal(memory: SessionMemory, names: int, code_map: CodeMap | None) -> Odds:
    words = log1p(len(memory.words))
    short = find_shortness(memory)
    met = len(memory.reached_words.keys() - memory.placed.keys())
    expected = -1.5  # nothing is known about the files
    if memory.expected is not None:
        expected = (0.5 + 0.35 * short) * _find_surprise(memory.expected)
    shares: tuple[tuple[str, float], ...] = ()
    if short and code_map is not None and (terms := code_map.terms):
        met_terms = sum(terms.get(term, 0.0) for term in memory.reached_terms)
        share = met_terms / (sum(terms.values()) or 1.0)
        shares = (("share of its terms met", 4.0 * short * (_LEAST_MET - share)),)
    return _add_up(
        ("size of the request", 1.25 * log1p(min(len(memory.pairs), _LARGEST))
         + 1.75 * log1p(min(names, _MOST_NAMES)) + 2.25 * (words + short) - 7.25),
        ("changes so far", 0.75 * log1p(memory.modified)),
        ("its words met", -2.25 * log1p(met) - 1.5 * log1p(len(memory.reached_pairs))
         - 2.25 * log1p(min(len(memory.reached_names), _MOST_NAMES))
         - 2.0 * short * log1p(len(memory.placed))),
        *shares,
        ("files named like it", -1.5 * log1p(len(memory.titles))),
        ("files expected for it", expected),
    )  # fmt: skip


def _measure_work(memory: SessionMemory, names: int, code_map: CodeMap | None) -> Odds | None:
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
    familiar = sum(is_near(path, known, code_map) for path in files) / (len(files) or 1)
    beside = sum(_folder(path) in folders for path in files) / (len(files) or 1)
    ranked = [step.relevance for step in steps if step.relevance is not None]
    return _add_up(
        ("size of the request", 0.5 * log1p(min(len(memory.pairs), _LARGEST))
         + 1.0 * log1p(min(names, _MOST_NAMES)) + 0.25),
        ("words new to the session", 2.0 * unknown / (len(words) + 1)),
        ("files near the work", -1.0 * familiar - 1.0 * beside),
        ("words of the request", -0.75 * log1p(len((words & memory.words.keys()) - places))
         - 0.5 * log1p(len(_union(step.pairs for step in steps)))
         - 0.75 * log1p(len(_union(step.names for step in steps)))),
        ("files expected for it", 0.5 * _find_surprise(max(ranked)) if ranked else -1.25),
    )  # fmt: skip


def _departs(memory: SessionMemory, files: Sequence[str], code_map: CodeMap | None) -> bool:
    """True if the last change has nothing in common with the request or the work on it.

    Only a map can tell: without one, every first visit to another folder would look like this. A
    document, a data file, or a file that the map cannot place goes with the change before it; but
    code in a top folder that the session itself creates is a place of its own.
    """
    if code_map is None or not memory.on_course or not memory.window:
        return False
    if not memory.reached_words or (memory.expected or 0.0) < _EXPECTED:
        return False  # the work before says too little about the request
    step = memory.window[-1]
    if step.pairs or step.names or not memory.words.keys().isdisjoint(step.words):
        return False
    if step.relevance is not None and step.relevance > _UNEXPECTED:
        return False
    if step.relevance is None and not memory.run and not _opens_folder(memory, files, code_map):
        return False
    code = [path for path in files if not is_companion(path)] or files
    folders = set(map(_folder, memory.on_course))
    if any(_folder(path) in folders for path in code):
        return False
    keys = set(map(_find_exact_key, (*memory.on_course, *code_map.leaders)))
    related = (each for path in code for each in (path, *islice(code_map.near(path), _NEAREST)))
    if any(_find_exact_key(each) in keys for each in related):
        return False
    return memory.run > 0 or any(map(_is_source, code))


def _opens_folder(memory: SessionMemory, files: Iterable[str], code_map: CodeMap) -> bool:
    """True if the files are in top folders that the project did not have before the session."""
    tops = {path.partition("/")[0] for path in files if "/" in path}
    return bool(tops) and all(top in memory.made or not code_map.has_path(top) for top in tops)


def _is_source(path: str) -> bool:
    """True for code, and for pages and their styles; not for tests, documents and data."""
    from kedge.drift.limits.paths import is_test
    from kedge.repomap.languages import language_of

    if is_test(path):
        return False
    language = language_of(path)
    return language is not None and language.readable and language.name != "markdown"


def _find_surprise(relevance: float) -> float:
    """Return the log-odds of drift for work on a file of this relevance, before weighing."""
    return min(max(-5.0 * relevance, -5.0), 3.0)


def _add_up(*terms: tuple[str, float]) -> Odds:
    return Odds(sum(value for _, value in terms), terms)


def _union(texts: Iterable[Iterable[str]]) -> set[str]:
    return set().union(*texts)


def is_near(path: str, keys: Set[str], code_map: CodeMap | None) -> bool:
    """True if a file is one of those with these keys, the test of one, or a neighbour of one."""
    if find_key(path) in keys:
        return True
    return code_map is not None and any(find_key(near) in keys for near in code_map.near(path))
