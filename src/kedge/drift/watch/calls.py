"""A tool call, as a hook event reports it."""

from __future__ import annotations

import json
import os
import stat

from kedge.host.redact import redact, redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST = 100  # characters of an id
_LARGEST = 200_000  # bytes of a file that are read


class HookCall:
    """A call without its secrets, who made it, and whether it succeeded."""

    __slots__ = ("id", "input", "ok", "subagent", "tool")

    def __init__(self, event: dict[str, Any]) -> None:
        self.tool = str(event.get("tool_name") or "")
        self.input = redact_value(event.get("tool_input"))
        self.subagent = str(event.get("agent_id") or "")[:_LONGEST]
        self.id = str(event.get("tool_use_id") or _make_id(self.tool, self.input))[:_LONGEST]
        self.ok = _has_succeeded(event)


def as_edit(call: HookCall, root: str, cwd: str) -> tuple[str, object]:
    """Return the tool and its input; a write over a test file is turned into an edit.

    Otherwise nobody would see what the test loses.
    """
    given = call.input
    if call.tool != "Write" or not isinstance(given, dict):
        return call.tool, given
    path, text = given.get("file_path"), given.get("content")
    if not isinstance(path, str) or not isinstance(text, str) or not _may_be_test(path):
        return call.tool, given
    old = _read_text(os.path.join(cwd or root, path))
    if not old:
        return call.tool, given
    return "Edit", {"file_path": path, "old_string": redact(old), "new_string": text}


def _may_be_test(path: str) -> bool:
    low = path.lower()
    return "test" in low or "spec" in low


def _read_text(path: str) -> str:
    """Return the text of a regular file; "" if it is missing or too large."""
    return (read_file(path) or b"").decode("utf-8", "replace")


def read_file(path: str) -> bytes | None:
    """Return the bytes of a regular file; None if it is missing or too large."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            return None
        return os.read(fd, _LARGEST)
    except OSError:
        return None
    finally:
        os.close(fd)


def _make_id(tool: str, given: object) -> str:
    """Make an id for a call without one, which its result will get as well."""
    import hashlib

    text = json.dumps([tool, given], sort_keys=True, default=str)
    return "call-" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _has_succeeded(event: dict[str, Any]) -> bool:
    """True unless the event says that the call failed."""
    if event.get("hook_event_name") == "PostToolUseFailure":
        return False
    response = event.get("tool_response")
    if isinstance(response, dict):
        return not (response.get("is_error") or response.get("interrupted"))
    return True
