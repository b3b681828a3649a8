"""A task: what is to be done, when it is done, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

from kedge.errors import InvalidValue
from kedge.model.ids import TaskId, task_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
    """Why a task cannot go on."""

    type: BlockType
    reason: str


@dataclass(frozen=True, slots=True)
class Task:
    """One unit of work. `extra` holds fields of the backend that kedge does not know."""

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
        """All fields as plain JSON values, in declaration order, unknown ones last."""
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
    """A task from plain values. Wrong types and unknown states raise InvalidValue."""
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
            raise InvalidValue(f"{key!r} must be a text, not {type(value).__name__}")
        else:
            values[key] = value
    if "id" not in values or "title" not in values:
        raise InvalidValue("a task needs an 'id' and a 'title'")
    task_id(values["id"])
    if "status" in values:
        values["status"] = status(values["status"])
    return Task(**values, extra=extra)


def checked(task: Task) -> Task:
    """The task itself when it keeps every rule; InvalidValue names the first that it breaks."""
    task_id(task.id)
    _line("title", task.title, MAX_TITLE)
    if not task.title.strip():
        raise InvalidValue("the title is empty", hint="say in a few words what is to be done")
    if not _TYPE.match(task.type):
        raise InvalidValue(
            f"{task.type!r} is not a valid type",
            hint="a lower-case word such as task, bug, feature, chore or epic",
        )
    if task.priority not in PRIORITIES:
        raise InvalidValue(
            f"{task.priority!r} is not a priority", hint="one of P0 (most urgent) to P4"
        )
    _text("description", task.description)
    for name in LISTS:
        items = getattr(task, name)
        if len(items) > MAX_ITEMS:
            raise InvalidValue(f"{name} has {len(items)} entries; at most {MAX_ITEMS} are kept")
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


def changed(task: Task, **values: Any) -> Task:
    return checked(replace(task, **values))


def status(text: str) -> Status:
    try:
        return Status(text)
    except ValueError:
        raise InvalidValue(
            f"{text!r} is not a status", hint="one of " + ", ".join(s.value for s in Status)
        ) from None


def block_type(text: str) -> BlockType:
    try:
        return BlockType(text)
    except ValueError:
        raise InvalidValue(
            f"{text!r} is not a kind of block",
            hint="one of " + ", ".join(b.value for b in BlockType),
        ) from None


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """The items without repetition, in their order."""
    return tuple(dict.fromkeys(items))


def _items(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        for item in value:
            if type(item) is not str:
                break
        else:
            return tuple(value)
    raise InvalidValue(f"{name!r} must be a list of texts")


def _block(value: Any) -> Block:
    if not isinstance(value, Mapping) or not isinstance(value.get("reason", ""), str):
        raise InvalidValue("'blocked' must have a type and a reason")
    return Block(block_type(str(value.get("type", "external"))), value.get("reason", ""))


def _text(name: str, text: str) -> None:
    found = _CONTROL.search(text)
    if found:
        raise InvalidValue(
            f"{name} has a character that is not text (U+{ord(found.group()):04X})",
            hint="kedge keeps UTF-8 text without control characters",
        )
    size = len(text.encode())
    if size > MAX_TEXT:
        raise InvalidValue(
            f"{name} has {size / MAX_TEXT:.1f} MiB; at most 1 MiB is kept",
            hint="put it into a file of the repository and name the file in the description",
        )


def _line(name: str, text: str, limit: int) -> None:
    _text(name, text)
    if "\n" in text or "\r" in text:
        raise InvalidValue(f"{name} must be one line")
    if len(text) > limit:
        raise InvalidValue(f"{name} has {len(text)} characters; at most {limit} are kept")
