"""What bd is to be told to make a change of a task. `issue` reads what it then holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kedge.errors import ReadOnly
from kedge.model.ids import TaskId
from kedge.model.task import PRIORITIES, Status, Task
from kedge.tasks.backend import Change
from kedge.tasks.beads.issue import (
    BLOCKS,
    COUNTS,
    KEY,
    PARENT,
    QUIET,
    STAMPS,
    WAITS,
    Issue,
    links_of,
    list_items,
    list_text,
    moment,
    stored_status,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
# Kept by bd in tables of their own, to which an import only adds.
_ADDED = frozenset({"_type", "labels", "dependencies", "comments", *COUNTS})


@dataclass(frozen=True, slots=True)
class Plan:
    """A line for `bd import`, lines for `bd batch`, flags for `bd update`."""

    id: TaskId
    record: Issue | None = None
    batch: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def plan(change: Change, issue: Issue, types: Mapping[str, str]) -> Plan:
    """How bd is to make the change; `issue` is what it holds, `types` those of all issues.

    Nothing is asked for when nothing that bd holds differs. `bd import` takes texts of any size
    and keeps them exactly, but it removes nothing, and it does not look at what waits for an
    issue whose state it sets. So the ways into and out of `closed` and `pinned`, and links
    between issues, are left to `bd batch`, which sees to that.
    """
    before, after = change.before, change.after
    if before is None:
        return Plan(after.id, record=_new(after))
    stored = stored_status(issue)
    moved = after.status is not before.status or (
        after.status is Status.BLOCKED and after.blocked != before.blocked
    )
    status = _STORED[after.status] if moved else stored
    by_bd = moved and (stored in QUIET or status in QUIET or bool(issue.get("pinned")))
    fields = _differing(before, after)
    lost, links, edges = _link_changes(before, after, issue, types)
    batch = [f"dep remove {after.id} {other}" for other in lost]
    batch += [f"dep add {after.id} {other} {kind}" for other, kind in links]
    reason = after.close_reason or ""
    if by_bd and status == "closed" and "\n" not in reason:
        batch.append(f"close {after.id} {_escaped(reason)}")
    else:
        if status == "closed" and after.close_reason != before.close_reason:
            fields["close_reason"] = reason
        if by_bd:
            batch.append(f"update {after.id} status={status}")
        elif status != stored:
            fields["status"] = status
    labels = [label for label in after.labels if label not in before.labels]
    record = None
    if fields or labels or edges or _kept(before, stored) != _kept(after, status):
        record = {key: value for key, value in issue.items() if key not in _ADDED} | fields
        record |= {"labels": labels, "dependencies": edges}
        record["updated_at"] = _later(after.updated_at, issue.get("updated_at"))
        record["metadata"] = _metadata(issue, after, status)
        record = _filled(record)
    awake = moved and status in ("open", "in_progress") and bool(issue.get("defer_until"))
    flags = ["--defer="] if awake else []
    dropped = [label for label in before.labels if label not in after.labels]
    if dropped:
        flags.append("--remove-label=" + ",".join(map(_csv, dropped)))
    return Plan(after.id, record, tuple(batch), tuple(flags))


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
    return _filled(record)


def _differing(before: Task, after: Task) -> Issue:
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
    """Links to remove, links for bd to add, and edges that only an import can add.

    `bd dep add` refuses a task that waits for an epic (or the reverse), and takes an id of
    another prefix for an issue of another project, which never blocks.
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
                f"{after.id} is linked to {other} as {there!r}, and bd keeps one link between two",
                hint=f"bd dep remove {after.id} {other}",
            )
        alike = (after.type == "epic") == (types.get(other) == "epic")
        if _prefix(after.id) == _prefix(other) and (kind == PARENT or alike):
            links.append((other, kind))
        else:
            edges.append(_edge(after.id, other, kind))
    return lost, links, edges


def _kept(task: Task, status: str) -> Issue:
    """What only the metadata can hold, while bd holds that status."""
    kept: Issue = {name: list(getattr(task, name)) for name in _OWN_LISTS}
    kept["area"] = task.area
    for name in ("labels", "depends_on"):
        items = list(getattr(task, name))
        kept[name] = items if items != sorted(items) else None
    if list_items(list_text(task.acceptance)) != task.acceptance:
        kept["acceptance"] = list(task.acceptance)
    if task.status is Status.FAILED:
        kept |= {"status": task.status.value, "closed_at": task.closed_at}
        kept["close_reason"] = task.close_reason
    elif status == "blocked" and task.blocked is not None:
        kept["blocked"] = {"type": task.blocked.type.value, "reason": task.blocked.reason}
    return {key: value for key, value in kept.items() if value}


def _metadata(issue: Issue, task: Task, status: str) -> Any:
    held = issue.get("metadata") or {}
    kept = _kept(task, status)
    if not isinstance(held, dict) or not isinstance(held.get(KEY, {}), dict):
        if kept:
            raise ReadOnly(
                f"the metadata of {task.id} is in use for something else",
                hint=f"kedge keeps a JSON object under {KEY!r} in it; see bd show {task.id} --json",
            )
        return held
    stamps = {name: getattr(task, name) for name in STAMPS}
    if status != "closed":
        del stamps["closed_at"]
    exact = {name: at for name, at in stamps.items() if at and "." in at and at != issue.get(name)}
    unknown = {key: value for key, value in held.get(KEY, {}).items() if key not in _OWN}
    own = {**unknown, **kept, **({"at": exact} if exact else {})}
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
    """bd leaves out an import that seems older than what it holds, and it rounds to seconds."""
    one, other = moment(stamp), moment(held)
    return str(held) if other and (one is None or other > one) else stamp


def _escaped(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _csv(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _filled(record: Issue) -> Issue:
    """Without what is empty: to bd a field that is left out is an empty one."""
    return {key: value for key, value in record.items() if value not in (None, "", [], {})}
