"""A tool call, as an event of an agent has it."""

from __future__ import annotations

import json
import os
import stat

from kedge.host.redact import redact, redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST = 100  # characters of an id
_LARGEST = 200_000  # bytes of a test that is read


class Call:
    """The call without secrets, by whom it is made, and how it went."""

    __slots__ = ("id", "input", "ok", "subagent", "tool")

    def __init__(self, event: dict[str, Any]) -> None:
        self.tool = str(event.get("tool_name") or "")
        self.input = redact_value(event.get("tool_input"))
        self.subagent = str(event.get("agent_id") or "")[:_LONGEST]
        self.id = str(event.get("tool_use_id") or _made_id(self.tool, self.input))[:_LONGEST]
        self.ok = _ok(event)


def replaced(call: Call, root: str, cwd: str) -> tuple[str, object]:
    """The tool and its input; one that writes over a test as the edit that it is.

    What a test loses would otherwise not be seen.
    """
    given = call.input
    if call.tool != "Write" or not isinstance(given, dict):
        return call.tool, given
    path, text = given.get("file_path"), given.get("content")
    if not isinstance(path, str) or not isinstance(text, str) or not _may_be_test(path):
        return call.tool, given
    old = _content(os.path.join(cwd or root, path))
    if not old:
        return call.tool, given
    return "Edit", {"file_path": path, "old_string": redact(old), "new_string": text}


def _may_be_test(path: str) -> bool:
    low = path.lower()
    return "test" in low or "spec" in low


def _content(path: str) -> str:
    """A file as it is, if it is one and not too large."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
            return ""
        return os.read(fd, _LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(fd)


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
