"""Ids: harmless as a file name, a git ref and an argument."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import InvalidValue
from kedge.model.ids import is_id, task_id


@pytest.mark.parametrize("text", ["a", "9", "T-1", "k-7f3a", "021-1.1", "A_b.c-d", "x" * 64])
def test_a_valid_id_is_accepted_as_it_is(text: str) -> None:
    assert is_id(text)
    assert task_id(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x" * 65,
        "-x",
        ".x",
        "_x",
        "a/b",
        "a b",
        "a\n",
        "a\tb",
        "a..b",
        "a.",
        "a.lock",
        "ä",
        "a:b",
        "a*",
        "a~",
        "a@{1}",
        "a\\b",
    ],
)
def test_an_invalid_id_is_refused_with_the_rule(text: str) -> None:
    assert not is_id(text)
    with pytest.raises(InvalidValue, match="is not a valid id") as caught:
        task_id(text)
    assert "at most 64" in (caught.value.hint or "")


def test_a_lock_suffix_is_refused_at_the_end_only() -> None:
    assert is_id("a.lock.b")
    assert is_id("a.locks")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 77 + "…"),
        ("/" + "x" * 10_000, "/" + "x" * 76 + "…"),
    ],
)
def test_the_message_shows_at_most_80_characters_of_an_id(text: str, shown: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        task_id(text)
    assert caught.value.message == f"'{shown}' is not a valid id"


@given(st.text())
def test_no_id_can_leave_its_directory(text: str) -> None:
    if is_id(text):
        assert text.isascii()
        assert "/" not in text
        assert ".." not in text
        assert not text.startswith(("-", "."))
