"""What the engine judges, built in one place for hooks, recorded cases and past sessions."""

from __future__ import annotations

import posixpath

from kedge.drift.actions import normalise
from kedge.host.redact import redact, redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from kedge.drift.actions import Action
    from kedge.drift.evidence.memory import SessionMemory
    from kedge.drift.limits.limit import Limit
    from kedge.drift.scoring import ReadFile

    class CallContext(Protocol):
        """What the meaning of a call depends on: the engine of its session."""

        root: str | None
        cwd: str | None
        read: ReadFile | None
        memory: SessionMemory


_WRITES = ("Write", "write", "write_file", "create")  # tools that write a whole file
_UNKNOWN_ROOT = "/project"  # relative paths are resolved here when the root is not known


def read_call(context: CallContext, tool: str, given: Any, id: str) -> Action:  # noqa: A002
    """Return the action of a tool call without its secrets, by what the session did before it."""
    given = redact_value(given)
    root = context.root or _UNKNOWN_ROOT
    cwd = context.cwd or root
    if tool in _WRITES and context.read is not None and isinstance(given, dict):
        tool, given = _as_edit(tool, given, context.read, root, cwd)
    return normalise(tool, given, root=root, cwd=cwd, id=id, texts=context.memory.scripts)


def _as_edit(
    tool: str, given: dict[str, Any], read: ReadFile, root: str, cwd: str
) -> tuple[str, object]:
    """Return the tool and its input; a write over a test file is turned into an edit.

    Otherwise nobody would see what the test loses.
    """
    path = given.get("file_path") or given.get("filePath") or given.get("path")
    text = given.get("content") or given.get("file_text")
    if not isinstance(path, str) or not isinstance(text, str) or not _may_be_test(path):
        return tool, given
    place = posixpath.normpath(posixpath.join(cwd, path))
    inside = place.startswith(root.rstrip("/") + "/")
    old = read(posixpath.relpath(place, root)) if inside else None
    if not old:
        return tool, given
    before = redact(old.decode("utf-8", "replace"))
    return "Edit", {"file_path": path, "old_string": before, "new_string": text}


def _may_be_test(path: str) -> bool:
    low = path.lower()
    return "test" in low or "spec" in low


def records_limits(action: Action) -> bool:
    """True if an action is a command with which an agent records what the user said."""
    return any(map(_is_record, action.effects.kedge))


def _is_record(words: Sequence[str]) -> bool:
    quotes = any(word.partition("=")[0] == "--quote" for word in words)
    return quotes and tuple(words[:3]) == ("drift", "limit", "add")


def find_recorded_limits(
    context: CallContext, action: Action, has_said: Callable[[str], bool]
) -> list[Limit]:
    """Return the limits that an agent records with a command, in words that the user said.

    The command itself tells the agent what is wrong with a call that cannot be recorded.
    """
    from kedge.drift.limits.options import build_limits, parse_options
    from kedge.errors import InvalidValue

    root = context.root or _UNKNOWN_ROOT
    found: list[Limit] = []
    for words in filter(_is_record, action.effects.kedge):
        given = [word for word in words[3:] if word not in ("-h", "--help")]
        try:
            options, quote = parse_options(given)
            limits = build_limits(
                options, redact(quote).strip(), "agent", root=root, cwd=context.cwd or root
            )
        except InvalidValue:
            continue
        if has_said(quote):
            found += limits
    return found
