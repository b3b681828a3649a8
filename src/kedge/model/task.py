"""Tasks: their fields, and the rules that every field must keep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from kedge.errors import InvalidValue
from kedge.model.ids import TaskId, task_id

MAX_TEXT = 1 << 20
MAX_TITLE = 500
MAX_ITEMS = 1000

PRIORITIES = ("P0", "P1", "P2", "P3", "P4")
_TYPE = re.compile(r"[a-z][a-z0-9_-]{0,31}\Z")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Status(StrEnum):
    OPEN = "open"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    FAILED = "failed"
    DONE = "done"


class BlockType(StrEnum):
    SPEC_UNCLEAR = "spec-unclear"
    DEPENDENCY = "dependency"
    DESIGN_CONFLICT = "design-conflict"
    SCOPE_EXCEEDED = "scope-exceeded"
    TOOLING = "tooling"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class Block:
    """Why work on a task has stopped."""

    type: BlockType
    reason: str


@dataclass(frozen=True, slots=True)
class Task:
    """One unit of work. `extra` holds the backend's fields that kedge does not know."""

    id: TaskId
    title: str
    type: str = "task"
    status: Status = Status.OPEN
    priority: str = "P2"
    description: str = ""
    acceptance: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    epic: TaskId | None = None
    depends_on: tuple[TaskId, ...] = ()
    scope_in: tuple[str, ...] = ()
    scope_out: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    area: str | None = None
    assignee: str | None = None
    blocked: Block | None = None
    close_reason: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    started_at: str | None = None
    closed_at: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        return self.status in (Status.DONE, Status.FAILED)

    def data(self) -> dict[str, Any]:
        """Return all fields as JSON values, in the order of declaration, unknown ones last."""
        out: dict[str, Any] = {name: getattr(self, name) for name in FIELDS}
        for name in LISTS:
            out[name] = list(out[name])
        if self.blocked is not None:
            out["blocked"] = {"type": self.blocked.type.value, "reason": self.blocked.reason}
        out["status"] = self.status.value
        out.update(self.extra)
        return out


FIELDS = tuple(f.name for f in fields(Task) if f.name != "extra")
LISTS = ("acceptance", "labels", "depends_on", "scope_in", "scope_out", "checks")
_KNOWN = frozenset(FIELDS)
_LISTS = frozenset(LISTS)


def parse(data: Mapping[str, Any]) -> Task:
    """Build a task from JSON values. Raises InvalidValue for a wrong type or an unknown status.

    Call `validate` for the other rules: tasks that are only read may break them.
    """
    values: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in data.items():
        if key not in _KNOWN:
            extra[key] = value
        elif value is None:
            continue
        elif key in _LISTS:
            values[key] = _items(key, value)
        elif key == "blocked":
            values[key] = _block(value)
        elif type(value) is not str:
            raise InvalidValue(f"{key!r} must be a string, not {type(value).__name__}")
        else:
            values[key] = value
    if "id" not in values or "title" not in values:
        raise InvalidValue("a task needs an 'id' and a 'title'")
    task_id(values["id"])
    if "status" in values:
        values["status"] = parse_status(values["status"])
    return Task(**values, extra=extra)


def validate(task: Task) -> Task:
    """Return the task if it keeps every rule. Raises InvalidValue for the first broken rule."""
    task_id(task.id)
    _line("title", task.title, MAX_TITLE)
    if not task.title.strip():
        raise InvalidValue("the title is empty", hint="describe the task in a few words")
    if not _TYPE.match(task.type):
        raise InvalidValue(
            f"{task.type!r} is not a valid type",
            hint="use a lower-case word such as task, bug, feature, chore or epic",
        )
    if task.priority not in PRIORITIES:
        raise InvalidValue(
            f"{task.priority!r} is not a priority", hint="use P0 (most urgent) to P4"
        )
    _text("description", task.description)
    for name in LISTS:
        items = getattr(task, name)
        if len(items) > MAX_ITEMS:
            raise InvalidValue(f"{name} has {len(items)} entries; at most {MAX_ITEMS} are allowed")
        for item in items:
            _text(name, item)
            if not item.strip():
                raise InvalidValue(f"an entry of {name} is empty")
    for name in ("labels", "scope_in", "scope_out"):
        for item in getattr(task, name):
            _line(name, item, MAX_TITLE)
    for other in task.depends_on:
        task_id(other)
    if task.epic is not None:
        task_id(task.epic)
    for name in ("area", "assignee", "close_reason"):
        value = getattr(task, name)
        if value is not None:
            _text(name, value)
    if task.blocked is not None:
        _text("reason", task.blocked.reason)
    return task


def replace_fields(task: Task, **values: Any) -> Task:
    """Return a validated copy of the task with some fields replaced."""
    return validate(replace(task, **values))


def parse_status(text: str) -> Status:
    try:
        return Status(text)
    except ValueError:
        raise InvalidValue(
            f"{text!r} is not a status", hint="use one of " + ", ".join(s.value for s in Status)
        ) from None


def parse_block_type(text: str) -> BlockType:
    try:
        return BlockType(text)
    except ValueError:
        raise InvalidValue(
            f"{text!r} is not a type of block",
            hint="use one of " + ", ".join(b.value for b in BlockType),
        ) from None


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """Return the items without duplicates, in their order."""
    return tuple(dict.fromkeys(items))


def _items(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        for item in value:
            if type(item) is not str:
                break
        else:
            return tuple(value)
    raise InvalidValue(f"{name!r} must be a list of strings")


def _block(value: Any) -> Block:
    if not isinstance(value, Mapping) or not isinstance(value.get("reason", ""), str):
        raise InvalidValue("'blocked' must have a type and a reason")
    return Block(parse_block_type(str(value.get("type", "external"))), value.get("reason", ""))


def _text(name: str, text: str) -> None:
    found = _CONTROL.search(text)
    if found:
        raise InvalidValue(
            f"{name} contains the character U+{ord(found.group()):04X}",
            hint="remove control characters and unpaired surrogates",
        )
    size = len(text.encode())
    if size > MAX_TEXT:
        raise InvalidValue(
            f"{name} has {size / MAX_TEXT:.1f} MiB; at most 1 MiB is allowed",
            hint="put the text into a file of the repository and name the file in the description",
        )


def _line(name: str, text: str, limit: int) -> None:
    _text(name, text)
    if "\n" in text or "\r" in text:
        raise InvalidValue(f"{name} must be a single line")
    if len(text) > limit:
        raise InvalidValue(f"{name} has {len(text)} characters; at most {limit} are allowed")
