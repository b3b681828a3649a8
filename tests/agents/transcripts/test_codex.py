"""Codex's rollouts: the events of each kind of line."""

from __future__ import annotations

import json
import shutil
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, assert_clear

from kedge.agents.transcripts import sessions
from kedge.agents.transcripts.events import (
    Compacted,
    Event,
    PromptMessage,
    SessionFacts,
    ToolCall,
    ToolResult,
)

Line = dict[str, Any]
KINDS = "internal_chat_message_metadata_passthrough"


class CodexFile:
    """Lines as the client writes them, one per second."""

    def __init__(self, session: str = "s-1", **meta: Any) -> None:
        self.lines: list[Line] = []
        about = {"id": session, "cwd": "/repo", "cli_version": "0.166.0", **meta}
        self.add("session_meta", **about)

    def add(self, kind: str, **payload: Any) -> None:
        number = len(self.lines) + 1
        at = f"2026-01-01T00:00:{number:02}.000Z"
        self.lines.append({"timestamp": at, "ordinal": number, "type": kind, "payload": payload})

    def item(self, kind: str, **payload: Any) -> None:
        self.add("response_item", type=kind, **payload)

    def says(self, role: str, *texts: str, **more: Any) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text} for text in texts]
        self.item("message", role=role, content=content, **more)

    def call(self, id: str, name: str = "exec_command", **given: Any) -> None:
        self.item("function_call", name=name, call_id=id, arguments=json.dumps(given))

    def output(self, id: str, output: Any) -> None:
        self.item("function_call_output", call_id=id, output=output)


def write(path: Path, lines: list[Line]) -> Path:
    made = [json.dumps(line, separators=(",", ":")) for line in lines]
    path.write_text("\n".join([*made, ""]))
    return path


def events(*paths: Path) -> list[Event]:
    files = [file for path in sessions.find_files(paths) if (file := sessions.inspect_file(path))]
    (session,) = sessions.group_sessions(files)
    return list(sessions.read_events(session, warn=pytest.fail))


def read_all(*paths: Path) -> list[Event]:
    return [event for event in events(*paths) if not isinstance(event, SessionFacts)]


def test_a_session_has_its_events_in_order(tmp_path: Path) -> None:
    made = CodexFile()
    made.add("turn_context", cwd="/repo/src", model="gpt-5.5-codex")
    made.says("developer", "Be brief.")
    made.says("user", "Fix the lexer.", id="msg-1")
    made.add("event_msg", type="user_message", message="Fix the lexer.")
    made.item("reasoning", summary=[{"type": "summary_text", "text": "Where is it?"}])
    made.says("assistant", "I look.")
    made.add("event_msg", type="agent_message", message="I look.")
    made.call("c-1", cmd="ls", workdir="/repo")
    made.output("c-1", "Chunk ID: 1\nProcess exited with code 2\nOutput:\nno\n")
    made.item("custom_tool_call", name="apply_patch", call_id="c-2", input="*** Begin Patch")
    made.item("custom_tool_call_output", call_id="c-2", output="Exit code: 0\nOutput:\nSuccess.")
    found = events(write(tmp_path / "a.jsonl", made.lines))
    facts = [event for event in found if isinstance(event, SessionFacts)]
    assert facts[-1] == SessionFacts("codex", "s-1", "/repo", "gpt-5.5-codex", "0.166.0")
    at = "2026-01-01T00:00:{:02}.000Z".format
    given = {"cmd": "ls", "workdir": "/repo"}
    said = "Where is it?\nI look."
    assert [event for event in found if not isinstance(event, SessionFacts)] == [
        PromptMessage("msg-1", "Fix the lexer.", at(4)),
        ToolCall("c-1", "exec_command", given, at(9), "", said, "/repo/src"),
        ToolResult("c-1", False, at(10)),
        ToolCall("c-2", "apply_patch", "*** Begin Patch", at(11), "", "", "/repo/src"),
        ToolResult("c-2", True, at(12)),
    ]


