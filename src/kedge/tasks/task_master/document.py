"""Read Taskmaster's `tasks.json`: lists of tasks by tag, each with subtasks.

A task with subtasks is their epic. Tasks of the tag `master`, and of a file without tags, go by
their ids; others have the tag before it, as in `search-4`. What Taskmaster has no field for is in
the task's `kedge` object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kedge.errors import InvalidValue
from kedge.host.documents import BOM
from kedge.host.text import shorten
from kedge.model.ids import TaskId, is_id
from kedge.model.status_words import priority_of, status_of
from kedge.model.task import (
    FIELDS,
    MAX_TITLE,
    Block,
    BlockType,
    Status,
    Task,
    parse,
    validate,
)
from kedge.tasks.rules import EPIC, EPIC_DONE

Names = tuple[str | int, ...]
MASTER = "master"
OWN = "kedge"
# Fields that Taskmaster does not have, or not with all the values that they have here.
KEPT = (
    *("type", "priority", "acceptance", "labels", "epic", "scope_in", "scope_out", "checks"),
    *("area", "assignee", "blocked", "close_reason", "created_at"),
)
_NATIVE = {
    *("id", "title", "description", "details", "testStrategy", "priority", "dependencies"),
    *("status", "subtasks", OWN),
}


class RawFloat(float):
    """A number as the file has it: the id 5.10 is not 5.1."""

    raw: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A task, its JSON object, where that is, and how its dependencies are written."""

    task: Task
    names: Names
    tag: str
    values: dict[str, Any]
    parent: Entry | None
    near: Mapping[str, TaskId]  # ids of the same list, as the file has them
    far: Mapping[str, TaskId]  # ids of all tasks of the tag


@dataclass(slots=True)
class Document:
    """The tasks of a file, its lists by tag, and what could not be read."""

    entries: dict[TaskId, Entry] = field(default_factory=dict)
    lists: dict[str, Names] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def load(text: str) -> Any:
    """Return the JSON value of a text; ValueError if it is not JSON."""
    return json.loads(text.removeprefix(BOM), parse_float=_parse_float)


def find_lists(data: Any) -> dict[str, Names]:
    """Return where the lists of tasks are, by tag; none if this is not Taskmaster's."""
    if not isinstance(data, dict):
        return {}
    found: dict[str, Names] = {}
    if _is_list(data.get("tasks")):
        found[MASTER] = ("tasks",)
    for tag, value in data.items():
        if isinstance(value, dict) and _is_list(value.get("tasks")):
            found.setdefault(tag, (tag, "tasks"))
    return found


def read_document(text: str) -> Document:
    """Read all tasks; ValueError if the text is not JSON."""
    data = load(text)
    document = Document(lists=find_lists(data))
    for tag, names in document.lists.items():
        items = data
        for name in names:
            items = items[name]
        _read_tag(document, tag, names, items)
    return document


def read_task(entry: Entry, values: Mapping[str, Any]) -> Task:
    """Return the task that an entry has with these values; InvalidValue if it is not valid."""
    task = _read_native(entry, values)
    own = values.get(OWN)
    if isinstance(own, dict):
        kept = {name: own[name] for name in KEPT if name in own}
        given = parse({"id": task.id, "title": task.title, **kept})
        task = replace(task, **{name: getattr(given, name) for name in kept})
    return validate(task)


def join_id(tag: str, text: str) -> str:
    """Return the id of a task with this id in a tag."""
    from kedge.features.folders import shorten_name

    return text if tag == MASTER else f"{shorten_name(tag)}-{text}"


def write_id(value: Any) -> str:
    """Return an id as text; empty if it is none."""
    if isinstance(value, RawFloat):
        return value.raw
    return str(value).strip() if isinstance(value, (str, int)) and value is not True else ""


