"""Entry point of agents' hooks: reads one event on standard input, answers on standard output.

It stands in the path of an agent and so fails open: whatever goes wrong, the answer is empty, the
exit code is 0, and what went wrong is recorded. Importing it needs the standard library alone.
"""

from __future__ import annotations

import json
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.host.project import Project

_MOST = 10_000_000  # bytes of an event
LIMIT = 6.0  # seconds for an answer; agents wait ten
WAIT = 0.5  # seconds for a lock, or a database that others write
TASK = "KEDGE_TASK"  # names the task that a session is bound to
RUN = "KEDGE_RUN"  # names the run whose agent it is: its prompts are kedge's own


def main(agent: str) -> int:
    """Answer the event on standard input, in a few seconds or not at all."""
    event: dict[str, Any] = {}
    try:
        signal.signal(signal.SIGALRM, _too_late)
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        from kedge.store import sqlite

        sqlite.BUSY_SECONDS = WAIT  # an agent is not kept waiting
        event = _event(sys.stdin.buffer.read(_MOST))
        root, home = _place(_start(event))
        said = _answer(root, home, agent, event)
        if said:
            sys.stdout.write(json.dumps(said))
            sys.stdout.flush()
        _afterwards(root, home, agent, event)
    except Exception as error:  # noqa: BLE001 - the agent goes on, whatever it is
        signal.setitimer(signal.ITIMER_REAL, 0)
        _record(agent, event, error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return 0


class TooLate(Exception):
    """The answer took longer than an agent should wait."""


def _too_late(*_: object) -> None:
    raise TooLate(f"no answer in {LIMIT:g} s")


def _start(event: dict[str, Any]) -> str:
    """Where the session is: what the agent calls its project, or else where the event is from."""
    return os.environ.get("CLAUDE_PROJECT_DIR") or str(event.get("cwd") or ".")


def _place(start: str) -> tuple[str, str]:
    """The project's root, and where kedge keeps things for it."""
    from kedge.host import plain_repo

    plain = plain_repo.find(start)
    if plain is not None and not os.environ.get("KEDGE_HOME"):
        home = os.path.join(plain[2], "kedge")
        if not os.path.islink(home):
            return plain[0], home
    found = _project(start)
    return str(found.root), str(found.home())


def _project(start: str) -> Project:
    from pathlib import Path

    from kedge.host import files, project

    files.LOCK_TIMEOUT = WAIT
    return project.find(Path(start))


def _event(data: bytes) -> dict[str, Any]:
    # Half a character, which JSON may have, can be neither judged nor kept.
    event = json.loads(data)
    if b"\\ud" in data or b"\\uD" in data:
        event = json.loads(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace"))
    if not isinstance(event, dict):
        raise ValueError("the event is not an object")
    return event


def _answer(root: str, home: str, agent: str, event: dict[str, Any]) -> dict[str, Any] | None:
    if event.get("hook_event_name") != "SessionStart":
        return _heard(root, home, agent, event)
    from kedge.context import session
    from kedge.knowledge import remind

    source = str(event.get("source") or "startup")
    name = str(event.get("session_id") or "")
    task = os.environ.get(TASK)
    text = session.start(_project(root), agent, name, source, task, remind.for_task)
    if not text or (os.environ.get(RUN) and source != "compact"):  # it is in the run's prompt
        return None
    return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}


def _heard(root: str, home: str, agent: str, event: dict[str, Any]) -> dict[str, Any] | None:
    """What the watch says to an event."""
    from kedge.drift import sensor

    task, run = os.environ.get(TASK), os.environ.get(RUN)
    said, faults = sensor.hear(root, home, agent, event, task, unattended=bool(run))
    for fault in faults:
        _record(agent, event, RuntimeError(fault))
    return said


def _afterwards(root: str, home: str, agent: str, event: dict[str, Any]) -> None:
    """What need not be done before the answer."""
    name = event.get("hook_event_name")
    if name == "SessionStart":
        _heard(root, home, agent, event)
        if event.get("source") != "compact":  # a session that starts reads the map next
            from kedge.context import session

            session.refresh_map(_project(root), agent)
    elif name in ("Stop", "SessionEnd") and os.environ.get(TASK):
        from kedge.drift import sensor

        sensor.label(_project(root), str(event.get("session_id") or ""))


def _record(agent: str, event: dict[str, Any], error: Exception) -> None:
    """Keep what went wrong. Outside of a project there is nothing to watch, and no place for it."""
    try:
        from kedge.context import session
        from kedge.errors import NoRepository

        try:
            place = _project(_start(event))
        except NoRepository:
            return
        about = str(event.get("session_id") or ""), str(event.get("hook_event_name") or "")
        session.record_error(place, agent, error, *about)
    except Exception as second:  # noqa: BLE001 - nothing is left to tell but this
        sys.stderr.write(f"kedge: {error}; and it could not be recorded: {second}\n")


if __name__ == "__main__":
    import gc

    gc.disable()  # what it makes is gone in a moment
    # Started by path with `python -I`, which knows nothing of where kedge is.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    main(sys.argv[1] if len(sys.argv) > 1 else "")
    os._exit(0)  # without taking down what the system takes down at once
