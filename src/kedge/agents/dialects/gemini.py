"""The hooks of Gemini CLI. Hook path: no `typing`."""

from __future__ import annotations

import os
import re

from kedge.agents.dialects import OWN_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_EVENTS = {
    "SessionStart": "SessionStart",
    "BeforeAgent": "UserPromptSubmit",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "SessionEnd": "SessionEnd",
}
_NAMES = {name: own for own, name in _EVENTS.items()} | {"PostToolUseFailure": "AfterTool"}
_KEPT = ("session_id", "transcript_path", "cwd", "timestamp", "source", "prompt", "tool_name",
         "tool_input", "stop_hook_active")  # fmt: skip
HOOK_CONTEXT = r"<hook_context>[^<]*</hook_context>"  # what hooks said, with its `<` escaped
_CONTEXT = re.compile(rf"(?:\s*{HOOK_CONTEXT}\s*)+")  # comes back at the head of the prompt
_EXIT = re.compile(r"^Exit Code: ([0-9]+)$", re.MULTILINE)
_REWRITTEN = b'{"$set":{"messages":'  # a line of the transcript: the conversation is replaced
_SPOKEN = (b"## Re-anchoring Context", b"### The user asked", b"### You are working on")
_TAIL = 2_000_000  # bytes of a transcript that are read


def read_event(event: dict[str, Any]) -> dict[str, Any]:
    """Return Claude Code's event; an empty one for what kedge does not handle."""
    name = _EVENTS.get(str(event.get("hook_event_name")))
    if name is None:
        return {}
    read = {key: event[key] for key in _KEPT if key in event}
    if isinstance(read.get("prompt"), str):
        found = _CONTEXT.match(read["prompt"])
        read["prompt"] = read["prompt"][found.end() :] if found else read["prompt"]
        if read["prompt"].startswith(OWN_WORDS) and name == "UserPromptSubmit":
            return {}
    server = event.get("mcp_context")
    if isinstance(server, dict):
        read["tool_name"] = f"mcp__{server.get('server_name')}__{server.get('tool_name')}"
    if name == "PostToolUse" and _has_failed(event.get("tool_response")):
        name = "PostToolUseFailure"
    return {**read, "hook_event_name": name}


def write_answer(event: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer as Gemini CLI takes it. It must not `ask`: without a user that hangs."""
    output = answer.get("hookSpecificOutput") or {}
    written = {"systemMessage": answer["systemMessage"]} if "systemMessage" in answer else {}
    if output.get("permissionDecision"):
        reason = output.get("permissionDecisionReason", "")
        written |= {"decision": "deny", "reason": reason}
    elif answer.get("decision"):
        written |= {"decision": "deny", "reason": answer.get("reason", "")}
    if "additionalContext" in output:
        name = _NAMES.get(str(event.get("hook_event_name")), "")
        context = {"hookEventName": name, "additionalContext": output["additionalContext"]}
        written["hookSpecificOutput"] = context
    return written


def has_lost_context(home: str, event: dict[str, Any]) -> bool:  # noqa: ARG001 - as for Copilot
    """True if the conversation was replaced and what is left of it has no anchor.

    `PreCompress` comes before every request, so the transcript is asked: its first line of that
    kind begins the session.
    """
    if event.get("hook_event_name") not in ("UserPromptSubmit", "PostToolUse"):
        return False
    try:
        with open(str(event.get("transcript_path") or ""), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _TAIL))
            tail = file.read(_TAIL)
    except (OSError, ValueError):
        return False
    at = tail.rfind(_REWRITTEN)
    if at < 0 or (size <= _TAIL and tail.find(_REWRITTEN) == at):
        return False
    return not any(words in tail[at:] for words in _SPOKEN)


def _has_failed(response: object) -> bool:
    """True for an error, and for a command that ended with another code than 0."""
    if not isinstance(response, dict):
        return False
    if response.get("error"):
        return True
    codes = _EXIT.findall(str(response.get("llmContent") or "")[-500:])
    return bool(codes) and codes[-1] != "0"
