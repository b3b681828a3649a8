"""Paths grouped by directory cost little, and each can be read off the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repomap.map_reader import expand

from kedge.host import tokens
from kedge.repomap.long_paths import Abbreviation
from kedge.repomap.path_groups import PathGroups

MUCH = tokens.price_of(10_000)


def draw(*paths: str) -> list[str]:
    return PathGroups(paths, Abbreviation()).fill(MUCH)


def test_paths_of_a_directory_are_grouped_by_suffix() -> None:
    paths = ("net/tls.py", "app/view.ts", "net/udp.py", "net/tls.c", "main.py", "setup.py")
    assert draw(*paths) == [
        "",
        "also",
        "net/{tls,udp}.py",
        "app/view.ts",
        "net/tls.c",
        "{main,setup}.py",
    ]


@pytest.mark.parametrize("odd", ["net/a,b.py", "net/{a}.py", "n{/a.py", "net/.env", "net/Makefile"])
def test_a_path_that_cannot_be_grouped_stays_whole(odd: str) -> None:
    lines = draw("net/tls.py", odd, "net/udp.py", f"{odd}x")
    assert lines[2] == "net/{tls,udp}.py"
    assert lines[3:] == [odd, f"{odd}x"]


def test_no_paths_need_no_heading() -> None:
    assert draw() == []
    groups = PathGroups(["net/tls.py"], Abbreviation())
    groups.drop({"net/tls.py"})
    assert groups.fill(MUCH) == []
    assert PathGroups(["net/tls.py"], Abbreviation()).fill(0) == []


def test_the_first_paths_are_chosen_as_long_as_they_fit() -> None:
    paths = [f"net/part{n}/module{n}.py" for n in range(50)]
    groups = PathGroups(paths, Abbreviation())
    lines = groups.fill(groups.price // 2)
    assert lines[2:] == paths[: len(lines) - 2]
    assert groups.chosen == set(lines[2:])
    assert 20 <= len(groups.chosen) <= 26
    assert len(PathGroups(paths, Abbreviation()).fill(groups.price)) == 52


names = st.text(st.sampled_from("ab.{},é -"), min_size=1, max_size=4)
one_path = st.lists(names, min_size=1, max_size=3).map("/".join)
any_paths = st.lists(one_path.filter(lambda path: not {"{", ","} <= set(path)), unique=True)


@given(any_paths, st.integers(0, 60))
def test_any_chosen_path_can_be_read_off_the_lines_within_the_room(
    paths: list[str], room: int
) -> None:
    groups = PathGroups(paths, Abbreviation())
    lines = groups.fill(tokens.price_of(room))
    assert tokens.count("\n".join([*lines, ""])) <= room or not lines
    assert groups.chosen == set(paths[: len(groups.chosen)])
    expanded = [path for line in lines[2:] for path in expand(line)]
    assert sorted(expanded) == sorted(groups.chosen)
