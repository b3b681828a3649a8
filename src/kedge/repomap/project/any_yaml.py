"""YAML in all its forms, by PyYAML: for what `blocks` leaves to it."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from kedge.repomap.project.formats import MAX_DEPTH, MAX_NODES, Broken, Table, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAY_NEST = 300


def parse_any_yaml(text: str) -> Any:
    try:
        loader_type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        if _may_be_deep(text):
            _check_depth(yaml.parse(text, Loader=loader_type))
        root = _first_node(loader_type, text)
        return None if root is None else _Builder().value(root)
    except RecursionError:
        raise Broken("nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Broken(f"no YAML in line {mark.line + 1}" if mark else "no YAML") from None
    except (yaml.YAMLError, ValueError):
        raise Broken("no YAML") from None


def _first_node(loader_type: Any, text: str) -> Any:
    loader = loader_type(text)
    try:
        return loader.get_node() if loader.check_node() else None
    finally:
        loader.dispose()


def _may_be_deep(text: str) -> bool:
    # a level of a flow needs a bracket, a level of a block a column of its own; the brackets of
    # `${{ … }}` stand in a scalar
    brackets = text.count("[") + text.count("{") - 2 * text.count("${{")
    if brackets > MAY_NEST:
        return True
    return any(len(line) - len(line.lstrip(" -?:\t")) > MAY_NEST for line in text.split("\n"))


def _check_depth(events: Iterator[yaml.Event]) -> None:
    depth = 0
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise Broken("nested too deeply")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Builder:
    """Turns nodes into values. An alias costs nothing; merging keys is counted."""

    def __init__(self) -> None:
        self.seen: dict[int, Any] = {}
        self.left = MAX_NODES

    def value(self, node: Any) -> Any:
        if id(node) in self.seen:
            return self.seen[id(node)]
        self._count(1)
        if node.id == "scalar":
            text = Text(node.value)
            text.line = node.start_mark.line + 1
            if node.style in ("|", ">"):
                text.line += 1
            self.seen[id(node)] = text
            return text
        if node.id == "sequence":
            items: list[Any] = []
            self.seen[id(node)] = items
            items.extend(self.value(item) for item in node.value)
            return items
        table: Table = {}
        self.seen[id(node)] = table
        for key, part in node.value:
            if key.id != "scalar":
                continue
            found = self.value(part)
            if key.value == "<<" and isinstance(found, dict):
                self._count(len(found))
                table.update({name: item for name, item in found.items() if name not in table})
            else:
                name = Text(key.value)
                name.line = key.start_mark.line + 1
                table.pop(name, None)
                table[name] = found
        return table

    def _count(self, more: int) -> None:
        self.left -= more
        if self.left < 0:
            raise Broken("too many values")
