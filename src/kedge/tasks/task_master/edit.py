"""Change tasks in the text of `tasks.json`: only the values that differ, and no other byte."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedge.errors import ReadOnly
from kedge.host import json_edit
from kedge.model.status_words import priority_of
from kedge.model.task import Status, Task
from kedge.tasks.task_master.document import (
    KEPT,
    MASTER,
    OWN,
    Entry,
    Names,
    join_id,
    read_task,
)

_WORDS = {
    Status.OPEN: "pending",
    Status.IN_PROGRESS: "in-progress",
    Status.BLOCKED: "blocked",
    Status.FAILED: "cancelled",
    Status.DONE: "done",
}
_PRIORITIES = {"P0": "critical", "P1": "high", "P2": "medium", "P3": "low", "P4": "low"}


def make_values(entry: Entry, after: Task) -> dict[str, Any]:
    """Return the values of the entry's object with which it is the task."""
    before, values = entry.task, dict(entry.values)
    if after.status is not before.status:
        values["status"] = _WORDS[after.status]
    if after.title != before.title:
        values["title"] = after.title
    if after.description != before.description:
        values["description"] = _split_description(entry, after)
    if after.priority != before.priority and priority_of(str(values.get("priority"))) != (
        after.priority
    ):
        values["priority"] = _PRIORITIES[after.priority]
    if after.depends_on != before.depends_on:
        values["dependencies"] = _write_needs(entry, after)
    if "assignee" in values and after.assignee != before.assignee:
        values["assignee"] = after.assignee or ""
    old = values.pop(OWN, None)
    rest = {k: v for k, v in old.items() if k not in KEPT} if isinstance(old, dict) else {}
    native = read_task(entry, values).data()
    kept = after.data()
    own = {name: kept[name] for name in KEPT if kept[name] != native[name]} | rest
    return values | ({OWN: own} if own else {})


def make_object(entry: Entry, after: Task, *, number: bool) -> dict[str, Any]:
    """Return the object of a task that is added; `entry` has its place, and its id as text."""
    own = str(entry.values["id"])
    base: dict[str, Any] = {
        "id": int(own) if number and own.isdigit() else own,
        "title": after.title,
        "description": after.description,
        "status": _WORDS[after.status],
        "priority": _PRIORITIES[after.priority],
        "dependencies": _write_needs(entry, after),
        "subtasks": [],
    }
    native = read_task(entry, base).data()
    kept = after.data()
    own_values = {name: kept[name] for name in KEPT if kept[name] != native[name]}
    return {**base, **({OWN: own_values} if own_values else {}), **after.extra}


def apply(text: str, names: Names, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return the text with the new values of the object at `names` in place of the old ones."""
    for key, value in old.items():
        if key not in new or (key == OWN and new[key] != value):
            text = json_edit.remove(text, [_find(text, (*names, key))], depth=0)
    for key, value in new.items():
        if key not in old or (key == OWN and old[key] != value):
            text = json_edit.insert(text, names, key, value)
        elif old[key] != value and isinstance(value, list) and isinstance(old[key], list):
            text = _change_list(text, (*names, key), old[key], value)
        elif old[key] != value:
            node = json_edit.at_path(json_edit.parse(text), _find(text, (*names, key)))
            text = json_edit.replace(text, node, value)
    return text


def _change_list(text: str, names: Names, old: list[Any], new: list[Any]) -> str:
    """Remove the items that are gone, and append the new ones."""
    gone = [index for index, item in enumerate(old) if item not in new]
    if gone:
        path = _find(text, names)
        text = json_edit.remove(text, [(*path, index) for index in gone], depth=0)
    for item in new:
        if item not in old:
            text = json_edit.append(text, names, item)
    return text


def _find(text: str, names: Names) -> json_edit.Path:
    """Return the position of a value by the indexes of the containers that it is in."""
    node, path = json_edit.parse(text), list[int]()
    for name in names:
        index = name if isinstance(name, int) else json_edit.member(text, node, name)
        if index is None:
            raise json_edit.BadJson(text, node.value, f"there is no {name}")
        path.append(index)
        node = node.children[index]
    return tuple(path)


def _split_description(entry: Entry, after: Task) -> str:
    details = entry.values.get("details")
    if not isinstance(details, str) or not details:
        return after.description
    if not after.description.endswith(f"\n\n{details}"):
        raise ReadOnly(
            f"the description of {after.id} ends with its details, which kedge does not change",
            hint="edit the field `details` in the file",
        )
    return after.description.removesuffix(f"\n\n{details}")


def _write_needs(entry: Entry, after: Task) -> list[Any]:
    """Return dependencies as the file has them; those that stay keep their form."""
    given = entry.values.get("dependencies")
    known = {}
    for need in given if isinstance(given, list) else ():
        for one in read_task(entry, {**entry.values, "dependencies": [need]}).depends_on:
            known[one] = need
    near = {task_id: text for text, task_id in entry.near.items()} if entry.parent else {}
    far = {task_id: text for text, task_id in entry.far.items()}
    prefix = "" if entry.tag == MASTER else join_id(entry.tag, "")
    found = []
    for one in after.depends_on:
        text = near.get(one) or far.get(one) or one.removeprefix(prefix)
        found.append(known.get(one, int(text) if text.isdigit() else text))
    return found
