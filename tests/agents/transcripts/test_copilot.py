"""Copilot CLI's log of a session: the events of each kind of line, as the client writes them."""

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
SESSION = "d0873ddb-cc18-461f-b24f-9110c97b7d35"
AT = "2026-01-01T00:00:00.000Z"


def line(kind: str, agent: str = "", name: str = "", **data: Any) -> Line:
    made = {"type": kind, "data": data, "id": name or kind, "timestamp": AT, "parentId": None}
    return made | ({"agentId": agent} if agent else {})


START = line(
    "session.start",
    sessionId=SESSION,
    producer="copilot-agent",
    copilotVersion="1.0.102",
    startTime=AT,
    selectedModel="claude-sonnet-4.6",
    context={"cwd": "/srv/repo", "gitRoot": "/srv/repo"},
)


def read_all(place: Path, *lines: Line, warnings: list[str] | None = None) -> list[Event]:
    path = place / SESSION / "events.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines))
    files = [file for path in sessions.find_files([place]) for file in sessions.inspect_files(path)]
    (session,) = sessions.group_sessions(files)
    assert (session.agent, session.id, session.cwd) == ("copilot", SESSION, "/srv/repo")
    assert session.files[0].facts.version == "1.0.102"
    warn = pytest.fail if warnings is None else warnings.append
    found = sessions.read_events(session, warn=warn)
    return [event for event in found if not isinstance(event, SessionFacts)]


def test_a_session_with_a_subagent_and_a_compaction(tmp_path: Path) -> None:
    given = {"path": "/srv/repo/a.txt", "file_text": "a\n"}
    failed: Line = {"success": True, "shellExecution": {"exitCode": 3}}
    denied: Line = {"success": False, "error": {"code": "denied", "message": "no"}}
    found = read_all(
        tmp_path,
        START,
        line("user.message", name="p1", content="Do the thing.", transformedContent="<d>\nDo"),
        line("system.message", content="You are …"),
        line("session.usage_record", usage={"inputTokens": 1000}),
        line("assistant.message", content="I write.", toolRequests=[]),
        line("tool.execution_start", toolCallId="c1", toolName="create", arguments=given),
        line("tool.execution_complete", toolCallId="c1", success=True),
        line("user.message", "sub-1", "p2", content="look around"),
        line("assistant.message", "sub-1", content="I look."),
        line("tool.execution_start", "sub-1", toolCallId="c2", toolName="bash", arguments={"a": 1}),
        line("tool.execution_complete", "sub-1", toolCallId="c2", **failed),
        line("session.compaction_complete", success=True),
        line("user.message", name="p3", content="Hook says.", source="hook"),
        line(
            "tool.execution_start", toolCallId="c3", toolName="apply_patch", arguments="*** Begin"
        ),
        line("tool.execution_complete", toolCallId="c3", **denied),
        line("something.later", content=[7]),
    )
    assert found == [
        PromptMessage("p1", "Do the thing.", AT),
        ToolCall("c1", "create", given, AT, "", "I write."),
        ToolResult("c1", True, AT),
        PromptMessage("p2", "look around", AT, machine=True),
        ToolCall("c2", "bash", {"a": 1}, AT, "sub-1", "I look."),
        ToolResult("c2", False, AT),
        Compacted(AT),
        PromptMessage("p3", "Hook says.", AT, machine=True),
        ToolCall("c3", "apply_patch", "*** Begin", AT, "", "I write."),
        ToolResult("c3", False, AT),
    ]


def test_what_a_known_record_lacks_is_reported(tmp_path: Path) -> None:
    warnings: list[str] = []
    found = read_all(
        tmp_path,
        START,
        line("user.message", name="p1", content="Do the thing."),
        line("tool.execution_start", toolCallId="c1", arguments={}),
        line("tool.execution_complete", toolCallId="c1", success="yes"),
        line("user.message", name="p2", content=["a list"]),
        warnings=warnings,
    )
    assert len(found) == 1
    (warning,) = warnings
    assert warning.endswith(
        "events.jsonl: 3 records of copilot without what they should have, left out"
    )
