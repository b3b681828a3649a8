"""The hook understands each agent's events and answers in its form, without the agent itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, git

from kedge import hook
from kedge.agents.dialects import copilot, gemini, opencode

GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."


@pytest.fixture
def project(repo: Path, kedge: Kedge) -> Kedge:
    git(repo, "commit", "-qm", "first", "--allow-empty")
    return kedge


def send(project: Kedge, agent: str, event: dict[str, Any] | bytes, **env: str) -> dict[str, Any]:
    """Run the hook as the agent does; return what it answers."""
    if isinstance(event, dict):
        event = json.dumps({"session_id": "s1", "cwd": str(project.directory), **event}).encode()
    ran = subprocess.run(
        [sys.executable, "-I", "-S", hook.__file__, agent],
        input=event,
        cwd=project.directory,
        env=env,
        capture_output=True,
        check=True,
        timeout=60,
    )
    return dict(json.loads(ran.stdout)) if ran.stdout else {}


def names(agent: str) -> tuple[str, str, str]:
    """Return an agent's names for the events of a prompt, of a call and of its result."""
    if agent == "gemini":
        return "BeforeAgent", "BeforeTool", "AfterTool"
    return "UserPromptSubmit", "PreToolUse", "PostToolUse"


WRITES = {
    "gemini": ("write_file", {"file_path": "db/schema.sql", "content": "drop table t;"}),
    "copilot": ("Write", {"path": "db/schema.sql", "file_text": "drop table t;"}),
    "opencode": ("write", {"filePath": "db/schema.sql", "content": "drop table t;"}),
}


@pytest.mark.parametrize("agent", WRITES)
def test_a_call_against_the_users_word_is_denied_and_never_asked_about(
    project: Kedge, agent: str
) -> None:
    prompt, before, _ = names(agent)
    tool, given = WRITES[agent]
    send(project, agent, {"hook_event_name": prompt, "prompt": GOAL, "timestamp": "1"})
    call = {"hook_event_name": before, "tool_name": tool, "tool_input": given, "timestamp": "2"}
    answer = send(project, agent, call)
    if agent == "gemini":
        assert answer["decision"] == "deny"
        reason = answer["reason"]
    else:
        output = answer if agent == "copilot" else answer["hookSpecificOutput"]
        assert output["permissionDecision"] == "deny"
        reason = output["permissionDecisionReason"]
    assert "Don't touch db/schema.sql" in reason
    assert "Ask the user" in reason or "ask the user" in reason
    # two hooks of one event are one call; the same call later is another one
    assert send(project, agent, call) == answer
    again = {**call, "timestamp": "3", "tool_use_id": "c2"}
    if agent != "opencode":
        del again["tool_use_id"]
    send(project, agent, again)
    assert project.json("drift", "status", "--all")[0]["steps"] == 2


@pytest.mark.parametrize("agent", WRITES)
def test_a_call_too_large_to_read_is_denied_under_enforce(project: Kedge, agent: str) -> None:
    project("config", "set", "drift.policy", "enforce")
    prompt, before, _ = names(agent)
    send(project, agent, {"hook_event_name": prompt, "prompt": GOAL})
    event: dict[str, Any] = {"session_id": "s1", "cwd": str(project.directory)}
    event["hook_event_name"] = before
    event |= {"tool_name": "write_file", "tool_input": {"content": "x" * hook.LARGEST}}
    answer = send(project, agent, json.dumps(event).encode())
    said = json.dumps(answer)
    assert '"deny"' in said
    assert "could not read all of this call" in said
    assert "Agree" not in said, "nobody is asked"
    if agent == "copilot":  # the call of a subagent, which has an id of its own
        child = {**event, "session_id": "c1", "agent_id": "c1", "parent_agent_id": "s1"}
        assert send(project, agent, json.dumps(child).encode()) == answer


def test_gemini_prompts_are_the_users_words_alone() -> None:
    def read(prompt: str) -> dict[str, Any]:
        return gemini.read_event({"hook_event_name": "BeforeAgent", "prompt": prompt})

    context = "<hook_context>## Re-anchoring &lt;b&gt;</hook_context>\n\n"
    assert read(f"{context}{context}do it")["prompt"] == "do it"
    assert read("write <hook_context> to a.md")["prompt"] == "write <hook_context> to a.md"
    assert read("[kedge] Task k1 is not proven done") == {}
    assert gemini.read_event({"hook_event_name": "PreCompress"}) == {}


