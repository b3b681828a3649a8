"""Plan the bd commands for a change of a task. `issue` reads the result back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kedge.errors import ReadOnly
from kedge.model.ids import TaskId
from kedge.model.task import PRIORITIES, Status, Task
from kedge.tasks.backend import TaskChange
from kedge.tasks.beads.issue import (
    BLOCKS,
    COUNTS,
    KEY,
    PARENT,
    QUIET,
    STAMPS,
    WAITS,
    Issue,
    bd_status,
    links_of,
    list_items,
    list_text,
    parse_time,
)

_STORED = {
    Status.OPEN: "open",
    Status.IN_PROGRESS: "in_progress",
    Status.BLOCKED: "blocked",
    Status.FAILED: "blocked",
    Status.DONE: "closed",
}
_PLAIN = {
    "title": "title",
    "description": "description",
    "type": "issue_type",
    "assignee": "assignee",
    "started_at": "started_at",
}
_OWN_LISTS = ("scope_in", "scope_out", "checks")
_OWN = frozenset(
    {*_OWN_LISTS, "area", "blocked", "status", "close_reason", "closed_at", "at"}
    | {"labels", "depends_on", "acceptance"}
)
# bd stores these in tables of their own; an import adds rows and removes none.
_ADDED = frozenset({"_type", "labels", "dependencies", "comments", *COUNTS})


@dataclass(frozen=True, slots=True)
class IssuePlan:
    """The changes of one issue: a line for `bd import`, lines for `bd batch`, `bd update` flags."""

    id: TaskId
    record: Issue | None = None
    batch: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def plan_change(change: TaskChange, issue: Issue, types: Mapping[str, str]) -> IssuePlan:
    """Return the plan for a change. `issue` is bd's current record, `types` has all issues' types.

    The plan is empty if nothing in bd differs. `bd import` takes texts of any size and stores them
    exactly, but it removes nothing, and it does not update the issues that wait for one whose
    status it sets. So `bd batch` makes links, and changes to and from `closed` and `pinned`.
    """
    before, after = change.before, change.after
    if before is None:
        return IssuePlan(after.id, record=_new(after))
    stored = bd_status(issue)
    moved = after.status is not before.status or (
        after.status is Status.BLOCKED and after.blocked != before.blocked
    )
    status = _STORED[after.status] if moved else stored
    by_bd = moved and (stored in QUIET or status in QUIET or bool(issue.get("pinned")))
    fields = _field_changes(before, after)
    lost, links, edges = _link_changes(before, after, issue, types)
    batch = [f"dep remove {after.id} {other}" for other in lost]
    batch += [f"dep add {after.id} {other} {kind}" for other, kind in links]
    reason = after.close_reason or ""
    if by_bd and status == "closed" and "\n" not in reason:
        batch.append(f"close {after.id} {_quote(reason)}")
    else:
        if status == "closed" and after.close_reason != before.close_reason:
            fields["close_reason"] = reason
        if by_bd:
            batch.append(f"update {after.id} status={status}")
        elif status != stored:
            fields["status"] = status
    labels = [label for label in after.labels if label not in before.labels]
    record = None
    if fields or labels or edges or _own_values(before, stored) != _own_values(after, status):
        record = {key: value for key, value in issue.items() if key not in _ADDED} | fields
        record |= {"labels": labels, "dependencies": edges}
        record["updated_at"] = _later(after.updated_at, issue.get("updated_at"))
        record["metadata"] = _metadata(issue, after, status)
        record = _drop_empty(record)
    awake = moved and status in ("open", "in_progress") and bool(issue.get("defer_until"))
    flags = ["--defer="] if awake else []
    dropped = [label for label in before.labels if label not in after.labels]
    if dropped:
        flags.append("--remove-label=" + ",".join(map(_csv, dropped)))
    return IssuePlan(after.id, record, tuple(batch), tuple(flags))


def _new(task: Task) -> Issue:
    status = _STORED[task.status]
    closed = status == "closed"
    record: Issue = {key: getattr(task, name) for name, key in _PLAIN.items()}
    record |= {
        "id": task.id,
        "status": status,
        "priority": PRIORITIES.index(task.priority),
        "acceptance_criteria": list_text(task.acceptance),
        "created_at": task.created_at,
        "updated_at": task.updated_at,
        "closed_at": task.closed_at if closed else None,
        "close_reason": task.close_reason if closed else None,
        "labels": list(task.labels),
        "dependencies": [_edge(task.id, other, kind) for other, kind in _links(task).items()],
        "metadata": _metadata({}, task, status),
    }
    return _drop_empty(record)


def _field_changes(before: Task, after: Task) -> Issue:
    fields: Issue = {
        key: getattr(after, name)
        for name, key in _PLAIN.items()
        if getattr(after, name) != getattr(before, name)
    }
    if after.priority != before.priority:
        fields["priority"] = PRIORITIES.index(after.priority)
    if after.acceptance != before.acceptance:
        fields["acceptance_criteria"] = list_text(after.acceptance)
    return fields


def _link_changes(
    before: Task, after: Task, issue: Issue, types: Mapping[str, str]
) -> tuple[list[str], list[tuple[str, str]], list[Issue]]:
    """Return the links to remove, the links for bd to add, and edges that only an import can add.

    `bd dep add` refuses a task that waits for an epic (or the reverse), and treats an id with
    another prefix as an issue of another project, which never blocks.
    """
    had, wanted = _links(before), _links(after)
    held = {other: kind for other, kind, _ in links_of(issue)}
    lost = [other for other in had if wanted.get(other) != had[other]]
    links: list[tuple[str, str]] = []
    edges: list[Issue] = []
    for other, kind in wanted.items():
        there = held.get(other)
        if had.get(other) == kind or there == kind or (kind == BLOCKS and there in WAITS):
            continue
        if there is not None and other not in lost:
            raise ReadOnly(
                f"{after.id} is linked to {other} as {there!r}; bd allows one link between two",
                hint=f"bd dep remove {after.id} {other}",
            )
        alike = (after.type == "epic") == (types.get(other) == "epic")
        if _prefix(after.id) == _prefix(other) and (kind == PARENT or alike):
            links.append((other, kind))
        else:
            edges.append(_edge(after.id, other, kind))
    return lost, links, edges


def _own_values(task: Task, status: str) -> Issue:
    """Return what only the metadata can store while bd has that status."""
    own: Issue = {name: list(getattr(task, name)) for name in _OWN_LISTS}
    own["area"] = task.area
    for name in ("labels", "depends_on"):
        items = list(getattr(task, name))
        own[name] = items if items != sorted(items) else None
    if list_items(list_text(task.acceptance)) != task.acceptance:
        own["acceptance"] = list(task.acceptance)
    if task.status is Status.FAILED:
        own |= {"status": task.status.value, "closed_at": task.closed_at}
        own["close_reason"] = task.close_reason
    elif status == "blocked" and task.blocked is not None:
        own["blocked"] = {"type": task.blocked.type.value, "reason": task.blocked.reason}
    return {key: value for key, value in own.items() if value}


def _metadata(issue: Issue, task: Task, status: str) -> Any:
    held = issue.get("metadata") or {}
    values = _own_values(task, status)
    if not isinstance(held, dict) or not isinstance(held.get(KEY, {}), dict):
        if values:
            raise ReadOnly(
                f"the metadata of {task.id} is in use for something else",
                hint=f"make room for an object under {KEY!r} in it; see bd show {task.id} --json",
            )
        return held
    stamps = {name: getattr(task, name) for name in STAMPS}
    if status != "closed":
        del stamps["closed_at"]
    exact = {name: at for name, at in stamps.items() if at and "." in at and at != issue.get(name)}
    unknown = {key: value for key, value in held.get(KEY, {}).items() if key not in _OWN}
    own = {**unknown, **values, **({"at": exact} if exact else {})}
    rest = {key: value for key, value in held.items() if key != KEY}
    return {**rest, KEY: own} if own else rest


def _links(task: Task) -> dict[str, str]:
    links: dict[str, str] = dict.fromkeys(task.depends_on, BLOCKS)
    return {**links, task.epic: PARENT} if task.epic else links


def _edge(issue_id: str, other: str, kind: str) -> Issue:
    return {"issue_id": issue_id, "depends_on_id": other, "type": kind}


def _prefix(issue_id: str) -> str:
    return issue_id.partition("-")[0] if "-" in issue_id else ""


def _later(stamp: str | None, held: Any) -> str | None:
    """Return the later stamp: bd rounds to seconds and skips an import older than its record."""
    one, other = parse_time(stamp), parse_time(held)
    return str(held) if other and (one is None or other > one) else stamp


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _csv(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _drop_empty(record: Issue) -> Issue:
    """Return the record without empty fields: bd treats a missing field as an empty one."""
    return {key: value for key, value in record.items() if value not in (None, "", [], {})}
