"""The directory tree shows where the code is, within its number of lines."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from kedge.repomap.tree import Branch, select_branches

# Sums of sixteenths do not depend on the order.
scored = st.dictionaries(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=6).map("/".join),
    st.integers(0, 64).map(lambda count: count / 16),
    max_size=40,
)


def _draw(scores: dict[str, float], most: int = 100) -> list[str]:
    return [f"{'  ' * row.depth}{row.name} {row.files}" for row in select_branches(scores, most)]


def test_the_heaviest_directory_comes_first() -> None:
    scores = {"a/x.py": 1.0, "b/x.py": 2.0, "b/y.py": 2.0, "c/x.py": 3.0}
    assert _draw(scores) == ["b 2", "c 1", "a 1"]


def test_equal_directories_are_sorted_by_name() -> None:
    assert _draw({"b/x.py": 1.0, "a/x.py": 1.0, "c/x.py": 1.0}) == ["a 1", "b 1", "c 1"]


def test_children_are_below_their_parents_heaviest_first() -> None:
    scores = {"a/x.py": 1.0, "a/b/x.py": 1.0, "a/c/x.py": 2.0, "a/c/d/x.py": 1.0, "e/x.py": 4.5}
    assert _draw(scores) == ["a 4", "  c 2", "    d 1", "  b 1", "e 1"]


def test_a_directory_that_only_contains_another_is_joined_with_it() -> None:
    assert _draw({"src/main/java/A.java": 1.0}) == ["src/main/java 1"]
    scores = {"src/main/a/A.java": 2.0, "src/main/b/c/B.java": 1.0}
    assert _draw(scores) == ["src/main 2", "  a 1", "  b/c 1"]
    assert _draw({"src/x.py": 1.0, "src/a/b/x.py": 1.0}) == ["src 2", "  a/b 1"]


def test_a_branch_has_its_full_path() -> None:
    scores = {"src/x.py": 1.0, "src/a/b/x.py": 1.0}
    assert select_branches(scores, 9) == [
        Branch(0, "src", "src", 2),
        Branch(1, "a/b", "src/a/b", 1),
    ]


def test_the_lightest_directories_are_left_out() -> None:
    scores = {"a/x.py": 4.0, "a/b/x.py": 3.0, "c/x.py": 2.0, "d/x.py": 1.0}
    assert _draw(scores, 3) == ["a 2", "  b 1", "c 1"]
    assert _draw(scores, 1) == ["a 2"]
    assert _draw(scores, 0) == []


def test_a_directory_with_hardly_any_weight_is_left_out() -> None:
    assert _draw({"a/x.py": 100.0, "b/x.py": 0.5}) == ["a 1"]


def test_files_at_the_root_are_in_no_directory() -> None:
    assert _draw({"setup.py": 5.0}) == []
    assert _draw({}) == []


@given(scored, st.integers(0, 12), st.randoms(use_true_random=False))
def test_every_branch_has_its_parent_before_it(
    scores: dict[str, float], most: int, shuffle: random.Random
) -> None:
    rows = select_branches(scores, most)
    assert len(rows) <= most
    above: list[str] = []
    for row in rows:
        assert row.depth <= len(above)
        del above[row.depth :]
        assert row.path == "/".join([*above[-1:], row.name])
        assert row.files == sum(path.startswith(f"{row.path}/") for path in scores)
        above.append(row.path)
    assert len({row.path for row in rows}) == len(rows)
    order = list(scores.items())
    shuffle.shuffle(order)
    assert select_branches(dict(order), most) == rows
