"""The code is divided into directories, with the share of each."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.repomap.tree import Part, divide_code

weighed = st.dictionaries(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=6).map("/".join),
    st.floats(0, 4),
    max_size=40,
)


def _walk(part: Part) -> Iterator[Part]:
    yield part
    for one in part.parts:
        yield from _walk(one)


def _draw(weights: dict[str, float]) -> list[tuple[str, int]]:
    return [(part.path, part.files) for part in _walk(divide_code(weights))]


def test_the_largest_directory_comes_first() -> None:
    weights = {"a/x.py": 1.0, "b/x.py": 1.0, "b/y.py": 1.0, "c/x.py": 3.0}
    assert _draw(weights) == [("", 4), ("b", 2), ("c", 1), ("a", 1)]


def test_a_directory_that_only_contains_another_is_joined_with_it() -> None:
    assert _draw({"src/main/java/A.java": 1.0}) == [("", 1), ("src/main/java", 1)]
    assert _draw({"src/x.py": 1.0, "src/a/b/x.py": 1.0}) == [("", 2), ("src", 2), ("src/a/b", 1)]


def test_shares_are_those_of_all_files_and_of_all_weights() -> None:
    code = divide_code({"setup.py": 0.0, "a/x.py": 3.0, "a/y.py": 0.0, "b/x.py": 1.0})
    assert (code.own, code.files, code.share) == (1, 4, 1.0)
    assert [(one.path, one.share, one.weight) for one in code.parts] == [
        ("a", 0.5, 0.75),
        ("b", 0.25, 0.25),
    ]


def test_no_code() -> None:
    assert divide_code({}) == Part("", 0, 0, 0.0, 0.0)
    assert divide_code({"a/x.py": 0.0}).parts[0].weight == 0


def test_a_deep_tree_is_divided() -> None:
    weights = {"/".join([*"d" * depth, "x.py"]): 1.0 for depth in range(1, 800)}
    assert divide_code(weights).parts[0].files == 799


@given(weighed, st.randoms(use_true_random=False))
def test_every_file_is_counted_once_in_any_order(
    weights: dict[str, float], shuffle: random.Random
) -> None:
    code = divide_code(weights)
    for part in _walk(code):
        above = f"{part.path}/" if part.path else ""
        assert part.files == sum(path.startswith(above) for path in weights)
        assert part.files == part.own + sum(one.files for one in part.parts)
        assert all(one.path.startswith(above) for one in part.parts)
    if sum(weights.values()):
        assert code.weight == pytest.approx(1)
    order = list(weights.items())
    shuffle.shuffle(order)
    assert divide_code(dict(order)) == code
