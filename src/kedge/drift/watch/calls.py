"""A tool call, as a hook event reports it."""

from __future__ import annotations

import json

from kedge.host.redact import redact, redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST = 100  # characters of an id


class HookCall:
    """A call as it was made, who made it, and whether it succeeded.

    Where an agent gives calls no ids, `id` is made of the call and of the time of its event, which
    every hook of that event gets; `alike` is the part that its result has in common with it.
    """

    __slots__ = ("alike", "id", "input", "ok", "subagent", "tool")

    def __init__(self, event: dict[str, Any]) -> None:
        self.tool = str(event.get("tool_name") or "")
        self.input = event.get("tool_input")
        self.subagent = str(event.get("agent_id") or "")[:_LONGEST]
        self.id = str(event.get("tool_use_id") or "")[:_LONGEST]
        self.alike = "" if self.id else _make_id(self.tool, self.input)
        if self.alike:
            self.id = self.alike + _stamp(event)
        self.ok = _has_succeeded(event)


def _make_id(tool: str, given: object) -> str:
    """Make an id for calls with this input."""
    import hashlib

    text = json.dumps([tool, redact_value(given)], sort_keys=True, default=str)
    return "call-" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _stamp(event: dict[str, Any]) -> str:
    """Return what tells a call from an earlier one that is alike."""
    at = str(event.get("timestamp") or "")[:40]
    return f"-{redact(at)}" if at else ""


def _has_succeeded(event: dict[str, Any]) -> bool:
    """True unless the event says that the call failed."""
    if event.get("hook_event_name") == "PostToolUseFailure":
        return False
    response = event.get("tool_response")
    if isinstance(response, dict):
        return not (response.get("is_error") or response.get("interrupted"))
    return True


def has_failed(event: dict[str, Any], call: str) -> bool:
    """True if the transcript of an agent that reports only output says that the call failed."""
    if not isinstance(event.get("tool_response"), str):
        return False
    from kedge.drift.watch import transcript_tail

    return transcript_tail.has_failed(str(event.get("transcript_path") or ""), call)