def test_text_added_by_the_client_is_not_the_users(tmp_path: Path) -> None:
    made = CodexFile()
    kinds = {"content_item_kinds": ["agents_md.instructions", "environments.environment_context"]}
    made.says(
        "user", "# AGENTS.md instructions for /repo", "<environment_context>", **{KINDS: kinds}
    )
    mixed = {"content_item_kinds": ["environments.environment_context", "user.text"]}
    made.says("user", "<environment_context>", "Fix it.", **{KINDS: mixed})
    made.says("user", "An older version says nothing of kinds.")
    found = read_all(write(tmp_path / "a.jsonl", made.lines))
    assert [(event.text, event.machine) for event in found if isinstance(event, PromptMessage)] == [
        ("# AGENTS.md instructions for /repo\n<environment_context>", True),
        ("Fix it.", False),
        ("An older version says nothing of kinds.", False),
    ]


@pytest.mark.parametrize(
    ("output", "ok"),
    [
        ("Chunk ID: 1\nProcess exited with code 0\nOutput:\n", True),
        ("Chunk ID: 1\nProcess exited with code 1\nOutput:\n", False),
        ("Exit code: 1\nWall time: 0 seconds\nOutput:\n", False),
        ("Chunk ID: 1\nProcess running with session ID 7\nOutput:\nExit code: 1", True),
        (json.dumps({"output": "x" * 900, "metadata": {"exit_code": 0}}), True),
        (json.dumps({"output": "x" * 900, "metadata": {"exit_code": 127}}), False),
        ({"content": "no", "success": False}, False),
        ({"content": "yes", "success": True}, True),
        ([{"type": "input_text", "text": "a picture"}], True),
        ("apply_patch verification failed: Failed to find expected lines", False),
        ("Command blocked by PreToolUse hook: no. Command: rm x", False),
        ("aborted by user after 3.1s", False),
        ("Plan updated", True),
        (None, True),
    ],
)
def test_failed_calls_are_recognised(tmp_path: Path, output: Any, ok: bool) -> None:
    made = CodexFile()
    made.call("c-1", cmd="x")
    made.output("c-1", output)
    found = read_all(write(tmp_path / "a.jsonl", made.lines))
    assert [event.ok for event in found if isinstance(event, ToolResult)] == [ok]


def test_every_kind_of_call_is_read(tmp_path: Path) -> None:
    made = CodexFile()
    made.call("c-1", cmd=["bash", "-lc", "ls"])
    made.item("function_call", name="lookup", namespace="mcp__demo__", call_id="c-2", arguments="{")
    made.item(
        "local_shell_call",
        call_id="c-3",
        action={"type": "exec", "command": ["ls"], "working_directory": "/repo/a"},
    )
    made.item("web_search_call", id="ws-1", action={"type": "search", "query": "tides"})
    made.item("image_generation_call", id="ig-1")
    found = read_all(write(tmp_path / "a.jsonl", made.lines))
    shell = {"type": "exec", "command": ["ls"], "working_directory": "/repo/a"}
    assert [
        (event.id, event.tool, event.input) for event in found if isinstance(event, ToolCall)
    ] == [
        ("c-1", "exec_command", {"cmd": ["bash", "-lc", "ls"]}),
        ("c-2", "mcp__demo__lookup", "{"),
        ("c-3", "local_shell", {**shell, "workdir": "/repo/a"}),
        ("ws-1", "web_search", {"type": "search", "query": "tides"}),
    ]


def test_a_compaction_repeats_nothing(tmp_path: Path) -> None:
    made = CodexFile()
    made.says("user", "Fix it.", id="msg-1")
    made.says("assistant", "<summary>")
    history = [{"type": "message", "role": "user", "content": [{"text": "Fix it."}]}]
    made.add("compacted", message="Another language model …", replacement_history=history)
    made.call("c-1", cmd="ls")
    found = read_all(write(tmp_path / "a.jsonl", made.lines))
    assert [type(event) for event in found] == [PromptMessage, Compacted, ToolCall]
    assert [event.reasoning for event in found if isinstance(event, ToolCall)] == [""]


