"""How far work is from the goal and from the work before it, with and without the map."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, git

from kedge.drift.charter import Charter
from kedge.drift.engine import Session
from kedge.drift.evidence.distance import find_key, is_companion, is_near, measure
from kedge.drift.evidence.memory import SessionMemory, WorkStep
from kedge.drift.scoring import Verdict
from kedge.host import project
from kedge.repomap.neighbours import Neighbours
from kedge.store import sqlite

FILES = {
    "port/berth.py": "class Berth:\n    def moor_boat(self): pass\n",
    "port/tide.py": "from port.berth import Berth\n\ndef depth(): return Berth()\n",
    "port/crane.py": "def lift_cargo(): pass\n",
    "bell.txt.py": "bell_rings = 0\n",
}


@pytest.fixture
def port(repo: Path, kedge: Kedge) -> Path:
    for path, text in FILES.items():
        write(repo, {path: text})
    for number in range(1, 4):
        write(repo, {"port/berth.py": FILES["port/berth.py"] + "\n" * number,
                     "bell.txt.py": f"bell_rings = {number}\n"})  # fmt: skip
    kedge("map")
    return repo


def write(repo: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (repo / path).parent.mkdir(exist_ok=True)
        (repo / path).write_text(text)
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", "port")


@contextlib.contextmanager
def open_map(root: Path) -> Iterator[Neighbours]:
    with contextlib.closing(sqlite.connect(project.find(root).home())[0]) as db:
        yield Neighbours(db, str(root))


def judge_edit(root: Path, path: str, neighbours: Neighbours | None) -> Verdict:
    """Judge an edit of a file when the task declares another one."""
    charter = Charter(goal="Berths have a name", revision=1, scope=("port/berth.py",))
    session = Session(str(root), charter_=charter, neighbours=neighbours)
    given = {"file_path": str(root / path), "old_string": "", "new_string": "x = 1\n"}
    return session.action("1", "Edit", given)


def test_a_file_near_the_declared_scope_goes_with_it(port: Path) -> None:
    with open_map(port) as neighbours:
        for near in ("port/tide.py", "bell.txt.py"):
            assert judge_edit(port, near, None).score == 5
            assert judge_edit(port, near, neighbours).score == 9
        assert judge_edit(port, "port/crane.py", neighbours).score == 5


def test_neighbours_on_the_map_are_near(port: Path) -> None:
    with open_map(port) as neighbours:
        assert is_near("port/tide.py", {find_key("port/berth.py")}, neighbours)
        assert not is_near("port/crane.py", {find_key("port/berth.py")}, neighbours)
        assert not is_near("port/made_later.py", {find_key("port/berth.py")}, neighbours)


def test_an_outdated_map_still_helps(port: Path) -> None:
    write(port, {"port/crane.py": "def lift_more(): pass\n"})
    with open_map(port) as neighbours:
        assert judge_edit(port, "port/tide.py", neighbours).score == 9
        assert neighbours.lacks == ("map",)


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


def test_what_cannot_be_measured() -> None:
    def measured(**more: Any) -> tuple[bool, bool]:
        found = measure(make_memory(**more), ("src/port.py",), ("far/x.py",))
        return found.goal is not None, found.work is not None

    assert measured() == (True, True)
    assert measured(pairs=dict.fromkeys(["a b"])) == (False, False)
    assert measured(pairs=dict.fromkeys(["a b", "b c"])) == (True, True)
    assert measured(modified=2) == (False, False)
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
    ],
)
def test_files_that_the_user_named(named: str, path: str, near: bool) -> None:
    found = measure(make_memory(), (named,), (path,))
    assert found.named is near
    assert (found.goal is None) is near


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
