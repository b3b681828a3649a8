"""Issues of beads as tasks of kedge. `plan` has the way back.

What bd has a field for is kept there. The rest is in the issue's `metadata` under the one key
"kedge": scope, checks and area, why a task is blocked, that it failed (to bd it is blocked, so
that what waits for it stays unready), and the exact form of what bd rounds or sorts: stamps, the
order of labels and dependencies, acceptance items that a Markdown list cannot tell apart. Such a
form counts only while bd holds the value that it stands for: a change made with bd wins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from kedge.errors import BrokenTasks, InvalidValue
from kedge.host.clock import now
from kedge.model.ids import TaskId, task_id
from kedge.model.task import FIELDS, PRIORITIES, Block, BlockType, Status, Task, unique

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

Issue: TypeAlias = "dict[str, Any]"

KEY = "kedge"
BLOCKS = "blocks"
PARENT = "parent-child"
WAITS = frozenset({BLOCKS, "conditional-blocks", "waits-for"})
QUIET = frozenset({"closed", "pinned"})  # the states that bd waits for no longer
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
_CONFLICT = (b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")
_BOM = b"\xef\xbb\xbf"
_MEND = "mend that line, or write the file anew with bd export -o .beads/issues.jsonl"


def read_export(data: bytes, name: str) -> tuple[list[Task], list[str]]:
    """The tasks in an export of bd, and what was left out, one line each."""
    issues, warnings = read_issues(data, name)
    tasks, left_out = to_tasks(issues, now())
    return tasks, [*warnings, *left_out]


def read_issues(data: bytes, name: str) -> tuple[dict[str, Issue], list[str]]:
    """The issues by id. Raises BrokenTasks for a line that is no JSON object."""
    issues: dict[str, Issue] = {}
    warnings = []
    for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), 1):
        if not line.strip():
            continue
        issue = _object(line, f"{name}:{number}")
        no_issue = "_schema" in issue or issue.get("_type", "issue") != "issue"
        if no_issue or issue.get("status") == "tombstone":
            continue
        key = issue.get("id")
        if not isinstance(key, str):
            warnings.append(f"{name}:{number}: an issue without an id is left out")
            continue
        if key in issues:
            warnings.append(f"{name}:{number}: {key} is there twice; this line counts")
        issues[key] = issue
    return issues, warnings


def to_tasks(issues: Mapping[str, Issue], at: str) -> tuple[list[Task], list[str]]:
    """The issues as tasks at a moment, and those that kedge cannot use, one line each."""
    alone: dict[str, Task] = {}
    warnings = []
    for key, issue in issues.items():
        try:
            alone[key] = _task(issue, at)
        except InvalidValue as error:
            warnings.append(f"an issue of beads is left out: {key[:80]!r}: {error.message}")
    return [_linked(task, issues, alone) for task in alone.values()], warnings


def list_text(items: Sequence[str]) -> str:
    """Items as a Markdown list; further lines of an item are indented."""
    return "\n".join("- " + re.sub(r"\n(?=[^\n])", "\n  ", item) for item in items)


def list_items(text: str) -> tuple[str, ...]:
    """The items of a Markdown list, or of free text one for each line. Headings are none."""
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
    """What kedge keeps in the issue's metadata."""
    metadata = issue.get("metadata")
    own = metadata.get(KEY) if isinstance(metadata, dict) else None
    return own if isinstance(own, dict) else {}


def stored_status(issue: Issue) -> str:
    return str(issue.get("status") or "open")


def links_of(issue: Issue) -> list[tuple[str, str, Issue]]:
    """What the issue is linked to: the other's id, the kind, and all that bd says of the link."""
    found = []
    edges = issue.get("dependencies")
    for edge in edges if isinstance(edges, list) else ():
        if isinstance(edge, dict) and edge.get("issue_id", issue["id"]) == issue["id"]:
            other, kind = edge.get("depends_on_id"), edge.get("type", BLOCKS)
            if isinstance(other, str) and isinstance(kind, str) and other != issue["id"]:
                found.append((other, kind, edge))
    return found


def moment(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _object(line: bytes, place: str) -> Issue:
    if line.startswith(_CONFLICT):
        raise BrokenTasks(f"{place}: a merge conflict", hint=_MEND)
    if b"\0" in line:
        raise BrokenTasks(f"{place}: a NUL byte", hint=_MEND)
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise BrokenTasks(f"{place}: not UTF-8", hint=_MEND) from error
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "nested too deeply")
        raise BrokenTasks(f"{place}: not JSON ({reason})", hint=_MEND) from error
    if not isinstance(value, dict):
        raise BrokenTasks(f"{place}: not a JSON object", hint=_MEND)
    return value


