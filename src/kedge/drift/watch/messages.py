"""Messages of the user, noted by the hook and read afterwards. Hook path: no `typing`.

To read a message takes the settings, the tasks and the rules for limits, which is more than a hook
has time for. The process that works aside reads it, or the next event of the session if that comes
first.
"""

from __future__ import annotations

import json
from contextlib import closing

from kedge.drift.prompt import read_prompt
from kedge.host import clock
from kedge.store import sessions, sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EVENT = "UserPromptSubmit"
LONGEST = 100  # characters of a session's id, as the watch stores it
_MOST_UNREAD = 5


def note(
    home: str, event: dict[str, Any], task: str | None, *, unattended: bool
) -> tuple[bool, list[str]]:
    """Note a message for later; return False if it must be taken at once, and faults beside it.

    A message is taken at once in a session that is not known or not watched, and where a
    correction waits to be given with it.
    """
    name = event.get("session_id")
    if not isinstance(name, str) or not name:
        return False, []
    name = name[:LONGEST]
    message = describe(event, task, unattended=unattended)
    db, faults = sqlite.connect(home)
    with closing(db), sessions.transaction(db):
        row = sessions.get(db, name)
        if row is None or not _can_wait(row):
            return False, faults
        unread = [*row["unread"], message]
        sessions.change(db, name, unread=unread, turn=row["turn"] + 1, checked_at=message["at"])
    return True, faults


def describe(event: dict[str, Any], task: str | None, *, unattended: bool) -> dict[str, Any]:
    """Return a message as it is stored, without secrets; `task` is named by the environment."""
    return {
        "text": read_prompt(event.get("prompt")),
        "at": clock.now(),
        "cwd": str(event.get("cwd") or ""),
        "task": task,
        "unattended": unattended,
    }


def _can_wait(row: dict[str, Any]) -> bool:
    if row["policy"] == "off" or row["status"] != "active" or len(row["unread"]) >= _MOST_UNREAD:
        return False
    try:
        return not row["engine"] or not json.loads(row["engine"])["course"]["pending"]
    except (KeyError, TypeError, ValueError):
        return False  # the watch starts such a session again, and records why
