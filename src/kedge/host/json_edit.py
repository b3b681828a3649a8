"""Add items to a JSON text and remove them again, without changing any other byte.

Removing an item needs only the text, and restores the original text, because each kind of place is
filled in its own way:

- A container with children gets a comma and the item right after its last child. Removing an item
  removes everything from the end of the item before it.
- An empty container gets the item right before its closing bracket: `{ }` becomes `{ "a": 1}`.
  Removing the only item before such a bracket leaves the white space around it.
- A container that is created for the item has white space before its closing bracket: a line break,
  or a space in a document of one line, `{ "a": 1 }`. Removing its last item removes the container.

If the text was reformatted meanwhile, an empty container may be left over, or removed; nothing else
changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Path = tuple[int, ...]
ROOT: Path = ()

LARGEST = 4 << 20  # characters; a larger file is not a settings file, and needs much memory

_BOM = "\ufeff"
_CLOSE = {"{": "}", "[": "]"}
_KINDS = {"{": "object", "[": "array"}
_SPACE = re.compile(r"[ \t\n\r]*+")
_BREAK = re.compile(r"\r\n|\n|\r")
_UNIT = "  "


class BadJson(Exception):
    """A text that is not JSON, or does not have the structure that an edit needs."""

    def __init__(self, text: str, at: int, reason: str) -> None:
        mark = "\n" if "\n" in text else "\r"
        self.line = text.count(mark, 0, at) + 1
        self.reason = reason
        super().__init__(f"line {self.line}: {reason}")


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value and its position. In an object, `start` is where its key begins.

    `kind` is object, array or scalar.
    """

    kind: str
    start: int
    value: int
    end: int
    key: str | None = None
    children: tuple[JsonNode, ...] = ()


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def parse(text: str) -> JsonNode:
    """Return the root value of the text. Raises BadJson if the text is not standard JSON."""
    if len(text) > LARGEST:
        raise BadJson(text, 0, f"more than {LARGEST >> 20} MiB")
    start = _skip(text, len(_BOM) if text.startswith(_BOM) else 0)
    try:
        _DECODER.decode(text[start:])
        return _read(text, start, start)
    except json.JSONDecodeError as error:
        raise BadJson(text, start + error.pos, f"not JSON ({error.msg})") from None
    except ValueError as error:
        raise BadJson(text, 0, str(error)) from None
    except RecursionError:
        raise BadJson(text, 0, "nested too deeply") from None


