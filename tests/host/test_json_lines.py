"""Append-only JSON lines: objects come back, and a bad line is one warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedge.errors import InvalidValue
from kedge.host import json_lines


def identity(value: dict[str, Any]) -> dict[str, Any]:
    if "bad" in value:
        raise InvalidValue("it is bad")
    return value


def test_objects_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "x.jsonl"
    values: list[dict[str, Any]] = [{"n": 1, "text": "ä\n"}, {"half": "\ud800"}, {}]
    for value in values:
        json_lines.append(path, value)
    assert json_lines.read(path, "x", identity) == (values, [])
    assert path.read_bytes().startswith('{"n": 1, "text": "ä\\n"}\n'.encode())


def test_a_missing_file_has_no_lines(tmp_path: Path) -> None:
    assert json_lines.read(tmp_path / "none", "x", identity) == ([], [])


def test_a_bad_line_is_skipped_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    lines = [b'{"a": 1}', b"", b'{"a": ', b"[1]", b'{"bad": 1}', b"\xff", b"[" * 100_000]
    path.write_bytes(b"\n".join([*lines, b'{"b": 2}']))
    values, warnings = json_lines.read(path, "the/file", identity)
    assert values == [{"a": 1}, {"b": 2}]
    places = [warning.partition(": skipped: ")[0] for warning in warnings]
    assert places == [f"the/file:{number}" for number in (3, 4, 5, 6, 7)]
    assert warnings[1] == "the/file:4: skipped: not an object"
    assert warnings[2] == "the/file:5: skipped: it is bad"
