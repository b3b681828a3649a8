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

MOST = 250_000  # values in a text; a larger file is not a settings file, and needs much memory

_BOM = "\ufeff"
_CLOSE = {"{": "}", "[": "]"}
_KINDS = {"{": "object", "[": "array", '"': "string"}
_SPACE = re.compile(r"[ \t\n\r]*+")
_SCALAR = re.compile(
    r"(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)|true|false|null"
)
_ODD = re.compile(
    r"(?P<comment>//|/\*|\#)|(?P<word>-?[A-Za-z_]{1,20})|(?P<end>[\]},])|(?P<quote>')"
)
_BREAK = re.compile(r"\r\n|\n|\r")
_INDENT = re.compile(r"[ \t]*+")
_WIDEST = 80  # a wider indentation is not imitated
_UNIT = "  "
_STRINGS = json.JSONDecoder()


class BadJson(Exception):
    """A text that is not JSON, or does not have the structure that an edit needs."""

    def __init__(self, text: str, at: int, reason: str) -> None:
        mark = "\n" if "\n" in text else "\r"
        self.line = text.count(mark, 0, at) + 1
        self.reason = reason
        super().__init__(f"line {self.line}: {reason}")


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its position. In an object, `start` is where its key begins."""

    kind: str
    start: int
    value: int
    end: int
    key: str | None = None
    children: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class _Open:
    """A container whose end has not been reached."""

    mark: str
    start: int
    value: int
    key: str | None
    children: list[Node]


def parse(text: str) -> Node:
    """Return the root value of the text. Follows the standard strictly, at any depth."""
    at = _skip(text, len(_BOM) if text.startswith(_BOM) else 0)
    key, start = None, at
    above: list[_Open] = []
    count = 0
    while True:
        count += 1
        if count > MOST:
            raise BadJson(text, at, f"more than {MOST:,} values")
        mark = text[at : at + 1]
        if mark in _CLOSE:
            above.append(_Open(mark, start, at, key, []))
            at = _skip(text, at + 1)
            if text[at : at + 1] != _CLOSE[mark]:
                key, start, at = _next(text, at, mark)
                continue
            node = _close(above.pop(), at)
        else:
            node = _scalar(text, at, start, key)
        while True:
            at = _skip(text, node.end)
            if not above:
                if at < len(text):
                    raise BadJson(text, at, _describe(text, at, "the end"))
                return node
            above[-1].children.append(node)
            close = _CLOSE[above[-1].mark]
            if text[at : at + 1] == ",":
                key, start, at = _next(text, _skip(text, at + 1), above[-1].mark)
                break
            if text[at : at + 1] != close:
                raise BadJson(text, at, _describe(text, at, f"',' or '{close}'"))
            node = _close(above.pop(), at)


def decode(text: str, node: Node) -> Any:
    """Return the value of a scalar; None for a container, or a number too long to convert."""
    if node.children or node.kind in ("object", "array"):
        return None
    try:
        return json.loads(text[node.value : node.end])
    except ValueError:
        return None


def member(text: str, node: Node, key: str) -> int | None:
    """Return the index of the child with the key. Refuses duplicates: readers differ on them."""
    position = None
    for index, child in enumerate(node.children):
        if child.key == key:
            if position is not None:
                raise BadJson(text, child.start, f"a second {_literal(key)}")
            position = index
    return position


def check(text: str, node: Node, kind: str, names: Sequence[str | int]) -> None:
    """Raise BadJson unless the value is of this kind ("object" or "array")."""
    if node.kind != kind:
        what = ".".join(map(str, names)) or "the document"
        article = {"object": "an ", "array": "an ", "string": "a ", "number": "a "}
        actual = article.get(node.kind, "") + node.kind
        raise BadJson(text, node.value, f"{what} must be an {kind}, not {actual}")


def at_path(root: Node, path: Path) -> Node:
    for index in path:
        root = root.children[index]
    return root


def locate(text: str, root: Node, names: Sequence[str | int]) -> Path | None:
    """Return the path that keys and indexes lead to, or None. Negative indexes count back."""
    path: list[int] = []
    for name in names:
        if isinstance(name, int):
            index: int | None = range(len(root.children))[name]
        else:
            index = member(text, root, name)
        if index is None:
            return None
        path.append(index)
        root = root.children[index]
    return tuple(path)


def document(value: Any) -> str:
    """Return the text of a new file."""
    return _write(value, "\n", _UNIT) + "\n"


def insert(text: str, above: Sequence[str | int], key: str, value: Any) -> str:
    """Return the text with a member added to the object at the path, created if missing."""
    root = parse(text)
    into, rest = _descend(text, root, above, "object")
    if not rest and member(text, into, key) is not None:
        raise BadJson(text, into.value, f"{_literal(key)} exists already")
    return _add(text, root, into, *_nest([*rest, key], value))


def append(text: str, names: Sequence[str | int], value: Any) -> str:
    """Return the text with the value appended to the array at the path, created if missing."""
    root = parse(text)
    into, rest = _descend(text, root, names, "array")
    return _add(text, root, into, *(_nest(rest, [value]) if rest else (None, value)))


def replace(text: str, node: Node, value: Any) -> str:
    """Return the text with another scalar in place of one."""
    return text[: node.value] + _literal(value) + text[node.end :]


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


def _cuts(children: Sequence[Node], indexes: Collection[int]) -> Iterator[tuple[int, int]]:
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


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _next(text: str, at: int, mark: str) -> tuple[str | None, int, int]:
    """Return the next member's key, where it begins, and where its value begins."""
    if mark == "[":
        return None, at, at
    if text[at : at + 1] != '"':
        raise BadJson(text, at, _describe(text, at, "a key in double quotes"))
    key, end = _string(text, at)
    colon = _skip(text, end)
    if text[colon : colon + 1] != ":":
        raise BadJson(text, colon, _describe(text, colon, "':'"))
    return key, at, _skip(text, colon + 1)


