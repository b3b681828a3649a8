"""Adding to a JSON text, and taking out again, without changing a byte of the rest.

What was added can be taken out later with nothing but the text at hand, and the text is then
the one of before, because each kind of place is filled in a way of its own:

- A container with something in it gets a comma and the item right after its last child. Taking
  an item out takes all from the end of the one before it.
- An empty container gets the item right before its closing bracket: `{ }` becomes `{ "a": 1}`.
  Taking out the only item before such a bracket leaves what stands around it.
- A container that is made for the item has white space before its closing bracket: a line
  break, or in a document of one line a space, `{ "a": 1 }`. When its last item is taken out, it
  goes as well.

In a text that was laid out anew since, an empty container may so be left, or taken; nothing
else of it changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Path = tuple[int, ...]

MOST = 250_000  # values in a text: beyond that it is no file for people, and takes much memory

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
_WIDEST = 80  # an indentation beyond it is not taken up
_UNIT = "  "
_STRINGS = json.JSONDecoder()


class BadJson(Exception):
    """A text that is not JSON, or not of the shape that an edit needs."""

    def __init__(self, text: str, at: int, reason: str) -> None:
        mark = "\n" if "\n" in text else "\r"
        self.line = text.count(mark, 0, at) + 1
        self.reason = reason
        super().__init__(f"line {self.line}: {reason}")


class Node(NamedTuple):
    """A value and where it stands. In an object, `start` is where its key begins."""

    kind: str
    start: int
    value: int
    end: int
    key: str | None = None
    children: tuple[Node, ...] = ()


class _Open(NamedTuple):
    """A container whose end is not yet reached."""

    mark: str
    start: int
    value: int
    key: str | None
    children: list[Node]


def parse(text: str) -> Node:
    """The one value of the text, as strictly as the standard has it, however deep it goes."""
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
            node = _closed(above.pop(), at)
        else:
            node = _scalar(text, at, start, key)
        while True:
            at = _skip(text, node.end)
            if not above:
                if at < len(text):
                    raise BadJson(text, at, _found(text, at, "the end"))
                return node
            above[-1].children.append(node)
            close = _CLOSE[above[-1].mark]
            if text[at : at + 1] == ",":
                key, start, at = _next(text, _skip(text, at + 1), above[-1].mark)
                break
            if text[at : at + 1] != close:
                raise BadJson(text, at, _found(text, at, f"',' or '{close}'"))
            node = _closed(above.pop(), at)


def decoded(text: str, node: Node) -> Any:
    """What a string, a number or a word says; None for a container, or a number past all use."""
    if node.children or node.kind in ("object", "array"):
        return None
    try:
        return json.loads(text[node.value : node.end])
    except ValueError:
        return None


def member(text: str, node: Node, key: str) -> int | None:
    """Which child of the object has the key. Two that do are refused: readers differ on them."""
    found = None
    for index, child in enumerate(node.children):
        if child.key == key:
            if found is not None:
                raise BadJson(text, child.start, f"a second {_literal(key)}")
            found = index
    return found


def check(text: str, node: Node, kind: str, names: Sequence[str | int]) -> None:
    """Refuse what is at the place if it is no object, or no array."""
    if node.kind != kind:
        what = ".".join(map(str, names)) or "the whole"
        article = {"object": "an ", "array": "an ", "string": "a ", "number": "a "}
        found = article.get(node.kind, "") + node.kind
        raise BadJson(text, node.value, f"{what} must be an {kind}, and is {found}")


def at_path(root: Node, path: Path) -> Node:
    for index in path:
        root = root.children[index]
    return root


def locate(text: str, root: Node, names: Sequence[str | int]) -> Path | None:
    """The place that keys and indexes, from the root on, lead to; a negative index counts back."""
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
    """A whole text, for a file that is not there."""
    return _written(value, "\n", _UNIT) + "\n"


def insert(text: str, above: Sequence[str | int], key: str, value: Any) -> str:
    """The text with a member more in the object that keys and indexes lead to, made if need be."""
    root = parse(text)
    into, rest = _descend(text, root, above, "object")
    if not rest and member(text, into, key) is not None:
        raise BadJson(text, into.value, f"{_literal(key)} is there already")
    return _added(text, root, into, *_nested([*rest, key], value))


def append(text: str, names: Sequence[str | int], value: Any) -> str:
    """The text with the value at the end of the array that they lead to, made if need be."""
    root = parse(text)
    into, rest = _descend(text, root, names, "array")
    return _added(text, root, into, *(_nested(rest, [value]) if rest else (None, value)))


def replace(text: str, node: Node, value: Any) -> str:
    """The text with another text, number or word in place of one."""
    return text[: node.value] + _literal(value) + text[node.end :]


def remove(text: str, paths: Iterable[Path], *, depth: int | None = None) -> str:
    """The text without what is at the paths, and without the containers that were made for it.

    No container deeper than `depth` goes with its last item, and never the root.
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
            made = container.children[-1].end < container.end - 1
            if empty and made and 0 < level <= (level if depth is None else depth):
                gone.setdefault(level - 1, {}).setdefault(path[:-1], set()).add(path[-1])
            elif empty and made:
                cuts.append((container.value + 1, container.end - 1))
            else:
                cuts += _cuts(container.children, indexes)
    kept, at = [], 0
    for start, end in sorted(cuts):
        kept.append(text[at : max(at, start)])
        at = max(at, end)
    return "".join(kept) + text[at:]


