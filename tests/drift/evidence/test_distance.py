"""How far work is from the goal and from the work before it, without a map."""

from __future__ import annotations

from math import log1p
from typing import Any

import pytest

from kedge.drift.evidence.distance import find_key, is_companion, measure
from kedge.drift.evidence.memory import SessionMemory, WorkStep

WORDS = [f"{a}{b}{c}" for a in "bcdfg" for b in "aeiou" for c in "lmnpr"]


def pairs(count: int) -> dict[str, None]:
    return dict.fromkeys(f"{one} {other}" for one in WORDS for other in WORDS[:count])


def make_memory(**more: Any) -> SessionMemory:
    """A session with 40 words and 20 pairs in its goal, after six changes."""
    steps = tuple(
        WorkStep(words=tuple(WORDS[60 + n : 70 + n]), files=(f"far/{n}.py",)) for n in range(3)
    )
    given_ = {
        "words": dict.fromkeys(WORDS[:40]),
        "pairs": dict.fromkeys(list(pairs(1))[:20]),
        "known": dict.fromkeys(WORDS[40:60]),
        "files": {"src/a.py": None},
        "window": steps,
        "modified": 6,
    }
    return SessionMemory(**{**given_, **more})


def test_the_distance_from_the_goal() -> None:
    def goal(named: int = 0, **more: Any) -> float | None:
        names = [f"name{n}" for n in range(named)]
        return measure(make_memory(**more), names, ("far/x.py",)).goal

    reached = dict.fromkeys(WORDS[:10])
    assert goal() == pytest.approx(2.3115, abs=1e-3)
    assert goal(named=5) == pytest.approx(5.8951, abs=1e-3)
    assert goal(named=20) == goal(named=40)
    assert goal(reached_words=reached) == pytest.approx(-2.4842, abs=1e-3)
    assert goal(reached_words=reached, placed=reached) == goal()
    assert goal(reached_pairs=dict.fromkeys("abc")) == pytest.approx(0.2321, abs=1e-3)
    assert goal(reached_names=dict.fromkeys("abc")) == pytest.approx(-1.1542, abs=1e-3)
    assert goal(pairs=dict.fromkeys(list(pairs(5))[:120])) == goal(pairs=pairs(9))


def test_the_distance_from_the_work() -> None:
    def work(named: int = 0, **more: Any) -> float | None:
        names = [f"name{n}" for n in range(named)]
        return measure(make_memory(**more), names, ("far/x.py",)).work

    assert work() == pytest.approx(3.3137, abs=1e-3)
    assert work(named=5) == pytest.approx(4.6575, abs=1e-3)
    assert work(files={"src/1.py": None}) == pytest.approx(2.8970, abs=1e-3)
    assert work(files={"far/x.py": None}) == pytest.approx(2.3137, abs=1e-3)
    assert work(known=dict.fromkeys(WORDS)) == pytest.approx(0.5445, abs=1e-3)
    assert work(words=dict.fromkeys(WORDS)) == pytest.approx(-2.6618, abs=1e-3)


def test_work_that_mentions_pairs_and_names_of_the_goal_is_nearer() -> None:
    def work(**step: Any) -> float:
        window = tuple(each._replace(**step) for each in make_memory().window)
        found = measure(make_memory(window=window), (), ("far/x.py",)).work
        assert found is not None
        return found

    mentioned = ("one", "two", "three")
    assert work() - work(pairs=mentioned) == pytest.approx(0.5 * log1p(3))
    assert work() - work(names=mentioned) == pytest.approx(1.25 * log1p(3))


@pytest.mark.parametrize(("place", "counts"), [(0, False), (99, False), (100, True)])
def test_a_word_in_one_of_the_first_hundred_paths_is_not_mentioned(
    place: int, counts: bool
) -> None:
    def work(paths: list[str]) -> float | None:
        quiet = WorkStep(words=("quay",))
        window = (WorkStep(words=("lamp",), files=tuple(paths)), quiet, quiet)
        return measure(make_memory(words={"lamp": None}, window=window), (), ("far/x.py",)).work

    paths = [f"far/{n}.py" for n in range(101)]
    elsewhere = work(paths)
    paths[place] = "far/lamp.py"
    assert (work(paths) == elsewhere) == counts


def test_what_cannot_be_measured() -> None:
    def measured(**more: Any) -> tuple[bool, bool]:
        found = measure(make_memory(**more), ("src/port.py",), ("far/x.py",))
        return found.goal is not None, found.work is not None

    assert measured() == (True, True)
    assert measured(pairs=dict.fromkeys(["a b"])) == (False, False)
    assert measured(pairs=dict.fromkeys(["a b", "b c"])) == (True, True)
    assert measured(modified=2) == (False, False)
    assert measured(modified=3) == (True, False)
    assert measured(modified=5) == (True, False)
    assert measured(on_named=3) == (True, True)
    assert measured(on_named=4) == (False, False)
    assert measured(turned_at=1) == (True, False)
    assert measured(elsewhere=True) == (True, False)
    assert measured(window=()) == (True, False)


@pytest.mark.parametrize(
    ("named", "path", "near"),
    [
        ("src/port.py", "src/port.py", True),
        ("src/port.py", "tests/test_port.py", True),
        ("src/port.py", "src/quay.py", False),
        ("port.py", "lib/port.rb", True),
        ("src/harbour/", "src/harbour/quay.py", True),
        ("src/harbour/", "src/quay.py", False),
        ("portName", "portName", False),
        ("v1.2", "v1.2", False),
        ("v1.2b", "v1.2b", False),
        ("main.c", "src/main.c", True),
        ("port.schema", "lib/port.schema", True),
        ("port.harbour", "lib/port.harbour", False),
    ],
)
def test_files_that_the_user_named(named: str, path: str, near: bool) -> None:
    found = measure(make_memory(), (named,), (path,))
    assert found.named is near
    assert (found.goal is None) is near


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("src/port.py", "port"), ("tests/test_port.py", "port"), ("port.test.ts", "port"),
        ("src/PortTest.java", "port"), ("port_spec.rb", "port"), (".port.yml", "port"),
        ("tests/test_.py", "test_"), ("Test.java", "test"),
    ],
)  # fmt: skip
def test_a_file_and_its_test_have_the_same_key(path: str, key: str) -> None:
    assert find_key(path) == key


@pytest.mark.parametrize(
    ("path", "companion"),
    [
        ("README.md", True), ("a/b.rst", True), ("yarn.lock", True), ("go.sum", True),
        ("package.json", True), ("pyproject.toml", True), ("package-lock.json", True),
        ("pnpm-lock.yaml", True), ("docs/conf.py", True), ("changelog.d/1.txt", True),
        ("src/a.py", False), ("src/locker.py", False), ("data.json", False), ("mydocs/a.py", False),
    ],
)  # fmt: skip
def test_files_that_change_along_with_others(path: str, companion: bool) -> None:
    assert is_companion(path) is companion
