"""The end of a context: archived in a few lines, then purged. Neither ever holds up a task."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from kedge.errors import InvalidValue, KedgeError
from kedge.handoff import snapshots
from kedge.handoff.context import Context
from kedge.handoff.normalise import canonical, sha256
from kedge.handoff.store import Store
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.model.ids import TaskId, task_id
from kedge.model.task import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Orphan(NamedTuple):
    """A context that nobody needs any longer."""

    task: str
    why: str
    updated_at: str


def record(context: Context) -> dict[str, Any]:
    """What is worth keeping of a context: who left which tree, what was checked, what drifted."""
    return {
        "task": context.task_id,
        "revision": context.revision,
        "created_at": context.created_at,
        "archived_at": clock.now(),
        "base": context.git.get("head"),
        "asked": sha256(canonical(dict(context.immutable))),
        "agents": {
            name: {
                "actor": kept.actor,
                "at": kept.at,
                "tree": kept.tree,
                "files": kept.files,
                "diff": kept.diff_sha,
            }
            for name, kept in context.snapshots
        },
        "checks": [
            {key: one.get(key) for key in ("command", "exit_code", "agent", "tree", "log_digest")}
            for one in context.checks
        ],
        "status": {name: one.status for name, one in sorted(context.coordination.items())},
        "findings": [
            {"agent": name, "text": one.text, "resolved_at": one.resolved_at}
            for name, agent in sorted(context.coordination.items())
            for one in agent.findings
        ],
        "drift": [
            {"at": one.at, "since": one.expected, "state": one.state, "note": one.note}
            for one in context.drift
        ],
        "writes": context.audit.get("count"),
    }


def archive(project: Project, task: str) -> list[str]:
    """Archive and purge the context of a task that was closed; warnings, and never an error."""
    warnings = []
    try:
        store = Store(project)
        if not store.exists(task):
            return []
        with store.lock():
            context = store.read(task).context
            line = canonical(record(context))
        warnings += unfinished(context)
        compact = re.sub(rb"\n\s*", b"", line)
        files.append_line(project.own("handoffs", f"{task_id(task)}.jsonl"), compact)
    except Exception as error:  # noqa: BLE001 - whatever is in it, the task is closed
        warnings.append(f"the context of {task} was not archived: {error}")
        return warnings
    try:
        purge(project, task)
    except KedgeError as error:
        warnings.append(f"the context of {task} was not purged: {error.message}")
    return warnings


def unfinished(context: Context) -> list[str]:
    """What a task should not be closed with, and was."""
    told = [
        f"{name} had an open finding: {one.text}"
        for name, agent in sorted(context.coordination.items())
        for one in agent.blocking
    ]
    told += [
        f"{name} was still at work"
        for name, agent in sorted(context.coordination.items())
        if agent.status == "in_progress"
    ]
    told += [f"there was open drift: {event.what}" for event in context.open_drift]
    last = {str(one["command"]): one for one in context.checks}
    told += [f"the last run failed: {name}" for name, one in last.items() if one.get("exit_code")]
    return told


def purge(project: Project, task: str) -> bool:
    """Delete the context with its snapshots; False when there was none."""
    store = Store(project)
    with store.lock():
        removed = store.remove(task)
        for _, kept in snapshots.kept(project, task):
            snapshots.drop(project, kept.ref)
    return removed


def orphans(project: Project, tasks: Mapping[TaskId, Task], ttl: str) -> list[Orphan]:
    """Contexts whose task is gone or finished, and that nobody wrote for that long."""
    limit = datetime.now(UTC) - _duration(ttl)
    store, found = Store(project), []
    for name in store.tasks():
        task = tasks.get(TaskId(name))
        if task is not None and not task.finished:
            continue
        try:
            updated = str(store.read(name).context.audit.get("updated_at", ""))
        except KedgeError:
            updated = ""
        why = "its task is gone" if task is None else f"its task is {task.status.value}"
        if not updated or _moment(updated) < limit:
            found.append(Orphan(name, why, updated))
    return found


def _duration(text: str) -> timedelta:
    found = re.fullmatch(r"([0-9]{1,6})([smhdw])", text.strip())
    if not found:
        raise InvalidValue(f"{text!r} is no time", hint="such as 7d, 12h or 30m")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
