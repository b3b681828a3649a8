"""Text and JSON come out the same everywhere, and a seal shows every change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import InvalidValue
from kedge.handoff import normalise
from kedge.handoff.normalise import canonical, is_sealed, normalised, opened, sealed, sha256

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
def test_only_line_ends_are_normalised(text: str, kept: str) -> None:
    assert normalised(text) == kept


def test_nothing_is_wrapped_or_dropped() -> None:
    text = "# a comment\n\n" + "word " * 400 + "end\n\n- item\n\n\n```\n  code\n```\n"
    assert normalised(text) == text


@given(st.text(alphabet=st.sampled_from("ab#- \t\r\n\u00e9\U0001f600")))
def test_normalising_again_changes_nothing_and_loses_no_word(text: str) -> None:
    kept = normalised(text)
    assert normalised(kept) == kept
    assert kept.split() == text.split()
    assert normalised(text.replace("\r\n", "\n").replace("\r", "\n")) == kept


def test_normalising_takes_one_pass() -> None:
    assert normalised((" " * 200 + "x") * 20_000) == (" " * 200 + "x") * 20_000 + "\n"


@given(JSON)
def test_canonical_json_gives_the_value_back(value: Any) -> None:
    data = canonical(value)
    assert json.loads(data) == value
    assert canonical(json.loads(data)) == data
    assert data.endswith(b"\n")
    assert not data.endswith(b"\n\n")
    assert b"\r" not in data


@given(OBJECT)
def test_the_order_of_keys_does_not_count(value: dict[str, Any]) -> None:
    assert canonical(dict(reversed(value.items()))) == canonical(value)


def test_canonical_json_as_it_is_written() -> None:
    assert canonical({"b": [1, "é😀"], "a": (None, True)}).decode() == (
        '{\n  "a": [\n    null,\n    true\n  ],\n  "b": [\n    1,\n    "é😀"\n  ]\n}\n'
    )
    assert (normalise.SERIALIZER, normalise.SERIALIZER_VERSION) == ("kedge-json", "1")
    assert normalise.VERSION == "1"


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
        _deep(normalise.MAX_DEPTH + 1),
        _deep(100_000),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(InvalidValue):
        canonical(value)


def test_as_deep_as_allowed() -> None:
    assert json.loads(canonical(_deep(normalise.MAX_DEPTH))) == _deep(normalise.MAX_DEPTH)


def test_sha256() -> None:
    assert sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(OBJECT)
def test_a_seal_holds(value: dict[str, Any]) -> None:
    whole = sealed(value)
    assert is_sealed(whole)
    assert is_sealed(json.loads(canonical(whole)))
    assert sealed(whole) == whole
    assert opened(canonical(whole)) == whole
    assert not is_sealed({key: item for key, item in whole.items() if key != "seal"})


@given(OBJECT, OBJECT)
def test_a_seal_breaks_with_its_content(value: dict[str, Any], other: dict[str, Any]) -> None:
    value.pop("seal", None)
    other.pop("seal", None)
    moved = {**other, "seal": sealed(value)["seal"]}
    assert is_sealed(moved) == (canonical(value) == canonical(other))


@given(OBJECT, st.data())
def test_any_changed_byte_is_noticed(value: dict[str, Any], data: st.DataObject) -> None:
    whole = bytearray(canonical(sealed(value)))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(InvalidValue) as caught:
        opened(bytes(whole))
    assert caught.value.hint


@given(OBJECT, st.binary(max_size=4), st.data())
def test_bytes_put_in_or_taken_out_are_noticed(
    value: dict[str, Any], more: bytes, data: st.DataObject
) -> None:
    whole = canonical(sealed(value))
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    changed = whole[:start] + more + whole[end:]
    if changed == whole:
        assert opened(changed)
    else:
        with pytest.raises(InvalidValue):
            opened(changed)


@pytest.mark.parametrize("value", [None, [], "seal", {}, {"seal": 1}, {"seal": "x", 1: 2}])
def test_what_was_never_sealed(value: Any) -> None:
    assert not is_sealed(value)


@pytest.mark.parametrize("data", [b"", b"[]\n", b"\xff", b"[" * 200_000, b'{"seal": NaN}\n'])
def test_what_cannot_be_opened(data: bytes) -> None:
    with pytest.raises(InvalidValue):
        opened(data)
