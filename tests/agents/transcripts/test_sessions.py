"""Transcripts as files: hostile content is survived, and memory stays small."""

from __future__ import annotations

import json
import os
import time
import tracemalloc
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.agents.transcripts import lines, sessions
from kedge.agents.transcripts.events import Event, PromptMessage, SessionFacts, ToolCall, ToolResult
from kedge.drift.replay import replay
from kedge.errors import FileError

Line = dict[str, Any]


def claude(number: int, **more: Any) -> Line:
    """Return a record with a tool call."""
    block = {"type": "tool_use", "id": f"t-{number}", "name": "Bash", "input": {"command": "ls"}}
    return {
        "parentUuid": None,
        "isSidechain": False,
        "message": {"id": f"m-{number}", "model": "claude-opus-5-5", "content": [block]},
        "type": "assistant",
        "uuid": f"u-{number}",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/repo",
        "sessionId": "s-1",
        "version": "2.1.325",
        **more,
    }


ASKED = {**claude(0), "type": "user", "message": {"role": "user", "content": "Fix the lexer."}}
ENDED = {
    **claude(0),
    "type": "user",
    "uuid": "u-r",
    "message": {"content": [{"type": "tool_result", "tool_use_id": "t-1", "is_error": True}]},
    "toolUseResult": {"stdout": "no"},
}
ROLLOUT: list[Line] = [
    {"type": "session_meta", "payload": {"id": "s-2", "cwd": "/repo", "cli_version": "0.166.0"}},
    {"type": "turn_context", "payload": {"cwd": "/repo", "model": "gpt-5.5-codex"}},
    {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"text": "Fix the lexer."}]},
    },
    {
        "type": "response_item",
        "payload": {
            "type": "function_call",
            "name": "exec_command",
            "arguments": '{"cmd": "ls"}',
            "call_id": "c-1",
        },
    },
    {
        "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "c-1", "output": "Exit code: 1"},
    },
]
SAMPLES = [
    [ASKED, claude(1), ENDED, {**ASKED, "isCompactSummary": True, "uuid": "u-3"}],
    [{"timestamp": "2026-01-01T00:00:00.000Z", **line} for line in ROLLOUT],
]


def encode(line: Line) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def put(path: Path, *parts: bytes) -> Path:
    path.write_bytes(b"".join(parts))
    return path


def read_file(path: Path) -> tuple[list[Event], list[str]]:
    """Return the events of all sessions in a file, and the warnings."""
    warnings: list[str] = []
    file = sessions.inspect_file(path)
    found = sessions.group_sessions([file] if file else [])
    return [
        event for each in found for event in sessions.read_events(each, warn=warnings.append)
    ], warnings


def calls(path: Path) -> list[str]:
    return [event.id for event in read_file(path)[0] if isinstance(event, ToolCall)]


class TestKinds:
    def test_a_file_is_recognised_by_its_records(self, tmp_path: Path) -> None:
        one = put(tmp_path / "rollout-1.jsonl", *map(encode, SAMPLES[0]))
        two = put(tmp_path / "5b2c.jsonl", *map(encode, SAMPLES[1]))
        other = put(tmp_path / "tasks.jsonl", encode({"id": "t-1", "type": "task"}))
        looked = {path: sessions.inspect_file(path) for path in (one, two, other)}
        agents = {path: file and file.facts.agent for path, file in looked.items()}
        assert agents == {one: "claude", two: "codex", other: None}

    def test_a_missing_path_is_refused(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "a.jsonl")
        assert sessions.find_files([tmp_path]) == []
        for name in ("a.jsonl", "missing.jsonl"):
            with pytest.raises(FileError, match=name):
                sessions.find_files([tmp_path / name])

    def test_a_session_without_id_and_directory_is_read(self, tmp_path: Path) -> None:
        bare = {key: value for key, value in claude(1).items() if key not in ("cwd", "sessionId")}
        path = put(tmp_path / "named.jsonl", encode(bare), encode({**bare, "uuid": "u-9"}))
        file = sessions.inspect_file(path)
        assert file is not None
        (session,) = sessions.group_sessions([file])
        assert (session.id, session.cwd) == ("named", "")
        assert calls(path) == ["t-1"]


def measure_reading(path: Path) -> float:
    start = time.process_time()
    calls(path)
    return time.process_time() - start


