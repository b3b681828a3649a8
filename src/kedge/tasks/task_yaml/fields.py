"""Read a task from a YAML file, under all the field names that such files use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kedge.errors import InvalidValue
from kedge.model.ids import TaskId
from kedge.model.status_words import is_synonym, priority_of, status_of
from kedge.model.task import (
    FIELDS,
    LISTS,
    Block,
    BlockType,
    Task,
    parse_block_type,
    validate,
)
from kedge.tasks.task_yaml.nodes import (
    BadYaml,
    compose,
    content_end,
    is_mapping,
    is_null,
    is_scalar,
    is_sequence,
    line_of,
    pair,
    pairs,
    plain,
)

if TYPE_CHECKING:
    import yaml


Path = tuple[str, ...]

# The first name is used where a file has none of them.
TEXT_NAMES: dict[str, Path] = {
    **{name: (name,) for name in FIELDS if name not in (*LISTS, "blocked")},
    "epic": ("epic", "parent"),
}
LIST_NAMES: dict[str, tuple[Path, ...]] = {
    "acceptance": (("acceptance_criteria",), ("acceptance",)),
    "labels": (("labels",), ("tags",)),
    "depends_on": (("depends_on",), ("dependencies",), ("blocked_by",)),
    "scope_in": (("scope", "in"), ("scope_in",), ("scope",)),
    "scope_out": (("scope", "out"), ("scope_out",)),
    "checks": (
        ("qa", "commands"),
        ("checks",),
        ("validation", "commands"),
        ("validation", "pipeline"),
    ),
}
_PATHS = {path for paths in LIST_NAMES.values() for path in paths}
_WORDS = ("id", "type", "status", "priority", "epic")  # an empty string means unset
_BLOCKS = ("blocked", "blocked_type", "block_type", "blocked_reason")
_COMMAND_NAMES = ("command", "cmd", "run")
_ITEM_NAMES = ("criterion", "criteria", "text", "description")


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task, the line of its id, and the file's word for the status if it is a plain synonym."""

    task: Task
    line: int
    status_word: str | None


def read(text: str, name: str) -> TaskFile:
    """Return the task in the text; `name` is its id if the text has none."""
    root = compose(text)
    if root is None:
        raise BadYaml(1, "the file contains no task")
    if not is_mapping(root):
        raise BadYaml(line_of(root), "a task must be a mapping")
    seen: set[str] = set()
    for key, node, _ in pairs(root):
        if key in seen:
            raise BadYaml(line_of(node), f"duplicate key {key!r}")
        seen.add(key)
    values: dict[str, Any] = {"id": name, **dict(_read_strings(root))}
    if "title" not in values:
        raise BadYaml(line_of(root), "a task needs a 'title'")
    values |= {field: _read_list(text, root, field) for field in LISTS}
    task = _validate(root, Task(**values, blocked=_read_block(root), extra=_extra(root)))
    word = text_at(root, "status")
    return TaskFile(task, _line(root, "id"), word if word and is_synonym(word) else None)


def _read_strings(root: yaml.MappingNode) -> Iterator[tuple[str, Any]]:
    for field in TEXT_NAMES:
        name = name_of(root, field)
        value = text_at(root, name, verbatim=field == "description")
        if value is None or (field in _WORDS and not value.strip()):
            continue
        if field == "status":
            status = status_of(value)
            if status is None:
                raise BadYaml(_line(root, name), f"{value!r} is not a status")
            yield field, status
        elif field == "priority":
            yield field, priority_of(value) or value
        elif field == "type":
            yield field, value.strip().lower().replace(" ", "-")
        else:
            yield field, value


def _read_list(text: str, root: yaml.Node, field: str) -> tuple[str, ...]:
    items: list[str] = []
    for _, node in sources(root, field):
        known = set(items)
        items += [item for item in list_items(text, node, field) if item not in known]
    return tuple(items)


def sources(root: yaml.Node | None, field: str) -> Iterator[tuple[Path, yaml.Node]]:
    """Yield the path and node of each list that holds items of the field."""
    for path in LIST_NAMES[field]:
        node = root
        for name in path:
            both = pair(node, name)
            node = both[1] if both else None
        if node is None or (path == ("scope",) and (is_mapping(node) or is_null(node))):
            continue
        if field == "acceptance" and is_mapping(node):
            for name, _, value in pairs(node):
                yield (*path, name), value
        else:
            yield path, node


