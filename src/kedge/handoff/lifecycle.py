"""The end of a context: archive a summary, then purge it. Neither ever blocks a task's close."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kedge.errors import InvalidValue, KedgeError
from kedge.handoff.canonical_form import encode_canonical, sha256
from kedge.handoff.context_store import ContextStore
from kedge.handoff.snapshot import snapshots, unused_refs
from kedge.handoff.task_context import TaskContext
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.model.ids import TaskId, task_id
from kedge.model.task import Task

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Orphan:
    """A context that nobody needs any more, or a snapshot."""

    task: str
    why: str
    updated_at: str
    ref: str | None = None  # a single snapshot, whose context is gone already


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


def archive(project: Project, task: str, *, keep_snapshots: bool = False) -> list[str]:
    """Archive and purge the context of a closed task. Return warnings; never raise."""
    warnings = []
    try:
        store = ContextStore(project)
        if not store.exists(task):
            return []
        warnings += find_unfinished(store.read(task).context)
        record_summary(project, task)
    except Exception as error:  # noqa: BLE001 - a broken context must not keep the task open
        warnings.append(f"the context of {task} was not archived: {error}")
        return warnings
    try:
        purge(project, task, keep_snapshots=keep_snapshots)
    except KedgeError as error:
        warnings.append(f"the context of {task} was not purged: {error.message}")
    return warnings


def record_summary(project: Project, task: str) -> bytes | None:
    """Append the summary of a context to the archive, once; return the line, None without one."""
    store = ContextStore(project)
    if not store.exists(task):
        return None
    with store.lock():
        summary = summarise(store.read(task).context)
        path = _archive_path(project, task)
        lines = (files.read_bytes(path) or b"").splitlines()
        if lines and _is_same(lines[-1], summary):
            return lines[-1]
        line = re.sub(rb"\n\s*", b"", encode_canonical(summary))
        files.append_line(path, line)
    return line


def withdraw_summary(project: Project, task: str, line: bytes | None) -> None:
    """Remove the last line of the archive again if it is this one: the task was not closed."""
    path = _archive_path(project, task)
    data = files.read_bytes(path) or b""
    if line is None or not data.endswith(line + b"\n"):
        return
    rest = data[: -len(line) - 1]
    if rest:
        files.write_atomic(path, rest)
    else:
        path.unlink()


def _archive_path(project: Project, task: str) -> Path:
    return project.own("handoffs", f"{task_id(task)}.jsonl")


def _is_same(line: bytes, summary: Mapping[str, Any]) -> bool:
    """True if the line holds this summary, whenever it was archived."""
    try:
        known = json.loads(line)
        wanted = json.loads(encode_canonical(dict(summary)))
    except ValueError:
        return False
    return isinstance(known, dict) and {**known, "archived_at": ""} == {**wanted, "archived_at": ""}


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
        f"the check `{name}` failed when it last ran"
        for name, one in last.items()
        if one.get("exit_code")
    ]
    return messages


def purge(project: Project, task: str, *, keep_snapshots: bool = False) -> bool:
    """Delete the context with its snapshots; return False if there was none."""
    store = ContextStore(project)
    with store.lock():
        # The context goes last: while it is there, a purge that was interrupted can be done again.
        for _, snapshot in snapshots.list_snapshots(project, task) if not keep_snapshots else ():
            snapshots.drop(project, snapshot.ref)
        snapshots.finish_dropping(project)
        return store.remove(task)


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


def find_orphaned_refs(project: Project, tasks: Mapping[TaskId, Task], ttl: str) -> list[Orphan]:
    """Find snapshots without a context that are older than the time to live.

    Those of an unfinished task stay while its work tree does: a run may be resumed on them.
    """
    limit = datetime.now(UTC) - _parse_duration(ttl)
    orphans = []
    for one in unused_refs.find_unused(project, ContextStore(project).tasks()):
        task = tasks.get(TaskId(one.task))
        if task is not None and not task.finished and not one.is_lost:
            continue
        why = "its work tree is gone" if one.is_lost else "its context is gone"
        if _parse_time(one.at) < limit:
            orphans.append(Orphan(one.task, f"{why}: {one.ref}", one.at, one.ref))
    return orphans


def delete(project: Project, orphan: Orphan) -> list[str]:
    """Delete a context, or a snapshot. Return warnings."""
    if orphan.ref is None:
        return archive(project, orphan.task)
    snapshots.drop(project, orphan.ref)
    return []


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
