"""Places in JSON are found in any notation, and a splice changes nothing else."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.proxy.json_scan import (
    NotFound,
    append_item,
    dump,
    find,
    replace,
    scan_array,
    scan_object,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
STYLES = st.sampled_from(
    [{}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False}, {"indent": "\t"}]
)


def write(value: Any, style: dict[str, Any]) -> bytes:
    return json.dumps(value, **style).encode()


@given(st.dictionaries(st.text(), VALUES, max_size=5), STYLES)
def test_every_member_of_an_object_is_found(value: dict[str, Any], style: dict[str, Any]) -> None:
    data = b" \n" + write(value, style) + b"\n "
    found = {key: json.loads(data[at:end]) for key, (at, end) in scan_object(data, 2)}
    assert found == value
    for key, inner in value.items():
        at, end = find(data, key)
        assert json.loads(data[at:end]) == inner


@given(st.lists(VALUES, max_size=5), VALUES, STYLES)
def test_an_item_is_appended_and_all_bytes_before_it_stay(
    items: list[Any], more: Any, style: dict[str, Any]
) -> None:
    data = write({"a": 1, "list": items, "z": {"list": []}}, style)
    span = find(data, "list")
    result = append_item(data, span, dump(more))
    assert json.loads(result) == {"a": 1, "list": [*items, more], "z": {"list": []}}
    last = max((end for _, end in scan_array(data, span.start)), default=span.start + 1)
    assert result.startswith(data[:last])
    assert result.endswith(data[last:])


@given(st.lists(VALUES, min_size=1, max_size=5), VALUES, STYLES, st.data())
def test_values_are_replaced_in_place(
    items: list[Any], new: Any, style: dict[str, Any], pick: st.DataObject
) -> None:
    data = write({"list": items}, style)
    chosen = sorted(pick.draw(st.sets(st.integers(0, len(items) - 1))))
    changes = [(find(data, "list", at), dump(new)) for at in chosen]
    expected = [new if at in chosen else item for at, item in enumerate(items)]
    assert json.loads(replace(data, changes)) == {"list": expected}
    if not chosen:
        assert replace(data, changes) == data


def test_paths_go_through_objects_and_arrays() -> None:
    data = rb'{"m": [1, {"k\u0065y": [ "a\\\"]}", {} ] }]}'
    at, end = find(data, "m", -1, "key", 0)
    assert json.loads(data[at:end]) == 'a\\"]}'
    assert data[slice(*find(data, "m", 1, "key", -1))] == b"{}"


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b'{"m"', b'{"m":', b'{"m":}', b'{"m": [}', b'{"m": "x}', b'{m: 1}', b"[1]",
        b'{"m": 1', b'{"m": 1 "n": 2}', b'{"\\q": 1}', b'{"m": 1, "m": 2}', b'{"n": 1}',
        b"\x1f\x8b\x08", b'{"m": [1, 2',
    ],
)  # fmt: skip
def test_what_is_not_understood_is_not_found(data: bytes) -> None:
    with pytest.raises(NotFound):
        find(data, "m")


@given(st.binary(max_size=60))
def test_garbage_is_found_or_refused(data: bytes) -> None:
    try:
        at, end = find(data, "m")
    except NotFound:
        return
    assert 0 < at < end <= len(data)


@pytest.mark.parametrize("inner", [b"[" * 1_000_000, b'"' + b"\\" * 1_000_001, b"x" * 1_000_000])
def test_hostile_text_takes_linear_time(inner: bytes) -> None:
    start = time.process_time()
    with pytest.raises(NotFound):
        find(b'{"m": [' + inner, "m")
    assert time.process_time() - start < 3