def test_spawned_threads_belong_to_their_session(tmp_path: Path) -> None:
    made = CodexFile()
    made.says("user", "Fix it.")
    made.call("c-1", "spawn_agent", message="Look")
    made.call("c-9", cmd="pwd")
    write(tmp_path / "a.jsonl", made.lines)
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "s-1", "depth": 1}}}
    below = CodexFile("s-2", source=spawned)
    below.add("session_meta", id="s-1", cwd="/elsewhere")  # with the history that it was given
    below.call("c-1", "spawn_agent", message="Look")
    below.says("user", "Look")
    below.call("c-2", cmd="ls")
    write(tmp_path / "b.jsonl", below.lines)
    last = CodexFile("s-3", parent_thread_id="s-2")
    last.call("c-3", cmd="id")
    write(tmp_path / "c.jsonl", last.lines)
    found = read_all(tmp_path)
    calls = [(event.id, event.agent_id) for event in found if isinstance(event, ToolCall)]
    assert sorted(calls) == [("c-1", ""), ("c-2", "s-2"), ("c-3", "s-3"), ("c-9", "")]
    said = [(event.text, event.machine) for event in found if isinstance(event, PromptMessage)]
    assert sorted(said) == [("Fix it.", False), ("Look", True)]


def test_the_oldest_rollouts_have_bare_items(tmp_path: Path) -> None:
    lines: list[Line] = [
        {"id": "s-1", "timestamp": "2025-05-01T00:00:00Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]},
        {
            "type": "function_call",
            "name": "shell",
            "arguments": '{"command":["ls"]}',
            "call_id": "c",
        },
        {"type": "function_call_output", "call_id": "c", "output": "ok"},
    ]
    found = events(write(tmp_path / "a.jsonl", lines))
    assert [type(event) for event in found] == [SessionFacts, PromptMessage, ToolCall, ToolResult]
    assert found[0] == SessionFacts("codex", "s-1")
    assert astuple(found[2])[:4] == ("c", "shell", {"command": ["ls"]}, "2025-05-01T00:00:00Z")


def compress(data: bytes) -> bytes:
    """Return a zstd frame that holds the data in raw blocks."""
    blocks = [data[at : at + 100_000] for at in range(0, len(data), 100_000)] or [b""]
    frame = b"\x28\xb5\x2f\xfd\x00\x58"  # no sizes, a window of 2 MiB
    for number, block in enumerate(blocks):
        last = number == len(blocks) - 1
        frame += (len(block) << 3 | last).to_bytes(3, "little") + block
    return frame


@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not on PATH")
def test_compressed_rollouts_are_read(tmp_path: Path, kedge: Kedge) -> None:
    file = CodexFile(cwd=str(kedge.directory))
    file.says("user", "Write the lexer.")
    for number in range(3000):  # more than is read to recognise it
        file.call(f"c{number}", cmd=f"echo {number}" + " x" * 100)
    plain = write(tmp_path / "rollout-1.jsonl", file.lines)
    data = plain.read_bytes()
    plain.unlink()
    folder = tmp_path / ".codex" / "sessions" / "2026"
    folder.mkdir(parents=True)
    (folder / "rollout-1.jsonl.zst").write_bytes(compress(data))
    env = {"HOME": str(tmp_path), "CODEX_HOME": ""}
    ran = kedge("drift", "replay", "--all", "--json", env=env)
    (found,) = ran.data
    assert (found["goal"], found["actions"], ran.err) == ("Write the lexer.", 3000, "")

    (folder / "rollout-1.jsonl.zst").write_bytes(compress(data)[:-1000])
    ran = kedge("drift", "replay", "--all", env=env)
    assert f"cannot read {folder / 'rollout-1.jsonl.zst'}" in ran.err


def test_without_zstd_one_line_says_what_to_install(tmp_path: Path, kedge: Kedge) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(str(shutil.which("git")))
    folder = tmp_path / ".codex" / "sessions"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"rollout-{number}.jsonl.zst").write_bytes(compress(b"{}"))
    env = {"HOME": str(tmp_path), "CODEX_HOME": "", "PATH": str(tmp_path / "bin")}
    ran = kedge("drift", "replay", "--all", env=env)
    assert [line for line in ran.err.splitlines() if "compressed" in line] == [
        "warning: 3 compressed transcripts left out, because zstd is not on PATH: "
        "install zstd (apt install zstd, brew install zstd)"
    ]
    ran = kedge("drift", "replay", str(folder / "rollout-0.jsonl.zst"), env=env, code=None)
    assert_clear(ran, code=1, says="zstd is not on PATH")
