"""A tool call, as an event of an agent has it."""

from __future__ import annotations

import json

from kedge.host.redact import redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST = 100  # characters of an id


class Call:
    """The call without secrets, by whom it is made, and how it went."""

    __slots__ = ("id", "input", "ok", "subagent", "tool")

    def __init__(self, event: dict[str, Any]) -> None:
        self.tool = str(event.get("tool_name") or "")
        self.input = redact_value(event.get("tool_input"))
        self.subagent = str(event.get("agent_id") or "")[:_LONGEST]
        self.id = str(event.get("tool_use_id") or _made_id(self.tool, self.input))[:_LONGEST]
        self.ok = _ok(event)


def _made_id(tool: str, given: object) -> str:
    """For a call that its agent gave no id: one that its result will have, too."""
    import hashlib

    text = json.dumps([tool, given], sort_keys=True, default=str)
    return "call-" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _ok(event: dict[str, Any]) -> bool:
    """Whether a call did what it should. An agent that does not say so is believed."""
    if event.get("hook_event_name") == "PostToolUseFailure":
        return False
    said = event.get("tool_response")
    if isinstance(said, dict):
        return not (said.get("is_error") or said.get("interrupted"))
    return True
