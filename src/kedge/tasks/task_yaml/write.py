"""Write the text of a new task file, or edit an existing one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kedge.model.task import FIELDS, LISTS, Block, Status, Task
from kedge.tasks.task_yaml import edit as editing
from kedge.tasks.task_yaml.fields import (
    LIST_NAMES,
    Path,
    item_text,
    list_items,
    name_of,
    sources,
    text_at,
)
from kedge.tasks.task_yaml.nodes import compose, is_mapping, is_null, is_sequence, pair

if TYPE_CHECKING:
    import yaml


StatusWords = Mapping[Status, str]

_PRIORITY_WORDS = {"P0": "critical", "P1": "high", "P2": "medium", "P3": "low"}


def write(task: Task, words: StatusWords) -> str:
    """Return the text of a new file. `words` has the project's own words for a status."""
    values: dict[str, Any] = {
        "id": task.id,
        "title": task.title,
        "type": task.type,
        "status": words.get(task.status, task.status.value),
        "priority": task.priority,
        "area": task.area,
        "epic": task.epic,
        "labels": task.labels or None,
        "depends_on": task.depends_on or None,
        "assignee": task.assignee,
        "description": editing.ExactText(task.description) if task.description else None,
        "acceptance_criteria": task.acceptance or None,
        "scope": _drop_empty({"in": task.scope_in, "out": task.scope_out}),
        "qa": _drop_empty({"commands": task.checks}),
        "blocked_type": task.blocked.type.value if task.blocked else None,
        "blocked_reason": task.blocked.reason if task.blocked else None,
        "close_reason": task.close_reason,
        "created_at": task.created_at,
        "updated_at": task.updated_at,
        "started_at": task.started_at,
        "closed_at": task.closed_at,
    }
    values = {name: value for name, value in values.items() if value is not None}
    for name, value in task.extra.items():
        inside = values.get(name)
        both = isinstance(inside, Mapping) and isinstance(value, Mapping)
        values[name] = {**inside, **value} if both and inside else value
    return editing.document(values)


def edit(text: str, before: Task, after: Task, words: StatusWords) -> str:
    """Return the text with only those values changed that differ between the two tasks."""
    for field in FIELDS:
        value = getattr(after, field)
        if value == getattr(before, field):
            continue
        if field in LISTS:
            text = _edit_list(text, field, value)
        elif field == "blocked":
            text = _edit_blocked(text, value)
        else:
            text = _edit_text(text, field, value, words)
    for name, value in after.extra.items():
        if name not in before.extra or before.extra[name] != value:
            text = editing.set_value(text, (name,), value)
    return text


def _edit_text(text: str, field: str, value: Any, words: StatusWords) -> str:
    root = compose(text)
    name = name_of(root, field)
    if field == "status":
        value = words.get(value, value.value)
    elif field == "description":
        value = editing.ExactText(value)
    elif field == "priority":
        word = text_at(root, name) or ""
        if word.isdigit():
            value = int(value[1])
        elif word in _PRIORITY_WORDS.values():
            value = _PRIORITY_WORDS.get(value, value)
    return editing.set_value(text, (name,), value)


def _edit_list(text: str, field: str, wanted: tuple[str, ...]) -> str:
    """Edit a list. If several keys share the field, items stay under their key, and a new item goes
    to the key of the item before it."""
    root = compose(text)
    places = list(sources(root, field))
    if not places:
        return editing.set_value(text, _new_path(root, field), list(wanted))
    current = [list_items(text, node, field) for _, node in places]
    homes = {item: index for index in reversed(range(len(places))) for item in current[index]}
    shares: list[list[str]] = [[] for _ in places]
    home = next((homes[item] for item in wanted if item in homes), len(places) - 1)
    for item in wanted:
        home = homes.get(item, home)
        shares[home].append(item)
    edits = []
    for index, (path, node) in enumerate(places):
        items = node.value if is_sequence(node) else [node]
        old = [item_text(text, item, field) for item in items]
        for place, item in enumerate(current[index]):
            if homes[item] != index and item in wanted:  # listed twice, and still wanted
                shares[index].insert(place, item)
        if shares[index] != current[index]:
            edits.append((path, old, shares[index]))
    for path, old, new in edits:
        text = editing.set_list(text, path, old, new)
    return text


def _edit_blocked(text: str, block: Block | None) -> str:
    root = compose(text)
    if pair(root, "blocked"):
        value = {"type": block.type.value, "reason": block.reason} if block else None
        return editing.set_value(text, ("blocked",), value)
    kind = "block_type" if pair(root, "block_type") else "blocked_type"
    for name, part in (
        (kind, block.type.value if block else None),
        ("blocked_reason", block.reason if block else None),
    ):
        if part is not None or pair(root, name):
            text = editing.set_value(text, (name,), part)
    return text


def _new_path(root: yaml.Node | None, field: str) -> Path:
    for path in LIST_NAMES[field]:
        both = pair(root, path[0])
        if both is None or is_mapping(both[1]) or is_null(both[1]):
            return path
    return (field,)


def _drop_empty(values: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]] | None:
    return {name: value for name, value in values.items() if value} or None
