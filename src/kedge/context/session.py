"""An agent's session: what it is told at its start, and the heartbeat that proves its hooks run."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kedge import __version__, config
from kedge.context import anchor, installation, instruction_files
from kedge.context.workspace import Recall, Workspace
from kedge.errors import FileError, KedgeError
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.host.redact import redact
from kedge.store import sessions, sqlite
from kedge.tasks.binding import Binding, describe_binding

ERRORS = "hook-errors.jsonl"
PROXY = "proxy"  # the event under which errors of the proxy are recorded
_MAP_SECONDS = 2.0
PROBE = "KEDGE_PROBE"  # set by the doctor, to recognise its own session


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What a session belongs to: a task, and the user's goal and limits (words, source).

    `named` is the task that its environment names, which counts where tasks cannot be read.
    """

    binding: Binding
    named: str | None = None
    goal: str = ""
    limits: tuple[tuple[str, str], ...] = ()


def start(
    project: Project,
    agent: str,
    session: str,
    source: str,
    about: SessionContext,
    recall: Recall | None = None,
) -> str:
    """Return what the session is told: its anchor, or the small one after a compaction.

    Without a task, only a compaction needs one: the managed section says how to find a task.
    """
    try:
        _record_heartbeat(project, agent, session, source)
    except KedgeError as error:  # the agent needs its anchor all the same
        with contextlib.suppress(KedgeError):
            record_error(project.home(), agent, error, session)
    settings = config.load(project).settings
    if not settings.anchor.enabled:
        return ""
    task = about.binding.task
    task_id = task.id if task is not None else about.named if about.binding.how else None
    workspace = Workspace(project, settings, task_id, recall=recall, guess=False)
    if source == "compact":
        limits = [each for each in about.limits if task is None or each[1] != "task"]
        own = task is None or not about.goal.startswith(task.title)
        goal = about.goal if own else ""
        return anchor.make_small(workspace, goal, limits, session, about.binding.choice).text
    if task_id is None:
        return f"{about.binding.choice}\n" if about.binding.choice else ""
    how = describe_binding(task_id, about.binding.how)
    text = anchor.make_full(workspace, session, f"This session is {how}." if how else "").text
    if settings.drift.agent_limits:
        text += f"\n{instruction_files.write_limit_rule()}\n"
    return text


def read_heartbeat(project: Project, agent: str, *, probe: bool = False) -> dict[str, Any] | None:
    """Return the last heartbeat of the agent's hooks: time, session, version of kedge.

    With `probe`, that of the doctor's own sessions, which are stored apart.
    """
    name = f"{agent}.probe.json" if probe else f"{agent}.json"
    try:
        data = files.read_bytes(project.home() / "hooks" / name)
        heartbeat = json.loads(data) if data else None
    except (ValueError, KedgeError):
        return None
    return heartbeat if isinstance(heartbeat, dict) else None


def record_error(
    home: Path, agent: str, error: BaseException, session: str = "", event: str = ""
) -> None:
    """Record an error in a hook, with secrets redacted, in the database or in a log file.

    `home` is the directory of the project's database.
    """
    message = redact(f"{type(error).__name__}: {error}")[:2000]
    line = {"at": clock.now(), "agent": agent[:100], "session": session[:100]}
    line |= {"event": event[:100], "kedge": __version__, "error": message}
    try:
        with closing(sqlite.connect(home)[0]) as db:
            sessions.add_error(db, **line)
    except (sqlite3.Error, KedgeError):
        files.append_line(home / "logs" / ERRORS, json.dumps(line).encode())


def read_errors(project: Project) -> list[dict[str, Any]]:
    """Return the recorded errors of hooks, oldest first."""
    entries = []
    for line in (files.read_bytes(project.home() / "logs" / ERRORS) or b"").splitlines():
        with contextlib.suppress(ValueError):
            entries.append(json.loads(line))
    if (project.home() / sqlite.FILE).exists():
        with closing(sqlite.connect(project.home())[0]) as db:
            entries += sessions.errors(db)
    valid = [one for one in entries if isinstance(one, dict)]
    return sorted(valid, key=lambda one: str(one.get("at")))


def _record_heartbeat(project: Project, agent: str, session: str, source: str) -> None:
    name = agent if agent.isidentifier() else "unknown"
    heartbeat = {
        "at": clock.now(),
        "session": session[:100],
        "source": source,
        "kedge": __version__,
    }
    heartbeat["probe"] = os.environ.get(PROBE, "")[:100]
    name += ".probe.json" if heartbeat["probe"] else ".json"
    files.write_atomic(project.home() / "hooks" / name, json.dumps(heartbeat).encode())


def refresh_map(project: Project, agent: str) -> None:
    """Refresh the map where one is kept. A failure is recorded, and does not stop the session."""
    from kedge.repomap.progress import no_tick

    settings = config.load(project).settings
    if not installation.keeps_map(project, settings):
        return
    deadline = time.monotonic() + _MAP_SECONDS

    def tick(done: int, total: int) -> None:
        if time.monotonic() > deadline:
            raise FileError("the map takes longer than a session should wait", hint="kedge map")
        no_tick(done, total)

    try:
        installation.refresh_map(project, settings, tick, write=True)
    except KedgeError as error:
        record_error(project.home(), agent, error)