def list_items(text: str, node: yaml.Node, field: str) -> list[str]:
    """Return the items of a list, or the one item of a scalar, without empty ones."""
    if is_mapping(node):
        raise BadYaml(line_of(node), f"{field!r} must be a list of strings")
    items = node.value if is_sequence(node) else [node]
    return [words for item in items if (words := item_text(text, item, field)) is not None]


def item_text(text: str, node: yaml.Node, field: str) -> str | None:
    """Return the string that an item stands for: a scalar, or the text or command of a mapping."""
    if is_scalar(node):
        words = _scalar_text(node)
        return None if is_null(node) or not words.strip() else words
    if is_mapping(node):
        for name in _COMMAND_NAMES if field == "checks" else _ITEM_NAMES:
            if part := text_at(node, name):
                return part
        if field != "checks" or len(node.value) == 1:
            # a string with a colon in it that lacks quotes
            return " ".join(text[node.start_mark.index : content_end(text, node)].split())
    raise BadYaml(line_of(node), f"an item of {field!r} must be a string")


def _read_block(root: yaml.MappingNode) -> Block | None:
    kind = text_at(root, "blocked_type") or text_at(root, "block_type")
    reason = text_at(root, "blocked_reason")
    both = pair(root, "blocked")
    if both and is_mapping(both[1]):
        kind = text_at(both[1], "type")
        reason = text_at(both[1], "reason")
    elif both and both[1].tag.endswith(":bool"):
        kind = kind or (BlockType.EXTERNAL if plain(both[1]) else None)
    elif both:
        reason = text_at(root, "blocked") or reason
    if not kind and not reason:
        return None
    word = (kind or BlockType.EXTERNAL).strip().lower().replace("_", "-")
    try:
        return Block(parse_block_type(word), reason or "")
    except InvalidValue as error:
        raise BadYaml(_line(root, *_BLOCKS), error.message) from error


def _extra(root: yaml.MappingNode) -> dict[str, Any]:
    used = {name_of(root, field) for field in TEXT_NAMES}
    used.update(FIELDS, _BLOCKS, (path[0] for path in _PATHS if len(path) == 1))
    extra: dict[str, Any] = {}
    for name, _, node in pairs(root):
        parts = {path[1] for path in _PATHS if len(path) == 2 and path[0] == name}
        if parts and is_mapping(node):
            rest = {part: plain(v) for part, _, v in pairs(node) if part not in parts}
            if rest:
                extra[name] = rest
        elif name not in used:
            extra[name] = plain(node)
    return extra


def _validate(root: yaml.MappingNode, task: Task) -> Task:
    """Return the task if it keeps every rule. BadYaml has the line of the field that does not."""
    try:
        return validate(task)
    except InvalidValue as error:
        blank = Task(TaskId("x"), "x")
        for field in FIELDS:
            try:
                validate(replace(blank, **{field: getattr(task, field)}))
            except InvalidValue:
                names = TEXT_NAMES.get(field) or tuple(
                    path[0] for path in LIST_NAMES.get(field, ())
                )
                raise BadYaml(_line(root, *names), error.message) from error
        raise


def name_of(root: yaml.Node | None, field: str) -> str:
    """Return the key this file uses for the field: one with a value, else one that is present."""
    names = TEXT_NAMES[field]
    present = [(name, both[1]) for name in names if (both := pair(root, name))]
    filled = [name for name, node in present if not is_null(node)]
    return (filled or [name for name, _ in present] or [names[0]])[0]


def text_at(root: yaml.Node | None, name: str, *, verbatim: bool = False) -> str | None:
    """Return the string under a key. A block's final line breaks count only if `verbatim`."""
    both = pair(root, name)
    if both is None or is_null(both[1]):
        return None
    if not is_scalar(both[1]):
        raise BadYaml(line_of(both[1]), f"{name!r} must be a string")
    return both[1].value if verbatim else _scalar_text(both[1])


def _scalar_text(node: yaml.ScalarNode) -> str:
    # a block ends with a line break that its author did not mean
    value: str = node.value
    return value.rstrip("\n") if node.style in ("|", ">") else value


def _line(root: yaml.Node, *names: str) -> int:
    keys = (both[0] for name in names if (both := pair(root, name)))
    return line_of(next(keys, root))
