"""The end of a context: archive a summary, then purge it. Neither ever blocks a task's close."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from kedge.errors import InvalidValue, KedgeError
from kedge.handoff.canonical_form import encode_canonical, sha256
from kedge.handoff.context_store import ContextStore
from kedge.handoff.snapshot import snapshots
from kedge.handoff.task_context import TaskContext
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.model.ids import TaskId, task_id
from kedge.model.task import Task

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Orphan:
    """A context that nobody needs any more."""

    task: str
    why: str
    updated_at: str


def summarise(context: TaskContext) -> dict[str, Any]:
    """Summarise a context for the archive: who left which tree, the checks, the drift."""
    return {
        "task": context.task_id,
        "revision": context.revision,
        "created_at": context.created_at,
        "archived_at": clock.now(),
        "base": context.git.get("head"),
        "asked": sha256(encode_canonical(dict(context.immutable))),
        "agents": {
            name: {
                "actor": record.actor,
                "at": record.at,
                "tree": record.tree,
                "files": record.files,
                "diff": record.diff_sha,
            }
            for name, record in context.snapshots
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
    """Archive and purge the context of a closed task. Return warnings; never raise."""
    warnings = []
    try:
        store = ContextStore(project)
        if not store.exists(task):
            return []
        with store.lock():
            context = store.read(task).context
            line = encode_canonical(summarise(context))
        warnings += find_unfinished(context)
        compact = re.sub(rb"\n\s*", b"", line)
        files.append_line(project.own("handoffs", f"{task_id(task)}.jsonl"), compact)
    except Exception as error:  # noqa: BLE001 - a broken context must not keep the task open
        warnings.append(f"the context of {task} was not archived: {error}")
        return warnings
    try:
        purge(project, task)
    except KedgeError as error:
        warnings.append(f"the context of {task} was not purged: {error.message}")
    return warnings


def find_unfinished(context: TaskContext) -> list[str]:
    """List what is still open in the context of a task that was closed."""
    messages = [
        f"{name} had an open finding: {one.text}"
        for name, agent in sorted(context.coordination.items())
        for one in agent.blocking
    ]
    messages += [
        f"{name} was still at work"
        for name, agent in sorted(context.coordination.items())
        if agent.status == "in_progress"
    ]
    messages += [f"there was open drift: {event.what}" for event in context.open_drift]
    last = {str(one["command"]): one for one in context.checks}
    messages += [
        f"the last run failed: {name}" for name, one in last.items() if one.get("exit_code")
    ]
    return messages


def purge(project: Project, task: str) -> bool:
    """Delete the context with its snapshots; return False if there was none."""
    store = ContextStore(project)
    with store.lock():
        removed = store.remove(task)
        for _, snapshot in snapshots.list_snapshots(project, task):
            snapshots.drop(project, snapshot.ref)
    return removed


def find_orphans(project: Project, tasks: Mapping[TaskId, Task], ttl: str) -> list[Orphan]:
    """Find contexts whose task is gone or finished, and that are older than the time to live."""
    limit = datetime.now(UTC) - _parse_duration(ttl)
    store, orphans = ContextStore(project), []
    for name in store.tasks():
        task = tasks.get(TaskId(name))
        if task is not None and not task.finished:
            continue
        try:
            updated = str(store.read(name).context.audit.get("updated_at", ""))
        except KedgeError:
            updated = ""
        why = "its task is gone" if task is None else f"its task is {task.status.value}"
        if not updated or _parse_time(updated) < limit:
            orphans.append(Orphan(name, why, updated))
    return orphans


def _parse_duration(text: str) -> timedelta:
    match = re.fullmatch(r"([0-9]{1,6})([smhdw])", text.strip())
    if not match:
        raise InvalidValue(f"{text!r} is not a duration", hint="give one such as 7d, 12h or 30m")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _parse_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
