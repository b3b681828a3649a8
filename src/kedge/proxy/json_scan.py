"""Find values in JSON bytes by their position, so that a splice leaves every other byte as it is.

The scanner skips over values without building them. It is strict where it has to understand the
text and says so otherwise: `NotFound` means that nobody should write into these bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

_SPACE = re.compile(rb"[ \t\n\r]*+")
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SCALAR = re.compile(rb"[-+.0-9A-Za-z]++")
_MARK = re.compile(rb'["\[\]{}]')
_OPEN, _CLOSE = b"[{", b"]}"


class NotFound(Exception):
    """The bytes do not hold what was looked for, or are not understood."""


class Span(NamedTuple):
    """The place of a value: `data[start:end]`."""

    start: int
    end: int


def find(data: bytes, *path: str | int) -> Span:
    """Return the place of the value at `path`: keys of objects and indexes of arrays.

    A negative index counts from the end. A key that an object has twice is not found: readers
    differ in which of the two they take.
    """
    span = Span(_skip_space(data, 0), len(data))
    for step in path:
        if isinstance(step, str):
            values = [value for key, value in scan_object(data, span.start) if key == step]
            if len(values) != 1:
                raise NotFound(f"{len(values)} values of {step!r}")
            span = values[0]
        else:
            items = list(scan_array(data, span.start))
            if not -len(items) <= step < len(items):
                raise NotFound(f"no item {step}")
            span = items[step]
    return span if path else Span(span.start, _skip_value(data, span.start))


def scan_object(data: bytes, start: int) -> Iterator[tuple[str, Span]]:
    """Yield the keys and the places of the values of the object that starts at `start`."""
    place = _expect(data, start, b"{")
    if data[place : place + 1] == b"}":
        return
    while True:
        end = _skip_string(data, place)
        try:
            key = json.loads(data[place:end])
        except ValueError as error:
            raise NotFound("a key that is not valid") from error
        value = _expect(data, _skip_space(data, end), b":")
        end = _skip_value(data, value)
        yield key, Span(value, end)
        place = _next(data, end, b"}")
        if not place:
            return


def scan_array(data: bytes, start: int) -> Iterator[Span]:
    """Yield the places of the items of the array that starts at `start`."""
    place = _expect(data, start, b"[")
    if data[place : place + 1] == b"]":
        return
    while True:
        end = _skip_value(data, place)
        yield Span(place, end)
        place = _next(data, end, b"]")
        if not place:
            return


def replace(data: bytes, changes: Sequence[tuple[Span, bytes]]) -> bytes:
    """Return the bytes with the values at some places replaced."""
    parts, place = [], 0
    for span, value in sorted(changes):
        parts += [data[place : span.start], value]
        place = span.end
    return b"".join([*parts, data[place:]])


def append_item(data: bytes, array: Span, item: bytes) -> bytes:
    """Return the bytes with an item more at the end of an array; what is before it stays."""
    end = max((span.end for span in scan_array(data, array.start)), default=0)
    if end:
        return data[:end] + b"," + item + data[end:]
    first = array.start + 1
    return data[:first] + item + data[first:]


def dump(value: Any) -> bytes:
    """Return compact JSON in ASCII, which is valid wherever it is put."""
    return json.dumps(value, separators=(",", ":")).encode()


def _skip_space(data: bytes, place: int) -> int:
    found = _SPACE.match(data, place)
    return found.end() if found else place


def _skip_string(data: bytes, place: int) -> int:
    found = _STRING.match(data, place)
    if found is None:
        raise NotFound(f"no string at {place}")
    return found.end()


def _skip_value(data: bytes, place: int) -> int:
    """Return the end of the value that starts at `place`."""
    first = data[place : place + 1]
    if first == b'"':
        return _skip_string(data, place)
    if first and first in _OPEN:
        return _skip_container(data, place)
    found = _SCALAR.match(data, place)
    if found is None:
        raise NotFound(f"no value at {place}")
    return found.end()


def _skip_container(data: bytes, place: int) -> int:
    depth = 0
    while found := _MARK.search(data, place):
        place = found.end()
        if found[0] == b'"':
            place = _skip_string(data, found.start())
        elif found[0] in _OPEN:
            depth += 1
        else:
            depth -= 1
            if not depth:
                return place
    raise NotFound("the text ends within a value")


def _expect(data: bytes, place: int, sign: bytes) -> int:
    """Return the place after a sign and the space that follows it."""
    if data[place : place + 1] != sign:
        raise NotFound(f"no {sign.decode()} at {place}")
    return _skip_space(data, place + 1)


def _next(data: bytes, end: int, closing: bytes) -> int:
    """Return the place of the next value after one that ends at `end`; 0 if it was the last."""
    place = _skip_space(data, end)
    if data[place : place + 1] == closing:
        return 0
    return _expect(data, place, b",")
