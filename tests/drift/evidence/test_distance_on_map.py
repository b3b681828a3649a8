"""Files that are near each other on the map of a real repository."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import Kedge, git

from kedge.drift.charter import Charter
from kedge.drift.code_map import StoredMap
from kedge.drift.engine import Session
from kedge.drift.evidence.distance import find_key, is_near
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
def open_map(root: Path) -> Iterator[StoredMap]:
    with contextlib.closing(sqlite.connect(project.find(root).home())[0]) as db:
        yield StoredMap(db, Neighbours(db, str(root)), "s1")


def judge_edit(root: Path, path: str, code_map: StoredMap | None) -> Verdict:
    """Judge an edit of a file when the task declares another one."""
    charter = Charter(goal="Berths have a name", revision=1, scope=("port/berth.py",))
    session = Session(str(root), charter_=charter, code_map=code_map)
    given = {"file_path": str(root / path), "old_string": "", "new_string": "x = 1\n"}
    return session.action("1", "Edit", given)


def test_a_file_near_the_declared_scope_is_a_nudge(port: Path) -> None:
    with open_map(port) as code_map:
        for near in ("port/tide.py", "bell.txt.py"):
            assert judge_edit(port, near, None).score == 5
            assert judge_edit(port, near, code_map).score == 7
        for goes_with in ("port/test_berth.py", "README.md"):
            assert judge_edit(port, goes_with, code_map).score == 9
        assert judge_edit(port, "port/crane.py", code_map).score == 5


def test_neighbours_on_the_map_are_near(port: Path) -> None:
    with open_map(port) as code_map:
        assert is_near("port/tide.py", {find_key("port/berth.py")}, code_map)
        assert not is_near("port/crane.py", {find_key("port/berth.py")}, code_map)
        assert not is_near("port/made_later.py", {find_key("port/berth.py")}, code_map)


def test_an_outdated_map_still_helps(port: Path) -> None:
    write(port, {"port/crane.py": "def lift_more(): pass\n"})
    with open_map(port) as code_map:
        assert judge_edit(port, "port/tide.py", code_map).score == 7
        assert code_map.lacks == ("map",)
