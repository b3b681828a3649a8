"""Directories that most paths have in common are named once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repomap.map_reader import read_map
from repomap.port import fill
from support import Kedge

from kedge.repomap.long_paths import find_abbreviation

SEA = "src/main/java/org/sea"
MANY = [f"{SEA}/{name}.java" for name in ("Buoy", "Crane", "Quay")]
PATH = st.lists(st.sampled_from(("a", "b", "src")), min_size=1, max_size=7).map("/".join)


def test_directories_that_most_paths_share_are_named_once(repo: Path, kedge: Kedge) -> None:
    code = "class Quay { void moor() {} }\n"
    files = {
        f"{part}/{SEA}/{part}/Quay{n}.java": code.replace("Quay", f"Quay{n}")
        for part in ("dock", "tide")
        for n in range(12)
    }
    fill(repo, {**files, "tools/build.py": "def build(): pass\n"})
    data = kedge.json("map")
    head, _, body = data["text"].partition("\n\n")
    assert head.endswith(f"\n… in a path stands for {SEA}")
    assert SEA not in body
    assert "\ndock/…/dock/Quay" in data["text"]
    assert "\ntools/build.py\n" in data["text"]
    shown, also = read_map(data["text"])
    paths = {file.path for file in shown} | set(also)
    assert paths == {file["path"] for file in data["files"]} == {*files, "tools/build.py"}


@pytest.mark.parametrize(
    ("paths", "budget", "folders"),
    [
        (MANY, 1500, SEA),
        (MANY, 300, ""),  # no room for the explanation
        ([*MANY, "a.py", "b.py", "c.py"], 1500, SEA),
        ([*MANY, "a.py", "b.py", "c.py", "d.py"], 1500, ""),  # most paths have others
        (["src/sea/a.py", "src/sea/b.py"], 1500, ""),  # short enough as they are
        ([f"one/{MANY[0]}", f"two/{MANY[1]}"], 1500, SEA),
        ([*MANY, "odd/…/a.py"], 1500, ""),  # the mark would be ambiguous
        ([], 1500, ""),
    ],
)
def test_what_is_worth_a_mark(paths: list[str], budget: int, folders: str) -> None:
    found = find_abbreviation(paths, budget)
    assert found.folders == folders
    assert len(found.legend()) == bool(folders)


@given(st.lists(PATH, max_size=8, unique=True))
def test_the_mark_can_always_be_undone(paths: list[str]) -> None:
    found = find_abbreviation(paths, 1500)
    for path in paths:
        assert found.shorten(path).replace("…", found.folders) == path
        assert len(found.shorten(path)) <= len(path)