def _read(text: str, start: int, at: int, key: str | None = None) -> JsonNode:
    """Return the value at `at`, in a text that is known to be JSON."""
    mark = text[at]
    if mark not in _CLOSE:
        return JsonNode("scalar", start, at, _DECODER.raw_decode(text, at)[1], key)
    children = []
    place = _skip(text, at + 1)
    while text[place] != _CLOSE[mark]:
        name, value = None, place
        if mark == "{":
            name, end = _DECODER.raw_decode(text, place)
            value = _skip(text, _skip(text, end) + 1)
        child = _read(text, place, value, name)
        children.append(child)
        place = _skip(text, child.end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return JsonNode(_KINDS[mark], start, at, place + 1, key, tuple(children))


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def decode(text: str, node: JsonNode) -> Any:
    """Return the value of a scalar; None for a container."""
    return json.loads(text[node.value : node.end]) if node.kind == "scalar" else None


def member(text: str, node: JsonNode, key: str) -> int | None:
    """Return the index of the child with the key. Refuses duplicates: readers differ on them."""
    position = None
    for index, child in enumerate(node.children):
        if child.key == key:
            if position is not None:
                raise BadJson(text, child.start, f"a second {_dump(key)}")
            position = index
    return position


def check(text: str, node: JsonNode, kind: str, names: Sequence[str | int]) -> None:
    """Raise BadJson unless the value is of this kind ("object" or "array")."""
    if node.kind != kind:
        what = ".".join(map(str, names)) or "the document"
        raise BadJson(text, node.value, f"{what} must be an {kind}")


def at_path(root: JsonNode, path: Path) -> JsonNode:
    for index in path:
        root = root.children[index]
    return root


def document(value: Any) -> str:
    """Return the text of a new file."""
    return _dump(value, _UNIT) + "\n"


def insert(text: str, above: Sequence[str | int], key: str, value: Any) -> str:
    """Return the text with a member added to the object at the path, created if missing."""
    root = parse(text)
    into, rest = _descend(text, root, above, "object")
    if not rest and member(text, into, key) is not None:
        raise BadJson(text, into.value, f"{_dump(key)} exists already")
    return _add(text, root, into, *_nest([*rest, key], value))


def append(text: str, names: Sequence[str | int], value: Any) -> str:
    """Return the text with the value appended to the array at the path, created if missing."""
    root = parse(text)
    into, rest = _descend(text, root, names, "array")
    return _add(text, root, into, *(_nest(rest, [value]) if rest else (None, value)))


def replace(text: str, node: JsonNode, value: Any) -> str:
    """Return the text with another value in place of one."""
    return text[: node.value] + _dump(value) + text[node.end :]


def remove(text: str, paths: Iterable[Path], *, depth: int | None = None) -> str:
    """Return the text without the values at the paths and the containers created for them.

    Containers deeper than `depth` stay, even empty, and so does the root.
    """
    root = parse(text)
    gone: dict[int, dict[Path, set[int]]] = {}
    for path in paths:
        gone.setdefault(len(path) - 1, {}).setdefault(path[:-1], set()).add(path[-1])
    cuts: list[tuple[int, int]] = []
    for level in range(max(gone, default=-1), -1, -1):
        for path, indexes in gone.get(level, {}).items():
            container = at_path(root, path)
            empty = len(indexes) == len(container.children)
            created = container.children[-1].end < container.end - 1
            if empty and created and 0 < level <= (level if depth is None else depth):
                gone.setdefault(level - 1, {}).setdefault(path[:-1], set()).add(path[-1])
            elif empty and created:
                cuts.append((container.value + 1, container.end - 1))
            else:
                cuts += _cuts(container.children, indexes)
    kept, at = [], 0
    for start, end in sorted(cuts):
        kept.append(text[at : max(at, start)])
        at = max(at, end)
    return "".join(kept) + text[at:]


def _cuts(children: Sequence[JsonNode], indexes: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the spans to cut for some of the children, each with its comma."""
    first = next((i for i in range(len(children)) if i not in indexes), None)
    if first is None:
        yield children[0].start, children[-1].end
        return
    if first > 0:
        yield children[0].start, children[first].start
    for index in indexes:
        if index > first:
            yield children[index - 1].end, children[index].end


def _descend(
    text: str, root: JsonNode, names: Sequence[str | int], kind: str
) -> tuple[JsonNode, list[str]]:
    """Return the innermost container that exists, and the keys of the missing ones."""
    node = root
    for depth, name in enumerate(names):
        if isinstance(name, int):
            node = node.children[name]
            continue
        check(text, node, "object", names[:depth])
        index = member(text, node, name)
        if index is None:
            return node, [str(missing) for missing in names[depth:]]
        node = node.children[index]
    check(text, node, kind, names)
    return node, []


def _nest(keys: Sequence[str], value: Any) -> tuple[str, Any]:
    """Return the first key, and the value wrapped in objects for the others."""
    for key in reversed(keys[1:]):
        value = {key: value}
    return keys[0], value


def _add(text: str, root: JsonNode, into: JsonNode, key: str | None, value: Any) -> str:
    match = _BREAK.search(text)
    newline = match.group() if match else "\n"
    if into.children:
        last = into.children[-1]
        before = into.children[-2].end if len(into.children) > 1 else into.value + 1
        gap = text[before : last.start].rpartition(",")[2]
        at, broken = last.end, _BREAK.search(gap)
        block = bool(broken or _BREAK.search(text, last.start, last.end))
        indent = _BREAK.split(gap)[-1] if broken else _indent(text, at)
        tight = len(into.children) > 1 and not gap
        lead = "," + (newline + indent if broken else "" if tight else " ")
    else:
        at, lead = into.end - 1, ""
        # An empty document has no style to follow, and several lines are easier to read.
        block = bool(_BREAK.search(text, root.value, root.end)) or not root.children
        indent = _indent(text, at)
    # On one line, a space stands where a line break would be: `{ "a": 1 }`.
    margin, unit = (newline + indent, _unit(text)) if block else (" ", "")
    item = _dump(value, unit).replace("\n", margin)
    name = "" if key is None else f"{_dump(key)}: "
    return text[:at] + lead + name + item + text[at:]


def _dump(value: Any, indent: str | None = None) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    # An unpaired surrogate can be in a file only as an escape.
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half.group()):04x}", text)


def _indent(text: str, at: int) -> str:
    """Return the indentation of the line at `at`."""
    line = _BREAK.split(text[:at])[-1]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return one level of indentation: that of the first indented line."""
    indented = re.search(r"[\r\n]([ \t]+)[^\s]", text)
    return indented[1] if indented else _UNIT
