"""Gemini CLI's chats: the events of each kind of line, as the client writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import in_time

from kedge.agents.json_object import JsonObject
from kedge.agents.transcripts import sessions
from kedge.agents.transcripts.events import (
    Compacted,
    Event,
    PromptMessage,
    SessionFacts,
    ToolCall,
    ToolResult,
)
from kedge.agents.transcripts.gemini import GeminiChat

Line = dict[str, Any]
SESSION = "e25b1dab-2357-4855-9e39-5d5a9ad9a374"
AT = "2026-01-01T00:00:0{}.000Z"


def header(session: str = SESSION, kind: str = "main", **more: Any) -> Line:
    times = {"startTime": AT.format(0), "lastUpdated": AT.format(0)}
    return {"sessionId": session, "projectHash": "60b2ec5c", **times, "kind": kind, **more}


def user(name: str, text: str, at: int = 1) -> Line:
    content = [{"text": text}]
    return {"id": name, "timestamp": AT.format(at), "type": "user", "content": content}


def history(*messages: Line) -> Line:
    return {"$set": {"messages": list(messages), "lastUpdated": AT.format(9)}}


def answer(name: str, text: str, *calls: Line, at: int = 2) -> Line:
    line: Line = {"id": name, "timestamp": AT.format(at), "type": "gemini", "content": text}
    line |= {"thoughts": [], "tokens": {"input": 1000, "output": 50}, "model": "gemini-2.5-pro"}
    return line | ({"toolCalls": list(calls)} if calls else {})


def call(name: str, tool: str, status: str, output: str = "", **given: Any) -> Line:
    response = {"functionResponse": {"id": name, "name": tool, "response": {"output": output}}}
    return {
        "id": name,
        "name": tool,
        "args": given,
        "result": [response],
        "status": status,
        "timestamp": AT.format(3),
    }


def write(path: Path, *lines: Line) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return path


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """The chats of a project; the file beside them names the project's directory."""
    place = tmp_path / "tmp" / "repo" / "chats"
    place.mkdir(parents=True)
    (place.parent / ".project_root").write_text("/srv/repo")
    return place


def read_all(place: Path, warnings: list[str] | None = None) -> list[Event]:
    files = [file for path in sessions.find_files([place]) for file in sessions.inspect_files(path)]
    (session,) = sessions.group_sessions(files)
    assert (session.agent, session.id, session.cwd) == ("gemini", SESSION, "/srv/repo")
    warn = pytest.fail if warnings is None else warnings.append
    found = sessions.read_events(session, warn=warn)
    return [event for event in found if not isinstance(event, SessionFacts)]


def test_a_call_that_is_appended_again_counts_once(chats: Path) -> None:
    context = user("c", "<session_context>\nThis is the Gemini CLI.")
    wrote = call("w1", "write_file", "success", "written", file_path="a.txt", content="a\n")
    ran = call("r1", "run_shell_command", "success", "Output: a\nExit Code: 3", command="exit 3")
    refused = call("x1", "run_shell_command", "error", command="rm -rf .")
    write(
        chats / "session-1.jsonl",
        header(),
        history(context),
        user("p1", "<hook_context>anchor</hook_context>\n\nDo the thing."),
        {"$set": {"lastUpdated": AT.format(1)}},
        answer("m1", "I write."),
        answer("m1", "I write.", wrote | {"status": "executing"}),
        answer("m1", "I write.", wrote),
        answer("m1", "I write.", wrote),
        {"id": "f", "type": "user", "content": wrote["result"], "timestamp": AT.format(4)},
        answer("m2", "", ran, refused),
        {"id": "i", "type": "info", "content": "of a kind that is not known"},
        answer("m3", "All done."),
    )
    at = AT.format(3)
    given = {"file_path": "a.txt", "content": "a\n"}
    assert read_all(chats) == [
        PromptMessage("p1", "Do the thing.", AT.format(1)),
        ToolCall("w1", "write_file", given, at, "", "I write."),
        ToolResult("w1", True, at),
        ToolCall("r1", "run_shell_command", {"command": "exit 3"}, at),
        ToolResult("r1", False, at),
        ToolCall("x1", "run_shell_command", {"command": "rm -rf ."}, at),
        ToolResult("x1", False, at),
    ]


def test_a_resumed_session_repeats_its_history(chats: Path) -> None:
    first = user("p1", "Do the thing.")
    snapshot = user("s", "<state_snapshot>so far</state_snapshot>")
    write(
        chats / "session-1.jsonl",
        header(),
        first,
        header(),
        history(user("c", "<session_context>"), first),
        user("p2", "Go on.", 5),
        history(snapshot),
    )
    assert read_all(chats) == [
        PromptMessage("p1", "Do the thing.", AT.format(1)),
        PromptMessage("p2", "Go on.", AT.format(5)),
        Compacted(AT.format(9)),
    ]


def test_the_chat_of_a_subagent_belongs_to_its_session(chats: Path) -> None:
    write(chats / "session-1.jsonl", header(), user("p1", "Do the thing."))
    look = call("s#0-0", "run_shell_command", "success", command="echo sub")
    write(
        chats / SESSION / "7504191a.jsonl",
        header("7504191a", "subagent", directories=["/srv/repo"]),
        user("p2", "look around", 2),
        answer("m1", "I look.", look),
    )
    _, prompt, called, _ = read_all(chats)
    assert isinstance(prompt, PromptMessage) and prompt.machine
    assert isinstance(called, ToolCall) and called.agent_id == "7504191a"


def test_what_a_known_record_lacks_is_reported(chats: Path) -> None:
    nameless = {key: value for key, value in call("x", "x", "success").items() if key != "name"}
    path = write(
        chats / "session-1.jsonl",
        header(),
        user("p1", "Do the thing."),
        answer("m1", "", nameless),
        {**answer("m2", ""), "toolCalls": "text"},
        {**user("p2", ""), "content": 7},
        {"unknown": True, "type": "later", "id": "z"},
    )
    warnings: list[str] = []
    assert len(read_all(chats, warnings)) == 1
    assert warnings == [f"{path}: 3 records of gemini without what they should have, left out"]


def test_unfinished_contexts_of_hooks_are_read_in_linear_time() -> None:
    chat = GeminiChat()
    chat.read_record(JsonObject(header()))
    with in_time(2):
        (message,) = chat.read_record(JsonObject(user("u", "<hook_context>" * 100_000 + " do it")))
    assert isinstance(message, PromptMessage)
    assert message.text.endswith(" do it")