def _task(issue: Issue, at: str) -> Task:
    """The issue without its links to others; `depends_on` is their order as kedge kept it."""
    own = own_values(issue)
    status, blocked = _state(issue, own, at)
    end = {Status.DONE: issue, Status.FAILED: own}.get(status, {})
    title = " ".join(_text(issue, "title").splitlines()).strip()
    if not title:
        raise InvalidValue("it has no title")
    kind = _text(issue, "issue_type") or "task"
    criteria = _text(issue, "acceptance_criteria")
    items = _texts(own, "acceptance")
    labels = unique(_texts(issue, "labels"))
    ordered = _texts(own, "labels")
    return Task(
        id=task_id(_text(issue, "id")),
        title=title,
        type=kind if _TYPE.match(kind) else "task",
        status=status,
        priority=_priority(issue),
        description=_text(issue, "description"),
        acceptance=items if items and list_text(items) == criteria else list_items(criteria),
        labels=ordered if sorted(ordered) == sorted(labels) else labels,
        depends_on=tuple(map(TaskId, _texts(own, "depends_on"))),
        scope_in=_texts(own, "scope_in"),
        scope_out=_texts(own, "scope_out"),
        checks=_texts(own, "checks"),
        area=_text(own, "area") or None,
        assignee=_text(issue, "assignee") or None,
        blocked=blocked,
        close_reason=_text(end, "close_reason") or None,
        created_at=_stamp(issue, own, "created_at"),
        updated_at=_stamp(issue, own, "updated_at"),
        started_at=_stamp(issue, own, "started_at"),
        closed_at=_stamp(end, own, "closed_at"),
        extra=_extra(issue, own),
    )


def _state(issue: Issue, own: Issue, at: str) -> tuple[Status, Block | None]:
    stored = stored_status(issue)
    if stored == "closed":
        return Status.DONE, None
    if stored == "blocked":
        if own.get("status") == Status.FAILED.value:
            return Status.FAILED, None
        return Status.BLOCKED, _block(own.get("blocked"))
    if stored in _STARTED:
        return Status.IN_PROGRESS, None
    until = moment(issue.get("defer_until"))
    later = until is not None and until > (moment(at) or until)
    kind = _text(issue, "issue_type")
    if stored == "deferred" or (stored == "open" and later):
        why = "deferred in beads" + (f" until {issue['defer_until']}" if until else "")
    elif stored == "pinned" or issue.get("pinned"):
        why = "pinned in beads"
    elif stored != "open":
        why = f"its status in beads is {stored!r}"
    elif kind in _NO_WORK:
        why = f"beads does not offer a {kind} as work"
    else:
        return Status.OPEN, None
    return Status.BLOCKED, Block(BlockType.EXTERNAL, why)


def _linked(task: Task, issues: Mapping[str, Issue], alone: Mapping[str, Task]) -> Task:
    """The task with its epic and dependencies, as far as bd waits for them."""
    epic: TaskId | None = None
    waits: list[TaskId] = []
    held_by: str | None = None
    rest = []
    for other, kind, edge in links_of(issues[task.id]):
        state = stored_status(issues.get(other, {}))
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
        why = Block(BlockType.DEPENDENCY, f"waits in beads for {held_by!r}, which is left out")
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
        raise InvalidValue(f"its priority is {value!r}")
    return PRIORITIES[value]


def _block(value: Any) -> Block | None:
    if not isinstance(value, dict) or value.get("type") not in [kind.value for kind in BlockType]:
        return None
    return Block(BlockType(value["type"]), _text(value, "reason"))


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidValue(f"{name!r} is not a text")
    return _NOT_TEXT.sub("\ufffd", value or "")


def _texts(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = values.get(name) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InvalidValue(f"{name!r} is not a list of texts")
    return tuple(_NOT_TEXT.sub("\ufffd", item) for item in value)


def _stamp(issue: Mapping[str, Any], own: Issue, name: str) -> str | None:
    held = _text(issue, name)
    exact = own.get("at")
    kept = _text(exact, name) if isinstance(exact, dict) else ""
    one, other = moment(kept), moment(held)
    if one and other and abs(one - other) < timedelta(seconds=1):
        return kept
    return held or None
