"""What a session remembers is bounded: what is cut, and that the cut is the same for all ways."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from kedge.drift import memory
from kedge.drift.actions import normalise
from kedge.drift.topic import terms

WORDS = st.lists(st.text("abc", min_size=1, max_size=5), max_size=30)
BOUNDS = st.tuples(st.integers(0, 25), st.integers(0, 120))


def first(texts: Iterable[str], bounds: tuple[int, int]) -> tuple[str, ...]:
    """As many as fit, taken one after the other."""
    most, room = bounds
    kept: list[str] = []
    for text in texts:
        room -= len(text) + 3
        if room < 0 or len(kept) == most:
            break
        kept.append(text)
    return tuple(kept)


@given(WORDS, BOUNDS)
def test_the_first_that_fit_are_kept(words: list[str], bounds: tuple[int, int]) -> None:
    assert memory._few(words, bounds) == first(words, bounds)


@given(WORDS, WORDS, BOUNDS)
def test_the_latest_that_fit_are_kept(
    old: list[str], new: list[str], bounds: tuple[int, int]
) -> None:
    known = dict.fromkeys(old)
    joined = memory._joined(known, new, bounds)
    if set(new) <= set(old):
        assert joined is known
        return
    both = [*(each for each in known if each not in new), *dict.fromkeys(new)]
    assert list(joined) == list(reversed(first(reversed(both), bounds)))
    assert list(known) == list(dict.fromkeys(old))


LINES = st.lists(
    st.sampled_from(["def berth_list():", "    return quay", "", "harbour master", "x", "quay, y"])
    | st.text(max_size=5),
    max_size=8,
).map("\n".join)


@given(LINES, LINES)
def test_an_edit_is_about_the_lines_that_it_keeps_as_well(old: str, new: str) -> None:
    edit = {"file_path": "/r/a.py", "old_string": old, "new_string": new}
    about = memory.said(normalise("Edit", edit, root="/r", cwd="/r"), ("berth_list", "quay"))
    text = f"{new}\n{old}"
    here, there = terms(text), terms("a.py")
    assert about.words == here.words | there.words
    assert about.pairs == here.pairs | there.pairs
    assert about.names == tuple(name for name in ("berth_list", "quay") if name in text.lower())