def test_a_compression_is_seen_in_the_transcript_of_gemini(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    event = {"hook_event_name": "PostToolUse", "transcript_path": str(file)}
    begin, said = '{"$set":{"messages":[{"id":1}]}}\n', '{"content":"### The user asked"}\n'
    assert not gemini.has_lost_context("", event)
    for lines, lost in (
        (begin, False),
        (begin + said, False),
        (begin + said + begin, True),
        (begin + said + begin + said, False),
    ):
        file.write_text('{"sessionId":"s"}\n' + lines)
        assert gemini.has_lost_context("", event) is lost, lines
        assert not gemini.has_lost_context("", {**event, "hook_event_name": "Stop"})


def test_copilot_events_of_a_subagent_are_of_its_session() -> None:
    child = {"session_id": "c", "agent_id": "c", "parent_agent_id": "s", "prompt": "look"}
    call = {**child, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}}
    read = copilot.read_event(call)
    assert (read["session_id"], read["agent_id"]) == ("s", "c")
    for name in ("UserPromptSubmit", "Stop"):
        assert copilot.read_event({**child, "hook_event_name": name}) == {}


def test_copilot_patches_and_mcp_tools_get_their_names() -> None:
    patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"
    event = {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": patch}
    read = copilot.read_event(event)
    assert (read["tool_name"], read["tool_input"]) == ("apply_patch", {"input": patch})
    tool = copilot.read_event({**event, "tool_name": "github-create_issue", "tool_input": {}})
    assert tool["tool_name"] == "mcp__github__create_issue"


def test_copilot_is_anchored_once_after_a_compaction(tmp_path: Path) -> None:
    def lost(name: str, session: str = "s-1") -> bool:
        event = {"hook_event_name": name, "session_id": session}
        return copilot.has_lost_context(str(tmp_path), event)

    assert [lost("PreToolUse"), lost("PreCompact"), lost("Stop")] == [False] * 3
    assert [lost("PreToolUse", "s-2"), lost("PreToolUse"), lost("PostToolUse")] == [
        False,
        True,
        False,
    ]
    lost("PreCompact", "../../outside")
    assert [one.name for one in tmp_path.rglob("*")] == ["hooks"]


def test_the_anchor_after_a_compaction_is_not_for_a_subagent(tmp_path: Path) -> None:
    def lost(name: str, **more: str) -> bool:
        event = copilot.read_event({"hook_event_name": name, "session_id": "s-1", **more})
        return copilot.has_lost_context(str(tmp_path), event)

    child = {"session_id": "c-1", "agent_id": "c-1", "parent_agent_id": "s-1"}
    lost("PreCompact")
    assert not lost("PreToolUse", **child)
    assert not lost("PostToolUse", **child)
    assert lost("PreToolUse")
    lost("PreCompact")
    assert not lost("SessionEnd")
    assert not [*(tmp_path / "hooks").iterdir()], "nothing is left of a session that ended"


def test_opencode_prompts_lose_the_quotes_that_its_command_line_adds() -> None:
    event = {"hook_event_name": "UserPromptSubmit", "prompt": '"do it"'}
    assert opencode.read_event(event)["prompt"] == "do it"
    for given, prompt in (
        (r'"leave \"db\" alone"', 'leave "db" alone'),
        (r'"match \d+ or \"x\""', r'match \d+ or "x"'),
        ('"ports" and "berths"', '"ports" and "berths"'),
        ('"ports"', '"ports"'),  # a single word gets no quotes
        ('"', '"'),
    ):
        assert opencode.read_event({**event, "prompt": given})["prompt"] == prompt
    tool = {"hook_event_name": "PreToolUse", "tool_name": "kedge_task_claim"}
    assert opencode.read_event(tool)["tool_name"] == "mcp__kedge__task_claim"
    assert opencode.read_event({**tool, "tool_name": "apply_patch"})["tool_name"] == "apply_patch"


@pytest.mark.parametrize("agent", ["gemini", "copilot"])
@pytest.mark.parametrize("tail", ["Exit Code: 3", "<shellId: 0 completed with exit code 3>"])
def test_a_failed_command_is_a_failure(agent: str, tail: str) -> None:
    text = f"out\n{tail}"
    event = {
        "hook_event_name": names(agent)[2],
        "tool_response": {"llmContent": f"{text}\n</untrusted_context>"},
        "tool_result": {"result_type": "success", "text_result_for_llm": text},
    }
    read = {"gemini": gemini, "copilot": copilot}[agent].read_event(event)
    fails = ("Exit" in tail) is (agent == "gemini")
    assert read["hook_event_name"] == ("PostToolUseFailure" if fails else "PostToolUse")
    assert "llmContent" not in json.dumps(read)


def test_claude_codes_hook_is_silent_under_copilot(project: Kedge) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "prompt": GOAL, "timestamp": "1"}
    send(project, "claude", event, COPILOT_CLI="1")
    assert project.json("drift", "status", "--all") == []
    del event["timestamp"]  # Claude Code itself, started from a shell of Copilot
    send(project, "claude", event, COPILOT_CLI="1")
    assert len(project.json("drift", "status", "--all")) == 1