def _cuts(children: Sequence[Node], indexes: Collection[int]) -> Iterator[tuple[int, int]]:
    """What to cut for some of the children, each with the comma that came with it."""
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
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _next(text: str, at: int, mark: str) -> tuple[str | None, int, int]:
    """The key of what comes next in a container, where that begins, and where its value does."""
    if mark == "[":
        return None, at, at
    if text[at : at + 1] != '"':
        raise BadJson(text, at, _found(text, at, "a key in double quotes"))
    key, end = _string(text, at)
    colon = _skip(text, end)
    if text[colon : colon + 1] != ":":
        raise BadJson(text, colon, _found(text, colon, "':'"))
    return key, at, _skip(text, colon + 1)


def _scalar(text: str, at: int, start: int, key: str | None) -> Node:
    if text[at : at + 1] == '"':
        return Node("string", start, at, _string(text, at)[1], key)
    found = _SCALAR.match(text, at)
    if not found:
        raise BadJson(text, at, _found(text, at, "a value"))
    return Node(found.lastgroup or found.group(), start, at, found.end(), key)


def _string(text: str, at: int) -> tuple[str, int]:
    try:
        value, end = _STRINGS.raw_decode(text, at)
    except json.JSONDecodeError as error:
        reason = error.msg.partition(" starting at")[0].partition(":")[0].removesuffix(" at")
        raise BadJson(text, error.pos, reason[:1].lower() + reason[1:]) from None
    return str(value), end


def _closed(container: _Open, at: int) -> Node:
    mark, start, value, key, children = container
    return Node(_KINDS[mark], start, value, at + 1, key, tuple(children))


def _found(text: str, at: int, wanted: str) -> str:
    odd = _ODD.match(text, at)
    kind = odd.lastgroup if odd else None
    if kind == "comment":
        return "a comment, which JSON does not have"
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
    """The innermost of the containers that is there, and the keys of those that are not."""
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


def _nested(keys: Sequence[str], value: Any) -> tuple[str, Any]:
    """The first of the keys, and the value inside of objects for the others."""
    for key in reversed(keys[1:]):
        value = {key: value}
    return keys[0], value


def _added(text: str, root: Node, into: Node, key: str | None, value: Any) -> str:
    found = _BREAK.search(text)
    newline = found.group() if found else "\n"
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
        # A document with nothing in it has no style, and several lines are easier to read.
        block = bool(_BREAK.search(text, root.value, root.end)) or not root.children
        indent = _indent(text, at)
    item = _written(value, newline + indent if block else None, _unit(text, root))
    name = "" if key is None else f"{_literal(key)}: "
    return text[:at] + lead + name + item + text[at:]


def _written(value: Any, margin: str | None, unit: str) -> str:
    """The value on lines of its own below a margin, or on one line without one."""
    if not (isinstance(value, (dict, list)) and value):
        return _literal(value)
    inner = None if margin is None else margin + unit
    if isinstance(value, dict):
        items = [f"{_literal(key)}: {_written(one, inner, unit)}" for key, one in value.items()]
    else:
        items = [_written(one, inner, unit) for one in value]
    before, after = (" ", " ") if margin is None or inner is None else (inner, margin)
    body = ("," + before).join(items)
    return f"{{{before}{body}{after}}}" if isinstance(value, dict) else f"[{before}{body}{after}]"


def _literal(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Half of a pair of surrogates can be in a file as an escape only.
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half.group()):04x}", text)


def _indent(text: str, at: int) -> str:
    """How the line of a place is indented."""
    begin = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    found = _INDENT.match(text, begin, at)
    return _narrow(found.group() if found else "")


def _narrow(indent: str) -> str:
    return indent if len(indent) <= _WIDEST else ""


def _unit(text: str, root: Node) -> str:
    """By how much the first container of several lines indents what is in it."""
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