def _scalar(text: str, at: int, start: int, key: str | None) -> Node:
    if text[at : at + 1] == '"':
        return Node("string", start, at, _string(text, at)[1], key)
    match = _SCALAR.match(text, at)
    if not match:
        raise BadJson(text, at, _describe(text, at, "a value"))
    return Node(match.lastgroup or match.group(), start, at, match.end(), key)


def _string(text: str, at: int) -> tuple[str, int]:
    try:
        value, end = _STRINGS.raw_decode(text, at)
    except json.JSONDecodeError as error:
        reason = error.msg.partition(" starting at")[0].partition(":")[0].removesuffix(" at")
        raise BadJson(text, error.pos, reason[:1].lower() + reason[1:]) from None
    return str(value), end


def _close(container: _Open, at: int) -> Node:
    kind, children = _KINDS[container.mark], tuple(container.children)
    return Node(kind, container.start, container.value, at + 1, container.key, children)


def _describe(text: str, at: int, wanted: str) -> str:
    """Return what is wrong at a place where `wanted` should be."""
    odd = _ODD.match(text, at)
    kind = odd.lastgroup if odd else None
    if kind == "comment":
        return "a comment, which JSON does not allow"
    if at >= len(text):
        return f"the text ends where {wanted} should be"
    if odd and kind == "word":
        return f"{odd.group()} where {wanted} should be"
    if odd and kind == "end" and text[:at].rstrip(" \t\r\n").endswith(","):
        return "a comma with nothing after it"
    return f"{text[at]!r} where {wanted} should be"


def _descend(
    text: str, root: Node, names: Sequence[str | int], kind: str
) -> tuple[Node, list[str]]:
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


def _add(text: str, root: Node, into: Node, key: str | None, value: Any) -> str:
    match = _BREAK.search(text)
    newline = match.group() if match else "\n"
    if into.children:
        last = into.children[-1]
        before = into.children[-2].end if len(into.children) > 1 else into.value + 1
        gap = text[before : last.start].rpartition(",")[2]
        at, broken = last.end, _BREAK.search(gap)
        block = bool(broken or _BREAK.search(text, last.start, last.end))
        indent = _narrow(_BREAK.split(gap)[-1]) if broken else _indent(text, at)
        tight = len(into.children) > 1 and not gap
        lead = "," + (newline + indent if broken else "" if tight else " ")
    else:
        at, lead = into.end - 1, ""
        # An empty document has no style to follow, and several lines are easier to read.
        block = bool(_BREAK.search(text, root.value, root.end)) or not root.children
        indent = _indent(text, at)
    item = _write(value, newline + indent if block else None, _unit(text, root))
    name = "" if key is None else f"{_literal(key)}: "
    return text[:at] + lead + name + item + text[at:]


def _write(value: Any, margin: str | None, unit: str) -> str:
    """Return the value on several lines, each after `margin`, or on one line without a margin."""
    if not (isinstance(value, (dict, list)) and value):
        return _literal(value)
    inner = None if margin is None else margin + unit
    if isinstance(value, dict):
        items = [f"{_literal(key)}: {_write(one, inner, unit)}" for key, one in value.items()]
    else:
        items = [_write(one, inner, unit) for one in value]
    before, after = (" ", " ") if margin is None or inner is None else (inner, margin)
    body = ("," + before).join(items)
    return f"{{{before}{body}{after}}}" if isinstance(value, dict) else f"[{before}{body}{after}]"


def _literal(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # An unpaired surrogate can be in a file only as an escape.
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half.group()):04x}", text)


def _indent(text: str, at: int) -> str:
    """Return the indentation of the line at `at`."""
    begin = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    match = _INDENT.match(text, begin, at)
    return _narrow(match.group() if match else "")


def _narrow(indent: str) -> str:
    return indent if len(indent) <= _WIDEST else ""


def _unit(text: str, root: Node) -> str:
    """Return one level of indentation, as the first container of several lines uses it."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if not node.children:
            continue
        lines = _BREAK.split(text[node.value + 1 : node.children[0].start])
        if len(lines) > 1:
            own = _indent(text, node.value)
            indent = _narrow(lines[-1])
            return (indent[len(own) :] if indent.startswith(own) else "") or _UNIT
        waiting.extend(reversed(node.children))
    return _UNIT
