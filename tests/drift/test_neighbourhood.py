"""A verdict with what the map knows: files near the work belong to it, whatever they are called."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import Kedge, git

from kedge.drift.charter import Charter
from kedge.drift.distance import belongs, key
from kedge.drift.engine import Session
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
def known(root: Path) -> Iterator[Neighbours]:
    with contextlib.closing(sqlite.connect(project.find(root).home())[0]) as db:
        yield Neighbours(db, str(root))


def edited(root: Path, path: str, neighbours: Neighbours | None) -> Verdict:
    """What is said of a change when the task declares one file."""
    charter = Charter(goal="Berths have a name", revision=1, scope=("port/berth.py",))
    session = Session(str(root), charter_=charter, neighbours=neighbours)
    given = {"file_path": str(root / path), "old_string": "", "new_string": "x = 1\n"}
    return session.action("1", "Edit", given)


def test_a_file_near_the_declared_scope_goes_with_it(port: Path) -> None:
    with known(port) as neighbours:
        for near in ("port/tide.py", "bell.txt.py"):
            assert edited(port, near, None).score == 5
            assert edited(port, near, neighbours).score == 9
        assert edited(port, "port/crane.py", neighbours).score == 5


def test_a_file_belongs_to_what_it_is_near(port: Path) -> None:
    with known(port) as neighbours:
        assert belongs("port/tide.py", {key("port/berth.py")}, neighbours)
        assert not belongs("port/crane.py", {key("port/berth.py")}, neighbours)
        assert not belongs("port/made_later.py", {key("port/berth.py")}, neighbours)


def test_an_earlier_map_still_tells(port: Path) -> None:
    write(port, {"port/crane.py": "def lift_more(): pass\n"})
    with known(port) as neighbours:
        assert edited(port, "port/tide.py", neighbours).score == 9
        assert neighbours.lacks == ("map",)
