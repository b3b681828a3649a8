"""What was said and called in a session, from its agent's transcript: the latest part of it."""

from __future__ import annotations

import json
import os
import stat
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedge.agents.transcripts import sessions as transcripts
from kedge.agents.transcripts.events import PromptMessage, ToolCall, ToolResult
from kedge.errors import FileError
from kedge.host.redact import redact
from kedge.store import overview
from kedge.web.routes import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kedge.agents.transcripts.events import Event
    from kedge.web.routes import Target
    from kedge.web.source import Source

_MOST = 120  # entries
_LONGEST = 1_500  # characters of one
_LARGEST = 64 << 20  # bytes of a file


@dataclass(frozen=True, slots=True)
class Entry:
    """Something said or called; `ok` is None for a call whose result is not there."""

    kind: str  # user, machine, agent or call
    at: str
    text: str
    tool: str = ""
    ok: bool | None = None


def load(source: Source, target: Target) -> tuple[str, dict[str, Any]]:
    row = overview.get_session(source.db, target.item)
    if row is None:
        raise Refused(404, "there is no such session")
    entries, why = _read(row["transcript"])
    return "transcript.html", {"entries": entries, "why": why, "session": row["id"], "title": ""}


def _read(path: str) -> tuple[list[Entry], str]:
    """Return the entries, or why there are none."""
    if not path:
        return [], "The agent did not say where its transcript is."
    try:
        about = os.stat(path)  # noqa: PTH116 - a path that an agent named
        if not stat.S_ISREG(about.st_mode):
            return [], "Its transcript is not a file."
        if about.st_size > _LARGEST:
            return [], f"Its transcript is larger than {_LARGEST >> 20} MiB."
        found = transcripts.inspect_file(Path(path))
        if found is None:
            return [], "kedge does not know the format of this agent's transcript."
        events = transcripts.read_events(transcripts.group_sessions([found])[0])
        return collect_entries(events), ""
    except (OSError, FileError, ValueError):
        return [], "Its transcript is not there any more."


def collect_entries(events: Iterable[Event]) -> list[Entry]:
    """Return the last entries: messages, what the agent wrote, its calls with their results."""
    entries: deque[tuple[str, Entry]] = deque(maxlen=_MOST)
    results: dict[str, bool] = {}
    said = ""
    for event in events:
        if isinstance(event, PromptMessage):
            kind = "machine" if event.machine else "user"
            entries.append(("", Entry(kind, event.at, _cut(event.text))))
        elif isinstance(event, ToolCall):
            if event.reasoning and event.reasoning != said:
                entries.append(("", Entry("agent", event.at, _cut(event.reasoning))))
                said = event.reasoning
            entries.append(
                (event.id, Entry("call", event.at, _write_input(event.input), event.tool))
            )
        elif isinstance(event, ToolResult):
            results[event.id] = event.ok
    return [Entry(one.kind, one.at, one.text, one.tool, results.get(name)) for name, one in entries]


def _write_input(given: Any) -> str:
    """Return a call's input as lines: a value alone, or one line for each field."""
    if isinstance(given, dict):
        lines = [
            f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
            for name, value in given.items()
        ]
        return _cut("\n".join(lines))
    return _cut(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))


def _cut(text: str) -> str:
    clean = redact(text[: 4 * _LONGEST])
    return clean if len(clean) <= _LONGEST else f"{clean[:_LONGEST].rstrip()}…"
