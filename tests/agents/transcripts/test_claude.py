"""Claude Code's transcripts: the events of each kind of record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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


class ClaudeFile:
    """Records as the client writes them, one per second."""

    def __init__(self, session: str = "s-1", **always: Any) -> None:
        self.lines: list[Line] = []
        self.name = always.get("agentId", session)
        self.always = {"sessionId": session, "cwd": "/repo", "version": "2.1.325", **always}

    def add(self, kind: str, **more: Any) -> Line:
        number = len(self.lines) + 1
        line = {
            "parentUuid": None,
            "isSidechain": False,
            **self.always,
            "type": kind,
            "uuid": f"u-{self.name}-{number}",
            "timestamp": f"2026-01-01T00:00:{number:02}.000Z",
            **more,
        }
        self.lines.append(line)
        return line

    def user(self, content: Any, **more: Any) -> Line:
        return self.add("user", message={"role": "user", "content": content}, **more)

    def says(self, *blocks: Line, message: str = "m-1", **more: Any) -> Line:
        content = {"id": message, "model": "claude-opus-5-5", "content": list(blocks)}
        return self.add("assistant", message=content, **more)

    def result(self, call: str, **more: Any) -> Line:
        block = {"type": "tool_result", "tool_use_id": call, "content": "done", **more}
        return self.user([block], toolUseResult={"stdout": "done"})


def tool(name: str, id: str, **given: Any) -> Line:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def text(said: str) -> Line:
    return {"type": "text", "text": said}


def write(path: Path, lines: list[Line]) -> Path:
    # as the client does it, without spaces
    made = [json.dumps(line, separators=(",", ":"), ensure_ascii=False) for line in lines]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*made, ""]), encoding="utf-8")
    return path


def events(*paths: Path) -> list[Event]:
    files = [file for path in sessions.find_files(paths) if (file := sessions.inspect_file(path))]
    (session,) = sessions.group_sessions(files)
    return list(sessions.read_events(session, warn=pytest.fail))


def read_all(*paths: Path) -> list[Event]:
    return [event for event in events(*paths) if not isinstance(event, SessionFacts)]


def test_a_session_has_its_events_in_order(tmp_path: Path) -> None:
    made = ClaudeFile()
    made.user("Fix the lexer.")
    made.says({"type": "thinking", "thinking": "Where is it?", "signature": "x"})
    made.says(text("I look for it."))
    made.says(tool("Bash", "t-1", command="ls"))
    made.result("t-1", is_error=True)
    made.says(tool("Edit", "t-2", file_path="/repo/a.py"), message="m-2", cwd="/repo/src")
    made.result("t-2")
    found = events(write(tmp_path / "a.jsonl", made.lines))
    facts = [event for event in found if isinstance(event, SessionFacts)]
    assert facts[-1] == SessionFacts("claude", "s-1", "/repo", "claude-opus-5-5", "2.1.325")
    at = "2026-01-01T00:00:{:02}.000Z".format
    assert [event for event in found if not isinstance(event, SessionFacts)] == [
        PromptMessage("u-s-1-1", "Fix the lexer.", at(1)),
        ToolCall(
            "t-1", "Bash", {"command": "ls"}, at(4), "", "Where is it?\nI look for it.", "/repo"
        ),
        ToolResult("t-1", False, at(5)),
        # what was said in another message is not the reason
        ToolCall("t-2", "Edit", {"file_path": "/repo/a.py"}, at(6), "", "", "/repo/src"),
        ToolResult("t-2", True, at(7)),
    ]


def test_duplicate_records_and_calls_count_once(tmp_path: Path) -> None:
    made = ClaudeFile()
    made.user("Fix it.")
    made.says(tool("Bash", "t-1", command="ls"))
    made.lines += made.lines
    made.says(tool("Bash", "t-1", command="ls"))
    found = read_all(write(tmp_path / "a.jsonl", made.lines))
    assert [type(event) for event in found] == [PromptMessage, ToolCall]


@pytest.mark.parametrize(
    "flags",
    [
        {"isMeta": True},
        {"isCompactSummary": True},
        {"isVisibleInTranscriptOnly": True},
        {"promptSource": "system"},
        {"origin": {"kind": "task-notification"}},
        {"isSidechain": True, "agentId": "a1"},
    ],
)
def test_machine_messages_are_marked(tmp_path: Path, flags: Line) -> None:
    made = ClaudeFile()
    made.user("Fix it.", origin={"kind": "human"})
    made.user("Something else.", **flags)
    first, second = read_all(write(tmp_path / "a.jsonl", made.lines))
    assert isinstance(first, PromptMessage) and isinstance(second, PromptMessage)
    assert (first.machine, second.machine) == (False, True)


def test_messages_during_the_work_are_read(tmp_path: Path) -> None:
    made = ClaudeFile()
    made.says(tool("Edit", "t-1"), tool("AskUserQuestion", "t-2"))
    refused = "The user doesn't want to proceed with this tool use. To tell you how to proceed, "
    made.result("t-1", is_error=True, content=refused + "the user said:\nNot that file.")
    made.result("t-2")["toolUseResult"] = {"answers": {"Which store?": "SQLite"}}
    queued = {"type": "queued_command", "prompt": "And the tests.", "commandMode": "prompt"}
    made.add("attachment", attachment=queued)
    made.add("attachment", attachment={**queued, "commandMode": "task-notification"})
    made.add("attachment", attachment={"type": "hook_success", "prompt": "no"})
    made.result("t-3", is_error=True, content="the user said:\nnothing of it")
    found = read_all(write(tmp_path / "a.jsonl", made.lines))
    said = [(event.text, event.machine) for event in found if isinstance(event, PromptMessage)]
    assert said == [
        ("Not that file.", False),
        ("SQLite", False),
        ("And the tests.", False),
        ("And the tests.", True),
    ]


def test_compactions_and_abandoned_branches_are_read(tmp_path: Path) -> None:
    made = ClaudeFile()
    first = made.user("Fix it.")
    made.says(tool("Bash", "t-1", command="ls"), parentUuid=first["uuid"])
    # the user went back to the first message
    made.says(tool("Bash", "t-2", command="pwd"), parentUuid=first["uuid"], message="m-2")
    made.add("system", subtype="compact_boundary", logicalParentUuid=first["uuid"])
    made.user("This session is being continued …", isCompactSummary=True)
    made.add("system", subtype="api_error")
    made.says(tool("Bash", "t-3", command="id"), message="m-3")
    found = read_all(write(tmp_path / "a.jsonl", made.lines))
    assert [event.id for event in found if isinstance(event, ToolCall)] == ["t-1", "t-2", "t-3"]
    assert sum(isinstance(event, Compacted) for event in found) == 1


def test_irrelevant_records_are_skipped(tmp_path: Path) -> None:
    made = ClaudeFile()
    begin: list[Line] = [
        {"type": "summary", "summary": "Old work", "leafUuid": "x"},
        {"type": "api-request-blob", "message": {"role": "user", "content": "not said"}},
        {"type": "queue-operation", "content": "not said either", "sessionId": "s-1"},
        {"type": "assistant-of-tomorrow", "message": {"content": [tool("Bash", "t-9")]}},
    ]
    made.user("Fix it.")
    made.add("progress", data={"type": "user"})
    # a call whose input looks like a record of that kind
    mail = {"attachment": {"type": "pdf"}}
    line = made.says(tool("mcp__mail__send", "t-1", **mail))
    reordered = {"type": "assistant", **line}
    found = read_all(write(tmp_path / "a.jsonl", [*begin, made.lines[0], reordered]))
    assert [type(event) for event in found] == [PromptMessage, ToolCall]
    plain = read_all(write(tmp_path / "b.jsonl", made.lines))
    assert [event.input for event in plain if isinstance(event, ToolCall)] == [mail]


def test_subagents_are_merged_in_order_of_time(tmp_path: Path) -> None:
    made = ClaudeFile()
    made.user("Fix it.")
    made.says(tool("Agent", "t-1", prompt="Look"))
    made.says(tool("Bash", "t-9", command="ls"), message="m-9", timestamp="2026-01-01T00:01:00Z")
    main = write(tmp_path / "s-1.jsonl", made.lines)
    below = ClaudeFile(isSidechain=True, agentId="a1")
    below.user("Look", timestamp="2026-01-01T00:00:10Z")
    below.says(tool("Read", "t-2"), timestamp="2026-01-01T00:00:11Z")
    below.says(tool("Edit", "t-3"), timestamp="2026-01-01T00:02:00Z")
    write(tmp_path / "s-1" / "subagents" / "agent-a1.jsonl", below.lines)
    old = ClaudeFile(isSidechain=True, agentId="a2")  # as older versions had it: beside the session
    old.says(tool("Grep", "t-4"), timestamp="2026-01-01T00:00:10.500Z")
    write(tmp_path / "agent-a2.jsonl", old.lines)
    found = read_all(tmp_path)
    calls = [(event.id, event.agent_id) for event in found if isinstance(event, ToolCall)]
    assert calls == [("t-1", ""), ("t-4", "a2"), ("t-2", "a1"), ("t-9", ""), ("t-3", "a1")]
    prompts = [(event.text, event.machine) for event in found if isinstance(event, PromptMessage)]
    assert prompts == [("Fix it.", False), ("Look", True)]
    assert not any(isinstance(event, ToolCall) and event.agent_id for event in read_all(main))


def test_a_fork_is_a_separate_session_after_the_first(tmp_path: Path) -> None:
    made = ClaudeFile()
    made.user("Fix it.")
    made.says(tool("Bash", "t-1", command="ls"))
    write(tmp_path / "z.jsonl", made.lines)
    begun = {"type": "queue-operation", "timestamp": "2026-01-02T00:00:00.000Z", "sessionId": "s-2"}
    copied = [{**line, "sessionId": "s-2"} for line in made.lines]
    write(tmp_path / "a.jsonl", [begun, *copied])
    files = [
        file for path in sessions.find_files([tmp_path]) if (file := sessions.inspect_file(path))
    ]
    assert [each.id for each in sessions.group_sessions(files)] == ["s-1", "s-2"]
