"""Convert issues of beads to tasks. `plan` converts changes of tasks back to commands of bd.

A value that bd has a field for is stored there. The rest is in the issue's `metadata` under the key
"kedge": scope, checks and area; why a task is blocked; that it failed (bd stores it as blocked, so
that tasks which depend on it stay unready); and the exact form of what bd rounds or sorts: time
stamps, the order of labels and dependencies, acceptance items that a Markdown list cannot keep
apart. An exact form is used only while it matches the value in bd's field: a change made with bd
wins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from kedge.errors import BrokenTasks, InvalidValue
from kedge.host import json_lines
from kedge.host.clock import now
from kedge.model.ids import TaskId, task_id
from kedge.model.task import FIELDS, PRIORITIES, Block, BlockType, Status, Task, unique

Issue: TypeAlias = "dict[str, Any]"

KEY = "kedge"
BLOCKS = "blocks"
PARENT = "parent-child"
WAITS = frozenset({BLOCKS, "conditional-blocks", "waits-for"})
QUIET = frozenset({"closed", "pinned"})  # states in which an issue no longer blocks others
STAMPS = ("created_at", "updated_at", "started_at", "closed_at")
COUNTS = ("dependency_count", "dependent_count", "comment_count", "parent")

_STARTED = frozenset({"in_progress", "hooked"})
_NO_WORK = frozenset({"merge-request", "gate", "molecule", "message", "agent", "role", "rig"})
_MAPPED = frozenset(
    {*FIELDS, *COUNTS, "_type", "issue_type", "acceptance_criteria", "dependencies", "metadata"}
)
_TYPE = re.compile(r"[a-z][a-z0-9_-]{0,31}\Z")
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(?=\S)")
_HEADING = re.compile(r"#{1,6}\s")
_BOM = b"\xef\xbb\xbf"
_FIX = "fix that line, or write the file again with bd export -o .beads/issues.jsonl"


def read_export(data: bytes, name: str) -> tuple[list[Task], list[str]]:
    """Return the tasks in an export of bd, and a warning for each issue that was skipped."""
    issues, warnings = read_issues(data, name)
    tasks, left_out = to_tasks(issues, now())
    return tasks, [*warnings, *left_out]


def read_issues(data: bytes, name: str) -> tuple[dict[str, Issue], list[str]]:
    """Return the issues by id, and warnings. Raises BrokenTasks for a line that is not JSON."""
    issues: dict[str, Issue] = {}
    warnings = []
    for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            issue = json_lines.decode(line)
        except InvalidValue as error:
            raise BrokenTasks(f"{name}:{number}: {error.message}", hint=_FIX) from error
        is_other = "_schema" in issue or issue.get("_type", "issue") != "issue"
        if is_other or issue.get("status") == "tombstone":
            continue
        key = issue.get("id")
        if not isinstance(key, str):
            warnings.append(f"{name}:{number}: skipped an issue without an id")
            continue
        if key in issues:
            warnings.append(f"{name}:{number}: duplicate of {key}; this line is used")
        issues[key] = issue
    return issues, warnings


def to_tasks(issues: Mapping[str, Issue], at: str) -> tuple[list[Task], list[str]]:
    """Return the issues as tasks at the time `at`, and a warning for each that is skipped."""
    alone: dict[str, Task] = {}
    warnings = []
    for key, issue in issues.items():
        try:
            alone[key] = _task(issue, at)
        except InvalidValue as error:
            warnings.append(f"skipped the beads issue {key[:80]!r}: {error.message}")
    return [_add_links(task, issues, alone) for task in alone.values()], warnings


def list_text(items: Sequence[str]) -> str:
    """Return the items as a Markdown list; further lines of an item are indented."""
    return "\n".join("- " + re.sub(r"\n(?=[^\n])", "\n  ", item) for item in items)


def list_items(text: str) -> tuple[str, ...]:
    """Return the items of a Markdown list, or the lines of free text. Headings are skipped."""
    items: list[list[str]] = []
    inside = False
    for raw in text.split("\n"):
        line = raw.rstrip("\r")
        if inside and (not line.strip() or line.startswith(("  ", "\t"))):
            items[-1].append(line[1:] if line.startswith("\t") else line[2:])
            continue
        bullet = _BULLET.match(line)
        inside = bullet is not None
        if bullet:
            items.append([line[bullet.end() :]])
        elif any(map(str.isalnum, line)) and not _HEADING.match(line):
            items.append([line.strip()])
    return tuple("\n".join(lines).rstrip() for lines in items)


def own_values(issue: Issue) -> Issue:
    """Return the values that kedge stored in the issue's metadata."""
    metadata = issue.get("metadata")
    own = metadata.get(KEY) if isinstance(metadata, dict) else None
    return own if isinstance(own, dict) else {}


def bd_status(issue: Issue) -> str:
    """Return the status in bd's own words."""
    return str(issue.get("status") or "open")


def links_of(issue: Issue) -> list[tuple[str, str, Issue]]:
    """Return the issue's links: the other issue's id, the kind, and the whole record of bd."""
    links = []
    edges = issue.get("dependencies")
    for edge in edges if isinstance(edges, list) else ():
        if isinstance(edge, dict) and edge.get("issue_id", issue["id"]) == issue["id"]:
            other, kind = edge.get("depends_on_id"), edge.get("type", BLOCKS)
            if isinstance(other, str) and isinstance(kind, str) and other != issue["id"]:
                links.append((other, kind, edge))
    return links


