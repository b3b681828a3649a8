"""The hooks of GitHub Copilot CLI, registered by Claude Code's names of events.

Then it sends nearly Claude Code's events, but takes the fields of an answer at its top level. Hook
path: no `typing`.
"""

from __future__ import annotations

import os
import re

from kedge.agents.dialects import OWN_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KEPT = ("hook_event_name", "session_id", "transcript_path", "cwd", "timestamp", "prompt",
         "tool_name", "tool_input", "stop_hook_active", "trigger")  # fmt: skip
_INPUTS = {
    "path": "file_path", "file_text": "content", "old_str": "old_string", "new_str": "new_string",
}  # fmt: skip
_OF_MAIN = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreCompact")
_EXIT = re.compile(r"<shellId: \S+ completed with exit code ([0-9]+)>\s*\Z")
_ID = re.compile(r"[0-9A-Za-z-]{1,100}\Z")
_SPEAKS = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure")


def is_its_event(event: dict[str, Any]) -> bool:
    """True if Copilot sent an event to a hook that was installed for Claude Code."""
    return bool(os.environ.get("COPILOT_CLI")) and "timestamp" in event


def read_event(event: dict[str, Any]) -> dict[str, Any]:
    """Return Claude Code's event; an empty one for what kedge does not handle."""
    name = event.get("hook_event_name")
    read = {key: event[key] for key in _KEPT if key in event}
    if event.get("parent_agent_id"):  # a subagent has events and an id of its own
        if name in _OF_MAIN:
            return {}
        read |= {"session_id": event["parent_agent_id"], "agent_id": event.get("agent_id")}
    if _ID.match(str(read.get("session_id") or "")):  # only some of its events name the transcript
        read.setdefault("transcript_path", _find_transcript(read["session_id"]))
    if name == "UserPromptSubmit" and str(read.get("prompt")).startswith(OWN_WORDS):
        return {}
    if name == "SessionStart":
        read["source"] = "startup" if event.get("source") == "new" else event.get("source")
    if "tool_name" in read:
        read |= _read_call(str(read["tool_name"]), read.get("tool_input"))
    if name == "PostToolUse" and _has_failed(event.get("tool_result")):
        read["hook_event_name"] = "PostToolUseFailure"
    return read


def write_answer(event: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    """Return the answer as Copilot takes it; it shows its user no message of a hook."""
    output = answer.get("hookSpecificOutput") or {}
    written: dict[str, Any] = {key: answer[key] for key in ("decision", "reason") if key in answer}
    if output.get("permissionDecision"):
        reason = output.get("permissionDecisionReason", "")
        written |= {"permissionDecision": "deny", "permissionDecisionReason": reason}
    elif "additionalContext" in output:
        written["additionalContext"] = output["additionalContext"]
    return written


def has_lost_context(home: str, event: dict[str, Any]) -> bool:
    """True once after a compaction. It is noted when it begins, since no event tells its end."""
    name = event.get("hook_event_name")
    session = str(event.get("session_id") or "")
    if not _ID.match(session) or event.get("agent_id"):  # a subagent's context is its own
        return False
    if name not in ("PreCompact", "SessionEnd", *_SPEAKS):
        return False
    mark = os.path.join(home, "hooks", f"{session}.compacted")
    if name == "PreCompact":
        os.makedirs(os.path.dirname(mark), exist_ok=True)
        with open(mark, "wb"):
            return False
    try:
        os.unlink(mark)
    except FileNotFoundError:
        return False
    return bool(name != "SessionEnd")


def _find_transcript(session: str) -> str:
    home = os.environ.get("COPILOT_HOME") or os.path.expanduser("~/.copilot")
    return os.path.join(home, "session-state", session, "events.jsonl")


def _read_call(tool: str, given: object) -> dict[str, Any]:
    """Return the tool and its input by Claude Code's names."""
    if isinstance(given, str):
        return {"tool_name": "apply_patch", "tool_input": {"input": given}}
    if "-" in tool:  # built-in tools have no dash in their names
        server, _, name = tool.partition("-")
        return {"tool_name": f"mcp__{server}__{name}"}
    if not isinstance(given, dict):
        return {}
    return {"tool_input": {_INPUTS.get(key, key): value for key, value in given.items()}}


def _has_failed(result: object) -> bool:
    """True for a failure, and for a command that ended with another code than 0."""
    if not isinstance(result, dict):
        return False
    if result.get("result_type") not in (None, "success"):
        return True
    found = _EXIT.search(str(result.get("text_result_for_llm") or "")[-200:])
    return found is not None and found[1] != "0"
