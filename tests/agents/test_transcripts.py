"""Transcripts as files: whatever is in them, what can be read is read, and memory stays small."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.agents.transcripts import lines, read
from kedge.agents.transcripts.events import Call, Event, Facts, Prompt, Result
from kedge.drift.replay import replay
from kedge.errors import FileError

Line = dict[str, Any]


def claude(number: int, **more: Any) -> Line:
    """A record with a call."""
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


def encoded(line: Line) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def put(path: Path, *parts: bytes) -> Path:
    path.write_bytes(b"".join(parts))
    return path


def taken(path: Path) -> tuple[list[Event], list[str]]:
    """The events of all sessions in a file, and what was warned of."""
    told: list[str] = []
    file = read.look(path)
    found = read.sessions([file] if file else [])
    return [event for each in found for event in read.events(each, warn=told.append)], told


def calls(path: Path) -> list[str]:
    return [event.id for event in taken(path)[0] if isinstance(event, Call)]


class TestKinds:
    def test_records_say_which_agent_wrote_them(self, tmp_path: Path) -> None:
        one = put(tmp_path / "rollout-1.jsonl", *map(encoded, SAMPLES[0]))
        two = put(tmp_path / "5b2c.jsonl", *map(encoded, SAMPLES[1]))
        other = put(tmp_path / "tasks.jsonl", encoded({"id": "t-1", "type": "task"}))
        looked = {path: read.look(path) for path in (one, two, other)}
        agents = {path: file and file.facts.agent for path, file in looked.items()}
        assert agents == {one: "claude", two: "codex", other: None}

    def test_what_is_neither_a_file_nor_a_directory(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "a.jsonl")
        assert read.find([tmp_path]) == []
        for name in ("a.jsonl", "missing.jsonl"):
            with pytest.raises(FileError, match=name):
                read.find([tmp_path / name])

    def test_a_session_without_an_id_or_a_place(self, tmp_path: Path) -> None:
        bare = {key: value for key, value in claude(1).items() if key not in ("cwd", "sessionId")}
        path = put(tmp_path / "named.jsonl", encoded(bare), encoded({**bare, "uuid": "u-9"}))
        file = read.look(path)
        assert file is not None
        (session,) = read.sessions([file])
        assert (session.id, session.cwd) == ("named", "")
        assert calls(path) == ["t-1"]


class TestDamage:
    def test_truncated_at_every_byte(self, tmp_path: Path) -> None:
        whole = encoded(claude(1)) + encoded(claude(2))
        first = len(encoded(claude(1)))
        for end in (*range(first, len(whole), 7), len(whole) - 1):
            path = put(tmp_path / "a.jsonl", whole[:end])
            found = ["t-1", "t-2"] if end == len(whole) - 1 else ["t-1"]
            assert calls(path) == found
            # nothing is said of a file that ends where a record does
            assert bool(taken(path)[1]) == (first < end < len(whole) - 1)

    def test_lines_between_and_records_on_one_line(self, tmp_path: Path) -> None:
        half = encoded(claude(9))[:150]
        path = put(
            tmp_path / "a.jsonl",
            b"\xef\xbb\xbf" + encoded(ASKED).replace(b"\n", b"\r\n"),
            b"\n   \n",
            b"Error: something else wrote here\n",
            encoded(claude(1)).strip() + encoded(claude(2)),
            half + encoded(claude(3)),
            b"\0" * 4096 + encoded(claude(4)),
            b"[1, 2]\nnull\n7\n",
            encoded(claude(5)),
        )
        found, told = taken(path)
        assert [event.id for event in found if isinstance(event, Call)] == [
            f"t-{number}" for number in range(1, 6)
        ]
        assert sum(isinstance(event, Prompt) for event in found) == 1
        assert told == [f"{path}:4: 6 damaged lines"]

    def test_bytes_that_are_no_text_and_half_a_character(self, tmp_path: Path) -> None:
        line = encoded(claude(1)).replace(b'"ls"', b'"echo \xff \\ud83d \x00 \x07"')
        found, told = taken(put(tmp_path / "a.jsonl", line))
        (call,) = [event for event in found if isinstance(event, Call)]
        assert call.input["command"].startswith("echo ")
        assert told == []

    def test_a_line_of_20_megabytes(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        with path.open("wb") as file:
            file.write(encoded(claude(1)) + b'{"type":"user","message":"')
            for _ in range(20):
                file.write(b"x" * (1 << 20))
            file.write(b'"}\n' + encoded(claude(2)))
        tracemalloc.start()
        found, told = taken(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert [event.id for event in found if isinstance(event, Call)] == ["t-1", "t-2"]
        assert told == [f"{path}:2: 1 line longer than 8 MiB, left out"]
        assert peak < 2.5 * lines.LONGEST

    def test_deep_and_huge_values(self, tmp_path: Path) -> None:
        deep = encoded(claude(1)).replace(b'{"command":"ls"}', b"[" * 50_000 + b"]" * 50_000)
        huge = encoded(claude(2)).replace(b'"ls"', b"9" * 6000)
        found, told = taken(put(tmp_path / "a.jsonl", deep, huge, encoded(claude(3))))
        assert [event.id for event in found if isinstance(event, Call)] == ["t-3"]
        assert told == [f"{tmp_path / 'a.jsonl'}:1: 2 damaged lines"]

    def test_unknown_records_and_versions_are_no_damage(self, tmp_path: Path) -> None:
        path = put(
            tmp_path / "a.jsonl",
            encoded({"type": "of-tomorrow", "message": 4}),
            encoded({"schema": 9}),
            encoded(claude(1, version="9.0.0", shape={"new": True})),
            encoded(claude(2, type="narration")),
        )
        found, told = taken(path)
        assert [event.id for event in found if isinstance(event, Call)] == ["t-1"]
        assert told == []
        assert [event.version for event in found if isinstance(event, Facts)] == ["9.0.0"]

    @pytest.mark.parametrize("wrong", [None, 7, [], {}, [None], True, 1.5])
    def test_fields_of_another_type(self, tmp_path: Path, wrong: Any) -> None:
        parts = [encoded({**ASKED, key: wrong}) for key in ASKED if key != "type"]
        parts += [encoded({**claude(1), key: wrong}) for key in claude(1) if key != "type"]
        content = {**claude(2)["message"], "content": wrong}
        parts += [encoded({**claude(2), "message": content}), encoded(claude(3))]
        found, _ = taken(put(tmp_path / "a.jsonl", *parts))
        assert [event.id for event in found if isinstance(event, Call)] == ["t-1", "t-3"]
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
            changed = _changed(line, data) if data.draw(st.booleans()) else line
            parts.append(json.dumps(changed, separators=(",", ":")).encode() + b"\n")
        whole = bytearray(b"".join(parts))
        for _ in range(data.draw(st.integers(0, 4))):
            place = data.draw(st.integers(0, len(whole)))
            until = data.draw(st.integers(place, min(len(whole), place + 40)))
            whole[place:until] = data.draw(st.binary(max_size=8))
        found, _ = taken(put(tmp_path / "a.jsonl", bytes(whole)))
        _well_formed(found)
        told = replay(found, "/repo")
        assert told.actions == sum(isinstance(event, Call) for event in found)
        json.dumps(told.data())

    @settings(max_examples=100)
    @given(content=st.binary(max_size=300))
    def test_any_bytes(self, tmp_path: Path, content: bytes) -> None:
        _well_formed(taken(put(tmp_path / "a.jsonl", content))[0])

    def test_memory_does_not_grow_with_the_file(self, tmp_path: Path) -> None:
        noise = encoded({"type": "api-request-blob", "message": "x" * 50_000})
        result = {**ENDED, "toolUseResult": {"stdout": "y" * 100_000}}

        def peak(count: int) -> int:
            path = tmp_path / "a.jsonl"
            with path.open("wb") as file:
                for number in range(count):
                    file.write(encoded(claude(number)) + encoded(result) + noise)
            tracemalloc.start()
            file_ = read.look(path)
            assert file_ is not None
            (session,) = read.sessions([file_])
            assert replay(read.events(session), "/repo").actions == count
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return most

        peak(3)  # what is loaded once
        assert peak(100) < peak(10) + 500_000


def _changed(value: Any, data: st.DataObject) -> Any:
    """The value with one thing in it replaced, taken out or given another name."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 4)):
        key = data.draw(st.sampled_from(sorted(value)))
        copy = dict(value)
        what = data.draw(st.sampled_from(["deeper", "deeper", "deeper", "drop", "rename"]))
        if what == "deeper":
            copy[key] = _changed(value[key], data)
        else:
            inner = copy.pop(key)
            if what == "rename":
                copy[data.draw(st.text(max_size=8))] = inner
        return copy
    if isinstance(value, list) and value and data.draw(st.integers(0, 4)):
        place = data.draw(st.integers(0, len(value) - 1))
        return [*value[:place], _changed(value[place], data), *value[place + 1 :]]
    return data.draw(TestHostile.anything)


def _well_formed(found: list[Event]) -> None:
    for event in found:
        texts = [value for name, value in event._asdict().items() if name not in _OTHER]
        assert all(isinstance(value, str) for value in texts), event
        if isinstance(event, Result):
            assert isinstance(event.ok, bool)


_OTHER = ("input", "ok", "machine")
