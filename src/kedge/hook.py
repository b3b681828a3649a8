"""Entry point of agents' hooks: reads one event on standard input, answers on standard output.

It stands in the path of an agent and so fails open: whatever goes wrong, the answer is empty, the
exit code is 0, and what went wrong is recorded. Importing it needs the standard library alone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kedge.host.project import Project

_MOST = 10_000_000  # bytes of an event
LIMIT = 6.0  # seconds for an answer; agents wait ten
WAIT = 0.5  # seconds for a lock, or a database that others write
TASK = "KEDGE_TASK"  # names the task that a session is bound to


def main(agent: str) -> int:
    """Answer the event on standard input, in a few seconds or not at all."""
    place: Project | None = None
    try:
        signal.signal(signal.SIGALRM, _too_late)
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        from kedge.host import files, project
        from kedge.store import sqlite

        files.LOCK_TIMEOUT = sqlite.BUSY_SECONDS = WAIT  # an agent is not kept waiting
        place = _here(project.find, os.environ.get("CLAUDE_PROJECT_DIR") or ".")
        event = _event(sys.stdin.buffer.read(_MOST))
        place = project.find(Path(str(event.get("cwd") or ".")))
        said = _answer(place, agent, event)
        if said:
            sys.stdout.write(json.dumps(said))
            sys.stdout.flush()
        _afterwards(place, agent, event)
    except Exception as error:  # noqa: BLE001 - the agent goes on, whatever it is
        signal.setitimer(signal.ITIMER_REAL, 0)
        _record(place, agent, error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return 0


class TooLate(Exception):
    """The answer took longer than an agent should wait."""


def _too_late(*_: object) -> None:
    raise TooLate(f"no answer in {LIMIT:g} s")


def _here(find: Any, directory: str) -> Project | None:
    """The project to record a fault in, before the event says where it is from."""
    try:
        found: Project = find(Path(directory))
    except Exception:  # noqa: BLE001 - then the event will say
        return None
    return found


def _event(data: bytes) -> dict[str, Any]:
    event = json.loads(data)
    if not isinstance(event, dict):
        raise ValueError("the event is not an object")
    return event


def _answer(place: Project, agent: str, event: dict[str, Any]) -> dict[str, Any] | None:
    if event.get("hook_event_name") != "SessionStart":
        return None
    from kedge.context import session

    source = str(event.get("source") or "startup")
    name = str(event.get("session_id") or "")
    text = session.start(place, agent, name, source, os.environ.get(TASK))
    if not text:
        return None
    return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}


def _afterwards(place: Project, agent: str, event: dict[str, Any]) -> None:
    """What need not be done before the answer: a session that starts reads the map next."""
    if event.get("hook_event_name") == "SessionStart" and event.get("source") != "compact":
        from kedge.context import session

        session.refresh_map(place, agent)


def _record(place: Project | None, agent: str, error: Exception) -> None:
    try:
        from kedge.context import session

        session.record_error(place, agent, error)
    except Exception as second:  # noqa: BLE001 - nothing is left to tell but this
        sys.stderr.write(f"kedge: {error}; and it could not be recorded: {second}\n")


if __name__ == "__main__":
    # Started by path with `python -I`, which knows nothing of where kedge is.
    sys.path[0:0] = [str(Path(__file__).resolve().parent.parent)]
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
