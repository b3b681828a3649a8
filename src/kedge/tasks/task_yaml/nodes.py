"""Parse YAML from untrusted files into PyYAML nodes, which carry the positions that edits need.

PyYAML's C parser has no limit on nesting and crashes the process when its stack is exhausted, so
the depth is checked first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    import yaml


MAX_DEPTH = 64
MAX_NODES = 100_000

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MERGE = "tag:yaml.org,2002:merge"
_SCALARS = ("bool", "int", "float", "null", "timestamp")


class BadYaml(Exception):
    """A text that cannot be used. `line` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem


def compose(text: str) -> yaml.Node | None:
    """Return the root node of the one document in the text, or None if it is empty."""
    import yaml

    bad = _UNPRINTABLE.search(text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        raise BadYaml(line, f"YAML does not allow the character U+{ord(bad.group()):04X}")
    loader_type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_depth(yaml.parse(text, Loader=loader_type))
        loader = loader_type(text)
        try:
            root: yaml.Node | None = loader.get_single_node()
        finally:
            loader.dispose()
        if root is not None:
            _count_nodes(root, {})
    except RecursionError:
        raise BadYaml(1, "nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise BadYaml(mark.line + 1 if mark else 1, " ".join(problem.split())) from error
    except yaml.YAMLError as error:
        raise BadYaml(1, " ".join(str(error).split())) from error
    return root


def line_of(node: yaml.Node) -> int:
    line: int = node.start_mark.line
    return line + 1


def is_mapping(node: yaml.Node | None) -> TypeGuard[yaml.MappingNode]:
    return getattr(node, "id", None) == "mapping"


def is_sequence(node: yaml.Node | None) -> TypeGuard[yaml.SequenceNode]:
    return getattr(node, "id", None) == "sequence"


def is_scalar(node: yaml.Node | None) -> TypeGuard[yaml.ScalarNode]:
    return getattr(node, "id", None) == "scalar"


def is_null(node: yaml.Node | None) -> bool:
    return node is not None and node.tag == "tag:yaml.org,2002:null"


def pairs(node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    """Yield each key's text, its node and its value's node."""
    for key, value in node.value:
        if not is_scalar(key) or key.tag == _MERGE:
            raise BadYaml(line_of(key), "a key must be a string, not a collection or a merge")
        yield key.value, key, value


def pair(node: yaml.Node | None, name: str) -> tuple[yaml.Node, yaml.Node] | None:
    if is_mapping(node):
        for key, value in node.value:
            if key.value == name and is_scalar(key):
                return key, value
    return None


def children(node: yaml.Node) -> list[yaml.Node]:
    if is_mapping(node):
        return [part for both in node.value for part in both]
    return list(node.value) if is_sequence(node) else []


def content_end(text: str, node: yaml.Node) -> int:
    """Return where the node's text ends; a block's own end mark is past the comments after it."""
    end: int = node.end_mark.index
    if is_scalar(node):
        return len(text[:end].rstrip(" \t\r\n")) if node.style in ("|", ">") else end
    if getattr(node, "flow_style", None) is True:
        return end
    start: int = node.start_mark.index
    # an alias is the node that it refers to, with the marks of that other place
    inside = [part for part in children(node) if start <= part.start_mark.index < end]
    return max((content_end(text, part) for part in inside), default=start)


def plain(node: yaml.Node) -> Any:
    """Return the node as JSON values: dates as ISO strings, keys as written."""
    from yaml.constructor import SafeConstructor

    if is_sequence(node):
        return [plain(item) for item in node.value]
    if is_mapping(node):
        if any(key.tag == _MERGE for key, _ in node.value):
            SafeConstructor().flatten_mapping(node)
        return {name: plain(value) for name, _, value in pairs(node)}
    kind = node.tag.rpartition(":")[2]
    if kind not in _SCALARS:
        return node.value
    try:
        value = SafeConstructor().construct_object(node)
    except ValueError:
        return node.value
    if kind == "timestamp":
        return value.isoformat()
    return node.value if isinstance(value, float) and not isfinite(value) else value


def _check_depth(events: Iterator[yaml.Event]) -> None:
    import yaml

    depth = 0
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                mark = event.start_mark
                raise BadYaml(mark.line + 1 if mark else 1, "nested too deeply")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _count_nodes(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Return how many nodes there are when each alias is expanded; refuse more than MAX_NODES."""
    if id(node) in sizes:
        if sizes[id(node)] == 0:
            raise BadYaml(line_of(node), "an alias refers to its own parent")
        return sizes[id(node)]
    sizes[id(node)] = 0
    size = 1 + sum(_count_nodes(part, sizes) for part in children(node))
    if size > MAX_NODES:
        raise BadYaml(line_of(node), f"its aliases expand to more than {MAX_NODES:,} values")
    sizes[id(node)] = size
    return size