class TestFloods:
    @pytest.mark.parametrize("noise", [b"a\n", b"\n", b"{\n", b"{}\n", b"7\n", b"\0\n", b"a\n\n"])
    def test_lines_that_cannot_be_records_cost_little(self, tmp_path: Path, noise: bytes) -> None:
        size = 1_000_000
        record = encode(claude(1))
        flood = put(tmp_path / "flood.jsonl", record, noise * (size // len(noise)), record)
        assert calls(flood) == ["t-1"]
        records = put(tmp_path / "a.jsonl", record * (size // len(record)))
        least = min(measure_reading(records) for _ in range(3))
        assert min(measure_reading(flood) for _ in range(3)) < 8 * least

    def test_damaged_records_are_repaired_up_to_a_number(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lines, "_MOST_REPAIRS", 2)
        half = encode(claude(9))[:150]
        path = put(tmp_path / "a.jsonl", *(half + encode(claude(one)) for one in range(1, 6)))
        assert calls(path) == ["t-1", "t-2"]
        assert read_file(path)[1] == [f"{path}:1: 5 damaged lines"]

    def test_a_file_without_records_is_not_read_to_its_end(self, tmp_path: Path) -> None:
        path = put(tmp_path / "a.jsonl", b"a\n" * 2_000_000, encode(claude(1)))
        read: list[int] = []
        assert list(lines.TranscriptLines(path, read.append, last=400)) == []
        assert sum(read) < 1_000_000
        assert sessions.inspect_file(path) is None

    @settings(max_examples=300, deadline=None)
    @given(
        st.lists(
            st.sampled_from([b"", b" ", b"a", b'x"type"y', b'{"type":1}', b"{}", b"[]", b"\r"])
        ),
        st.integers(1, 40),
        st.booleans(),
    )
    def test_lines_are_the_same_wherever_the_file_is_divided(
        self, tmp_path_factory: pytest.TempPathFactory, each: list[bytes], size: int, ends: bool
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "divided.jsonl"
        path.write_bytes(b"\n".join(each) + b"\n" * ends)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lines, "_BUFFER", size)
            reader = lines.TranscriptLines(path)
            found = [(line, reader.number) for line in reader]
        numbered = list(enumerate(each, 1))
        assert found == [(line, number) for number, line in numbered if b'type"' in line]
        damaged = [number for number, line in numbered if line in (b"a", b"[]")]
        assert reader.damaged == len(damaged)
        assert reader.first == (damaged[0] if damaged else 0)


class TestDamage:
    def test_a_file_truncated_at_any_byte_is_read(self, tmp_path: Path) -> None:
        whole = encode(claude(1)) + encode(claude(2))
        first = len(encode(claude(1)))
        for end in (*range(first, len(whole), 7), len(whole) - 1):
            path = put(tmp_path / "a.jsonl", whole[:end])
            found = ["t-1", "t-2"] if end == len(whole) - 1 else ["t-1"]
            assert calls(path) == found
            # nothing is said of a file that ends where a record does
            assert bool(read_file(path)[1]) == (first < end < len(whole) - 1)

    def test_foreign_lines_and_several_records_on_one_line_are_read(self, tmp_path: Path) -> None:
        half = encode(claude(9))[:150]
        path = put(
            tmp_path / "a.jsonl",
            b"\xef\xbb\xbf" + encode(ASKED).replace(b"\n", b"\r\n"),
            b"\n   \n",
            b"Error: something else wrote here\n",
            encode(claude(1)).strip() + encode(claude(2)),
            half + encode(claude(3)),
            b"\0" * 4096 + encode(claude(4)),
            b"[1, 2]\nnull\n7\n",
            encode(claude(5)),
        )
        found, told = read_file(path)
        assert [event.id for event in found if isinstance(event, ToolCall)] == [
            f"t-{number}" for number in range(1, 6)
        ]
        assert sum(isinstance(event, PromptMessage) for event in found) == 1
        assert told == [f"{path}:4: 6 damaged lines"]

    def test_invalid_utf8_is_repaired(self, tmp_path: Path) -> None:
        line = encode(claude(1)).replace(b'"ls"', b'"echo \xff \\ud83d \x00 \x07"')
        found, told = read_file(put(tmp_path / "a.jsonl", line))
        (call,) = [event for event in found if isinstance(event, ToolCall)]
        assert call.input["command"].startswith("echo ")
        assert told == []

    def test_a_line_of_20_megabytes_is_left_out(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        with path.open("wb") as file:
            file.write(encode(claude(1)) + b'{"type":"user","message":"')
            for _ in range(20):
                file.write(b"x" * (1 << 20))
            file.write(b'"}\n' + encode(claude(2)))
        tracemalloc.start()
        found, told = read_file(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert [event.id for event in found if isinstance(event, ToolCall)] == ["t-1", "t-2"]
        assert told == [f"{path}:2: 1 line longer than 8 MiB, left out"]
        assert peak < 2.5 * lines.LONGEST

    def test_deep_and_huge_values_are_read(self, tmp_path: Path) -> None:
        deep = encode(claude(1)).replace(b'{"command":"ls"}', b"[" * 50_000 + b"]" * 50_000)
        huge = encode(claude(2)).replace(b'"ls"', b"9" * 6000)
        found, told = read_file(put(tmp_path / "a.jsonl", deep, huge, encode(claude(3))))
        assert [event.id for event in found if isinstance(event, ToolCall)] == ["t-3"]
        assert told == [f"{tmp_path / 'a.jsonl'}:1: 2 damaged lines"]

    def test_unknown_records_and_versions_are_not_damage(self, tmp_path: Path) -> None:
        path = put(
            tmp_path / "a.jsonl",
            encode({"type": "of-tomorrow", "message": 4}),
            encode({"schema": 9}),
            encode(claude(1, version="9.0.0", shape={"new": True})),
            encode(claude(2, type="narration")),
        )
        found, told = read_file(path)
        assert [event.id for event in found if isinstance(event, ToolCall)] == ["t-1"]
        assert told == []
        assert [event.version for event in found if isinstance(event, SessionFacts)] == ["9.0.0"]

    @pytest.mark.parametrize("wrong", [None, 7, [], {}, [None], True, 1.5])
    def test_fields_of_a_wrong_type_are_ignored(self, tmp_path: Path, wrong: Any) -> None:
        parts = [encode({**ASKED, key: wrong}) for key in ASKED if key != "type"]
        parts += [encode({**claude(1), key: wrong}) for key in claude(1) if key != "type"]
        content = {**claude(2)["message"], "content": wrong}
        parts += [encode({**claude(2), "message": content}), encode(claude(3))]
        found, _ = read_file(put(tmp_path / "a.jsonl", *parts))
        assert [event.id for event in found if isinstance(event, ToolCall)] == ["t-1", "t-3"]
        _well_formed(found)


class TestHostile:
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
        max_leaves=6,
    )

    @settings(max_examples=150)
    @given(data=st.data())
    def test_mutated_records_are_read_and_replayed(
        self, tmp_path: Path, data: st.DataObject
    ) -> None:
        sample = data.draw(st.sampled_from(SAMPLES))
        parts = []
        for line in sample:
            changed = _mutate(line, data) if data.draw(st.booleans()) else line
            parts.append(json.dumps(changed, separators=(",", ":")).encode() + b"\n")
        whole = bytearray(b"".join(parts))
        for _ in range(data.draw(st.integers(0, 4))):
            place = data.draw(st.integers(0, len(whole)))
            until = data.draw(st.integers(place, min(len(whole), place + 40)))
            whole[place:until] = data.draw(st.binary(max_size=8))
        found, _ = read_file(put(tmp_path / "a.jsonl", bytes(whole)))
        _well_formed(found)
        told = replay(found, "/repo")
        assert told.actions == sum(isinstance(event, ToolCall) for event in found)
        json.dumps(told.data())

    @settings(max_examples=100)
    @given(content=st.binary(max_size=300))
    def test_any_bytes_can_be_read(self, tmp_path: Path, content: bytes) -> None:
        _well_formed(read_file(put(tmp_path / "a.jsonl", content))[0])

    def test_memory_does_not_grow_with_the_file(self, tmp_path: Path) -> None:
        noise = encode({"type": "api-request-blob", "message": "x" * 50_000})
        result = {**ENDED, "toolUseResult": {"stdout": "y" * 100_000}}

        def peak(count: int) -> int:
            path = tmp_path / "a.jsonl"
            with path.open("wb") as file:
                for number in range(count):
                    file.write(encode(claude(number)) + encode(result) + noise)
            tracemalloc.start()
            file_ = sessions.inspect_file(path)
            assert file_ is not None
            (session,) = sessions.group_sessions([file_])
            assert replay(sessions.read_events(session), "/repo").actions == count
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return most

        peak(3)  # load everything once
        assert peak(100) < peak(10) + 500_000


def _mutate(value: Any, data: st.DataObject) -> Any:
    """Return the value with one part replaced, removed or renamed."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 4)):
        key = data.draw(st.sampled_from(sorted(value)))
        copy = dict(value)
        what = data.draw(st.sampled_from(["deeper", "deeper", "deeper", "drop", "rename"]))
        if what == "deeper":
            copy[key] = _mutate(value[key], data)
        else:
            inner = copy.pop(key)
            if what == "rename":
                copy[data.draw(st.text(max_size=8))] = inner
        return copy
    if isinstance(value, list) and value and data.draw(st.integers(0, 4)):
        place = data.draw(st.integers(0, len(value) - 1))
        return [*value[:place], _mutate(value[place], data), *value[place + 1 :]]
    return data.draw(TestHostile.anything)


def _well_formed(found: list[Event]) -> None:
    for event in found:
        texts = [value for name, value in asdict(event).items() if name not in _OTHER]
        assert all(isinstance(value, str) for value in texts), event
        if isinstance(event, ToolResult):
            assert isinstance(event.ok, bool)


_OTHER = ("input", "ok", "machine")
