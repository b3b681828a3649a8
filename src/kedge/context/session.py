"""An agent's session: what it is told when it starts, and the sign that its hooks run."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from contextlib import closing

from kedge import __version__, config
from kedge.context import anchor, installed
from kedge.context.workplace import Recall, Workplace
from kedge.errors import FileError, KedgeError, TaskError
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.host.redact import redact
from kedge.store import sessions, sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ERRORS = "hook-errors.jsonl"
_MAP_SECONDS = 2.0
PROBE = "KEDGE_PROBE"  # set by the doctor, to know its own session again


def start(
    project: Project,
    agent: str,
    session: str,
    source: str,
    task: str | None,
    recall: Recall | None = None,
) -> str:
    """What the session is told: its anchor, or after a compaction the small one.

    Nothing without a task: how to find one is in the managed section.
    """
    _beat(project, agent, session, source)
    settings = config.load(project).settings
    if not settings.anchor.enabled:
        return ""
    place = Workplace(project, settings, task, recall=recall)
    if task is None and place.known_task is None:
        return _several(place)
    made = anchor.small(place) if source == "compact" else anchor.full(place, session)
    return made.text


def _several(place: Workplace) -> str:
    """Where it is not known which task the session is about, those that it may be."""
    try:
        _ = place.task
    except TaskError as error:
        return f"{error.message}. `kedge anchor ID` prints what matters for the one you work on.\n"
    except KedgeError:
        return ""
    return ""


def last_beat(project: Project, agent: str, *, probe: bool = False) -> dict[str, Any] | None:
    """The last sign of the agent's hooks: when, in which session, by which kedge.

    Those of the doctor's own sessions are kept apart.
    """
    name = f"{agent}.probe.json" if probe else f"{agent}.json"
    try:
        data = files.read_bytes(project.home() / "hooks" / name)
        found = json.loads(data) if data else None
    except (ValueError, KedgeError):
        return None
    return found if isinstance(found, dict) else None


def record_error(
    project: Project, agent: str, error: Exception, session: str = "", event: str = ""
) -> None:
    """Keep what went wrong in an agent's path, without secrets: in the database, or beside it."""
    said = redact(f"{type(error).__name__}: {error}")[:2000]
    line = {"at": clock.now(), "agent": agent[:100], "session": session[:100]}
    line |= {"event": event[:100], "kedge": __version__, "error": said}
    try:
        with closing(sqlite.connect(project.home())[0]) as db:
            sessions.add_error(db, **line)
    except (sqlite3.Error, KedgeError):
        files.append_line(project.home() / "logs" / ERRORS, json.dumps(line).encode())


def errors(project: Project) -> list[dict[str, Any]]:
    """What went wrong in agents' paths, the last at the end."""
    found = []
    for line in (files.read_bytes(project.home() / "logs" / ERRORS) or b"").splitlines():
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    if (project.home() / sqlite.FILE).exists():
        with closing(sqlite.connect(project.home())[0]) as db:
            found += sessions.errors(db)
    told = [one for one in found if isinstance(one, dict)]
    return sorted(told, key=lambda one: str(one.get("at")))


def _beat(project: Project, agent: str, session: str, source: str) -> None:
    name = agent if agent.isidentifier() else "unknown"
    sign = {"at": clock.now(), "session": session[:100], "source": source, "kedge": __version__}
    sign["probe"] = os.environ.get(PROBE, "")[:100]
    name += ".probe.json" if sign["probe"] else ".json"
    files.write_atomic(project.home() / "hooks" / name, json.dumps(sign).encode())


def refresh_map(project: Project, agent: str) -> None:
    """Bring the map up to date, where one is kept; a session starts without it, too."""
    from kedge.repomap.progress import no_tick

    settings = config.load(project).settings
    if not installed.keeps_map(project, settings):
        return
    deadline = time.monotonic() + _MAP_SECONDS

    def tick(done: int, total: int) -> None:
        if time.monotonic() > deadline:
            raise FileError("the map takes longer than a session should wait", hint="kedge map")
        no_tick(done, total)

    try:
        installed.refreshed_map(project, settings, tick, write=True)
    except KedgeError as error:
        record_error(project, agent, error)
