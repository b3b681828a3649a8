"""Events keep their bytes, whatever the chunking, the line ends and the content."""

from __future__ import annotations

import itertools
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.proxy.sse import SseEvent, SseReader, write_event

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LINES = st.one_of(
    st.text(max_size=20).map(lambda text: "data: " + text),
    st.sampled_from([": ping", "event: message", "id: 1", "retry: 5", "", "data", ":"]),
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({place % (len(data) + 1) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(marks)]


def read(chunks: list[bytes]) -> tuple[list[SseEvent], bytes]:
    reader = SseReader()
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events, reader.rest()


@given(st.lists(st.tuples(LINES, ENDS)), st.lists(st.integers(0, 500)))
def test_all_bytes_come_out_as_they_went_in(
    lines: list[tuple[str, str]], places: list[int]
) -> None:
    data = "".join(text.replace("\n", "").replace("\r", "") + end for text, end in lines).encode()
    events, rest = read(cut(data, places))
    assert b"".join(event.raw for event in events) + rest == data


@given(st.binary(max_size=300), st.lists(st.integers(0, 300)))
def test_garbage_comes_out_as_it_went_in(data: bytes, places: list[int]) -> None:
    events, rest = read(cut(data, places))
    assert b"".join(event.raw for event in events) + rest == data


@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=30)), min_size=1, max_size=5),
    ENDS,
    st.lists(st.integers(0, 900)),
)
def test_events_mean_the_same_in_any_chunks(
    values: list[dict[str, str]], end: str, places: list[int]
) -> None:
    lines = [
        line
        for value in values
        for line in (": ping", "event: x", "data: " + json.dumps(value, ensure_ascii=False), "")
    ]
    data = "".join(line + end for line in lines).encode()
    events, rest = read(cut(data, places))
    assert [event.json for event in events if event.data] == values
    assert rest.strip(b"\r\n") == b""


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_an_event_is_there_as_soon_as_its_blank_line_is(end: str) -> None:
    reader = SseReader()
    data = f"event: a{end}data: 1{end}{end}".encode()
    for at in range(len(data) - 1):
        found = list(reader.feed(data[at : at + 1]))
        # of CRLF CRLF the second CR is a line end already; its LF belongs to no event
        assert not found or (end == "\r\n" and at == len(data) - 2)
        if found:
            return
    (event,) = reader.feed(data[-1:])
    assert (event.name, event.data) == ("a", b"1")


def test_fields_are_read_as_the_standard_says() -> None:
    raw = b'\xef\xbb\xbfevent:a\nevent: b\n: comment\ndata: {"x":\ndata:1}\nid: 7\ndatax: 2\n\n'
    event = SseEvent(raw)
    assert event.name == "b"
    assert event.data == b'{"x":\n1}'
    assert event.json == {"x": 1}


@pytest.mark.parametrize("data", [b"[1]", b"{", b"", b"[DONE]", b"[" * 100_000, b"\xff"])
def test_data_that_is_not_an_object_is_none(data: bytes) -> None:
    assert SseEvent(b"data: " + data + b"\n\n").json is None


def test_a_written_event_is_read_back() -> None:
    ((event,), rest) = read([write_event("a", b'{"x": 1}')])
    assert (event.name, event.json, rest) == ("a", {"x": 1}, b"")
    assert event.raw == b'event: a\ndata: {"x": 1}\n\n'


def test_a_huge_event_in_small_chunks_takes_linear_time() -> None:
    reader = SseReader()
    chunk = b"x" * 4096
    start = time.process_time()
    for _ in range(2560):
        assert not list(reader.feed(chunk))
    assert reader.size == 10 << 20
    (event,) = reader.feed(b"\n\n")
    assert len(event.raw) == (10 << 20) + 2
    assert time.process_time() - start < 2