def _read_tag(document: Document, tag: str, names: Names, items: Sequence[Any]) -> None:
    found = [*_walk(document, tag, names, items, None, "")]
    far = {text: entry.task.id for text, entry in found}
    lists: dict[Names, dict[str, TaskId]] = {}
    for _, entry in found:
        own = write_id(entry.values.get("id"))
        lists.setdefault(entry.names[:-1], {}).setdefault(own, entry.task.id)
    by_id: dict[TaskId, Entry] = {}
    for text, bare in found:
        parent = by_id.get(bare.parent.task.id) if bare.parent else None
        entry = replace(bare, parent=parent, near=lists[bare.names[:-1]], far=far)
        try:
            if entry.task.id in document.entries:
                raise InvalidValue(f"the id {text!r} is used twice")
            entry = replace(entry, task=read_task(entry, entry.values))
        except InvalidValue as error:
            document.problems.append(f"task {text} of {tag}: {error.message}")
            continue
        by_id[entry.task.id] = document.entries[entry.task.id] = entry


def _walk(
    document: Document,
    tag: str,
    names: Names,
    items: Sequence[Any],
    parent: Entry | None,
    above: str,
) -> Iterator[tuple[str, Entry]]:
    """Yield the tasks of a list and their subtasks, each with its id in the tag."""
    for index, values in enumerate(items):
        where = ".".join(map(str, (*names, index)))
        own = write_id(values.get("id")) if isinstance(values, dict) else ""
        is_part = above and own.replace(".", "").isdigit() and not own.startswith(f"{above}.")
        text = f"{above}.{own}" if is_part else own
        name = join_id(tag, text)
        if not own or not is_id(name):
            what = f"{own!r} is not a valid id" if own else "a task has no id"
            document.problems.append(f"{where}: {what}")
            continue
        task = Task(TaskId(name), "")
        entry = Entry(task, (*names, index), tag, values, parent, {}, {})
        yield text, entry
        below = values.get("subtasks")
        if _is_list(below):
            inner = (*names, index, "subtasks")
            yield from _walk(document, tag, inner, below, entry, text)


def _read_native(entry: Entry, values: Mapping[str, Any]) -> Task:
    """Return what Taskmaster's own fields say."""
    parent = entry.parent
    title = values.get("title")
    if not isinstance(title, str):
        raise InvalidValue("it has no title")
    description = [_text(values, "description"), _text(values, "details")]
    tests = _text(values, "testStrategy")
    status, blocked = _read_status(values.get("status"), parent)
    extra = {k: v for k, v in values.items() if k not in _NATIVE and k not in FIELDS}
    assignee, is_epic = values.get("assignee"), bool(values.get("subtasks"))
    return Task(
        entry.task.id,
        shorten(title, MAX_TITLE),
        EPIC if is_epic else "task",
        status,
        priority_of(_text(values, "priority")) or (parent.task.priority if parent else "P2"),
        "\n\n".join(filter(None, description)),
        (tests,) if tests.strip() else (),
        (entry.tag,) if entry.tag != MASTER else (),
        parent.task.id if parent else None,
        tuple(_read_needs(entry, values.get("dependencies"))),
        assignee=assignee if isinstance(assignee, str) and assignee.strip() else None,
        blocked=blocked,
        close_reason=EPIC_DONE if is_epic and status is Status.DONE else None,
        extra=extra,
    )


def _read_status(word: Any, parent: Entry | None) -> tuple[Status, Block | None]:
    """Return a status; an unknown one is a block, and a subtask without one is done with its
    task."""
    if not isinstance(word, str) or not word.strip():
        done = parent is not None and parent.task.status is Status.DONE
        return Status.DONE if done else Status.OPEN, None
    status = status_of(word)
    if status is None:
        return Status.BLOCKED, Block(BlockType.EXTERNAL, f"its status is {shorten(word, 80)}")
    return status, None


def _read_needs(entry: Entry, needs: Any) -> Iterator[TaskId]:
    seen = set[str]()
    for need in needs if _is_list(needs) else ():
        text = write_id(need)
        near = entry.near.get(text) if entry.parent else None
        name: str = near or entry.far.get(text) or join_id(entry.tag, text)
        if is_id(name) and name not in seen:
            seen.add(name)
            yield TaskId(name)


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _parse_float(text: str) -> RawFloat:
    number = RawFloat(text)
    number.raw = text
    return number
