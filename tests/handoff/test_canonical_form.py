"""Canonical text and JSON are the same everywhere, and a seal detects every change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import InvalidValue
from kedge.handoff import canonical_form
from kedge.handoff.canonical_form import (
    encode_canonical,
    is_sealed,
    normalise_text,
    seal,
    sha256,
)

TEXT = st.text(st.characters(codec="utf-8"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=20,
)  # fmt: skip
OBJECT = st.dictionaries(TEXT, JSON, max_size=6)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("\n \n\t\n", ""),
        ("one", "one\n"),
        ("one\r\ntwo\rthree\n\n\n", "one\ntwo\nthree\n"),
        ("one  \n\ttwo\t \n", "one\n\ttwo\n"),
        ("\n\n  one\n\n\n# two\n", "\n\n  one\n\n\n# two\n"),
        ("a\u00a0\u2028\x0cb\u00a0", "a\u00a0\u2028\x0cb\u00a0\n"),
    ],
)
def test_only_line_endings_and_trailing_spaces_are_normalised(text: str, kept: str) -> None:
    assert normalise_text(text) == kept


def test_nothing_is_wrapped_or_dropped() -> None:
    text = "# a comment\n\n" + "word " * 400 + "end\n\n- item\n\n\n```\n  code\n```\n"
    assert normalise_text(text) == text


@given(st.text(alphabet=st.sampled_from("ab#- \t\r\n\u00e9\U0001f600")))
def test_normalising_again_changes_nothing_and_loses_no_word(text: str) -> None:
    kept = normalise_text(text)
    assert normalise_text(kept) == kept
    assert kept.split() == text.split()
    assert normalise_text(text.replace("\r\n", "\n").replace("\r", "\n")) == kept


def test_normalising_takes_one_pass() -> None:
    assert normalise_text((" " * 200 + "x") * 20_000) == (" " * 200 + "x") * 20_000 + "\n"


@given(JSON)
def test_canonical_json_can_be_read_back(value: Any) -> None:
    data = encode_canonical(value)
    assert json.loads(data) == value
    assert encode_canonical(json.loads(data)) == data
    assert data.endswith(b"\n")
    assert not data.endswith(b"\n\n")
    assert b"\r" not in data


@given(OBJECT)
def test_the_order_of_keys_makes_no_difference(value: dict[str, Any]) -> None:
    assert encode_canonical(dict(reversed(value.items()))) == encode_canonical(value)


def test_the_bytes_of_canonical_json() -> None:
    assert encode_canonical({"b": [1, "é😀"], "a": (None, True)}).decode() == (
        '{\n  "a": [\n    null,\n    true\n  ],\n  "b": [\n    1,\n    "é😀"\n  ]\n}\n'
    )
    assert (canonical_form.SERIALIZER, canonical_form.SERIALIZER_VERSION) == ("kedge-json", "1")
    assert canonical_form.VERSION == "1"
    assert canonical_form.MAX_DEPTH == 64


def _deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        [float("inf")],
        {"a": -float("inf")},
        {1: "a"},
        {"a": {None: 1}},
        [{True: 1}],
        {"a": {1, 2}},
        b"bytes",
        object(),
        "\ud800",
        {"\udfff": 1},
        10**5000,
        _deep(canonical_form.MAX_DEPTH + 1),
        _deep(100_000),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_that_json_cannot_hold_are_refused(value: Any) -> None:
    with pytest.raises(InvalidValue):
        encode_canonical(value)


def test_the_deepest_allowed_nesting() -> None:
    assert json.loads(encode_canonical(_deep(canonical_form.MAX_DEPTH))) == _deep(
        canonical_form.MAX_DEPTH
    )


def test_sha256() -> None:
    assert sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(OBJECT)
def test_a_seal_holds(value: dict[str, Any]) -> None:
    whole = seal(value)
    assert is_sealed(whole)
    assert is_sealed(json.loads(encode_canonical(whole)))
    assert seal(whole) == whole
    assert not is_sealed({key: item for key, item in whole.items() if key != "seal"})


@given(OBJECT, OBJECT)
def test_a_seal_breaks_with_its_content(value: dict[str, Any], other: dict[str, Any]) -> None:
    value.pop("seal", None)
    other.pop("seal", None)
    moved = {**other, "seal": seal(value)["seal"]}
    assert is_sealed(moved) == (encode_canonical(value) == encode_canonical(other))


@given(OBJECT, st.binary(max_size=4), st.data())
def test_a_file_with_changed_bytes_is_sealed_only_if_it_holds_the_same_value(
    value: dict[str, Any], more: bytes, data: st.DataObject
) -> None:
    whole = encode_canonical(seal(value))
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    try:
        changed = json.loads(whole[:start] + more + whole[end:])
    except ValueError:
        return
    if is_sealed(changed):
        assert encode_canonical(changed) == whole


@pytest.mark.parametrize("value", [None, [], "seal", {}, {"seal": 1}, {"seal": "x", 1: 2}])
def test_other_values_are_not_sealed(value: Any) -> None:
    assert not is_sealed(value)