def parse_time(text: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _task(issue: Issue, at: str) -> Task:
    """Return the issue as a task without links; `depends_on` is the order that kedge stored."""
    own = own_values(issue)
    status, blocked = _state(issue, own, at)
    end = {Status.DONE: issue, Status.FAILED: own}.get(status, {})
    title = " ".join(_string(issue, "title").splitlines()).strip()
    if not title:
        raise InvalidValue("no title")
    kind = _string(issue, "issue_type") or "task"
    criteria = _string(issue, "acceptance_criteria")
    items = _strings(own, "acceptance")
    labels = unique(_strings(issue, "labels"))
    ordered = _strings(own, "labels")
    return Task(
        id=task_id(_string(issue, "id")),
        title=title,
        type=kind if _TYPE.match(kind) else "task",
        status=status,
        priority=_priority(issue),
        description=_string(issue, "description"),
        acceptance=items if items and list_text(items) == criteria else list_items(criteria),
        labels=ordered if sorted(ordered) == sorted(labels) else labels,
        depends_on=tuple(map(TaskId, _strings(own, "depends_on"))),
        scope_in=_strings(own, "scope_in"),
        scope_out=_strings(own, "scope_out"),
        checks=_strings(own, "checks"),
        area=_string(own, "area") or None,
        assignee=_string(issue, "assignee") or None,
        blocked=blocked,
        close_reason=_string(end, "close_reason") or None,
        created_at=_stamp(issue, own, "created_at"),
        updated_at=_stamp(issue, own, "updated_at"),
        started_at=_stamp(issue, own, "started_at"),
        closed_at=_stamp(end, own, "closed_at"),
        extra=_extra(issue, own),
    )


def _state(issue: Issue, own: Issue, at: str) -> tuple[Status, Block | None]:
    """Return the task's status at the time `at`, and why it is blocked."""
    stored = bd_status(issue)
    if stored == "closed":
        return Status.DONE, None
    if stored == "blocked":
        if own.get("status") == Status.FAILED.value:
            return Status.FAILED, None
        return Status.BLOCKED, _block(own.get("blocked"))
    if stored in _STARTED:
        return Status.IN_PROGRESS, None
    until = parse_time(issue.get("defer_until"))
    later = until is not None and until > (parse_time(at) or until)
    kind = _string(issue, "issue_type")
    if stored == "deferred" or (stored == "open" and later):
        why = "deferred in beads" + (f" until {issue['defer_until']}" if until else "")
    elif stored == "pinned" or issue.get("pinned"):
        why = "pinned in beads"
    elif stored != "open":
        why = f"its status in beads is {stored!r}"
    elif kind in _NO_WORK:
        why = f"beads never lists a {kind} as ready"
    else:
        return Status.OPEN, None
    return Status.BLOCKED, Block(BlockType.EXTERNAL, why)


def _add_links(task: Task, issues: Mapping[str, Issue], alone: Mapping[str, Task]) -> Task:
    """Return the task with its epic and those dependencies that bd waits for."""
    epic: TaskId | None = None
    waits: list[TaskId] = []
    held_by: str | None = None
    rest = []
    for other, kind, edge in links_of(issues[task.id]):
        state = bd_status(issues.get(other, {}))
        if kind == PARENT and epic is None and other in alone:
            epic = alone[other].id
        elif kind in WAITS and other in alone and state != "pinned":
            waits.append(alone[other].id)
        else:
            rest.append(edge)
            if kind in WAITS and other in issues and state not in QUIET:
                held_by = other
    same = sorted(task.depends_on) == sorted(waits)
    task = replace(
        task,
        epic=epic,
        depends_on=task.depends_on if same else tuple(sorted(set(waits))),
        extra={**task.extra, "dependencies": rest} if rest else task.extra,
    )
    if held_by is not None and task.status is Status.OPEN:
        why = Block(BlockType.DEPENDENCY, f"waits in beads for {held_by!r}, which was skipped")
        return replace(task, status=Status.BLOCKED, blocked=why)
    return task


def _extra(issue: Issue, own: Issue) -> Issue:
    extra = {key: value for key, value in issue.items() if key not in _MAPPED}
    metadata = issue.get("metadata")
    if isinstance(metadata, dict) and own:
        metadata = {key: value for key, value in metadata.items() if key != KEY}
    return {**extra, "metadata": metadata} if metadata else extra


def _priority(issue: Issue) -> str:
    value = issue.get("priority", 2)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 4:
        raise InvalidValue(f"its priority is {value!r}, not 0 to 4")
    return PRIORITIES[value]


def _block(value: Any) -> Block | None:
    if not isinstance(value, dict) or value.get("type") not in [kind.value for kind in BlockType]:
        return None
    return Block(BlockType(value["type"]), _string(value, "reason"))


def _string(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidValue(f"{name!r} must be a string")
    return _NOT_TEXT.sub("\ufffd", value or "")


def _strings(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = values.get(name) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InvalidValue(f"{name!r} must be a list of strings")
    return tuple(_NOT_TEXT.sub("\ufffd", item) for item in value)


def _stamp(issue: Mapping[str, Any], own: Issue, name: str) -> str | None:
    """Return the exact stamp that kedge stored if bd's rounded one still matches it."""
    rounded = _string(issue, name)
    stamps = own.get("at")
    exact = _string(stamps, name) if isinstance(stamps, dict) else ""
    one, other = parse_time(exact), parse_time(rounded)
    if one and other and abs(one - other) < timedelta(seconds=1):
        return exact
    return rounded or None
