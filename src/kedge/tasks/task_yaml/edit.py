"""Edit YAML text in place: change one value and no other byte.

An edit is a best effort: the caller parses the result and compares it with the intended task,
which also finds values with anchors and aliases. Comments inside a value are refused here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from kedge.tasks.task_yaml.nodes import (
    children,
    compose,
    content_end,
    is_mapping,
    is_null,
    is_scalar,
    is_sequence,
    pair,
)

if TYPE_CHECKING:
    import yaml


Edit = tuple[int, int, str]

_WORD = re.compile(r"(?i:y|n|yes|no|on|off|true|false|null)\Z")
_PLAIN = re.compile(r"[^\W\d_](?:[\w ./()+,'@=-]*[\w./()+'@=-])?\Z")
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_LITERAL = re.compile(r"[^ \t\n].*(?<!\n)\n?\Z", re.DOTALL)
_DASH = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?P<line>[ \t]*-)[ \t]*\Z")
_DOCUMENT_END = re.compile(r"^\.\.\.(?=\s|\Z)", re.MULTILINE)


class ExactText(str):
    """A string whose final line break is significant, also in a literal block."""

    __slots__ = ()


class YamlEditError(Exception):
    """The value cannot be changed without touching something else."""


def document(values: Mapping[str, Any]) -> str:
    """Return a new YAML document."""
    return "".join(_pair(name, value, 0) for name, value in values.items())


def set_value(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with the value at the path replaced, or added with its missing parents."""
    mapping = compose(text)
    for depth, name in enumerate(path):
        rest = path[depth + 1 :]
        if not is_mapping(mapping):
            raise YamlEditError("it is not in a mapping")
        entry = pair(mapping, name)
        if entry is None:
            return _add(text, mapping, name, _nest(rest, value), top=depth == 0)
        key, node = entry
        if not rest or is_null(node):
            return _replace(text, key, node, _nest(rest, value), flow=bool(mapping.flow_style))
        mapping = node
    raise YamlEditError("it has no name")


def set_list(text: str, path: Sequence[str], old: Sequence[str | None], new: Sequence[str]) -> str:
    """Return the text with the list at the path changed; items that stay keep their bytes.

    `old` has the string that each item stands for, or None for an item that must stay.
    """
    node, key = compose(text), None
    for name in path:
        key, node = pair(node, name) or (None, None)
    if key is None or not is_sequence(node) or not node.value:
        return set_value(text, path, list(new))
    if node.flow_style:
        _check_nothing_hidden(text, node)
        return _splice(text, [(*_span(text, node), _flow_items(text, node, old, new))])
    edits = list(_item_edits(text, node, old, new))
    if not new and None not in old:
        colon = text.index(":", key.end_mark.index) + 1
        edits.append((colon, colon, " []"))
    return _splice(text, edits)


def inline(value: Any, *, flow: bool = False) -> str:
    """Return a value as YAML on one line. `flow` is for values inside brackets."""
    if isinstance(value, str):
        plain = _PLAIN.match(value) and not _WORD.match(value) and not (flow and "," in value)
        return value if plain else quote(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(inline(item, flow=True) for item in value) + "]"
    if isinstance(value, Mapping):
        both = (f"{inline(k, flow=True)}: {inline(v, flow=True)}" for k, v in value.items())
        return "{" + ", ".join(both) + "}"
    return re.sub(r"\A(-?\d+)e", r"\1.0e", json.dumps(value))  # YAML 1.1 reads 1e5 as a string


def quote(text: str) -> str:
    """Quote as JSON does, and escape characters that break lines or are illegal in YAML."""
    return _ODD.sub(lambda m: f"\\u{ord(m.group()):04x}", json.dumps(text, ensure_ascii=False))


def _block(value: Any, indent: int) -> str:
    """Return a value as it follows its name or dash: a literal block for text of several lines."""
    if not isinstance(value, str) or "\n" not in value:
        return inline(value)
    body = value.removesuffix("\n")
    exact = body == value or isinstance(value, ExactText)
    if body.rstrip(" \t") != body or body.endswith("\n"):
        exact = False  # trailing white space: a reader cannot see where such a block ends
    if not exact or not _LITERAL.match(value) or _ODD.search(value):
        return quote(value)
    lines = (" " * indent + line if line else "" for line in body.split("\n"))
    return ("|-\n" if body == value else "|\n") + "\n".join(lines)


def _pair(name: str, value: Any, column: int) -> str:
    head = " " * column + inline(name) + ":"
    if isinstance(value, Mapping) and value:
        return head + "\n" + "".join(_pair(k, v, column + 2) for k, v in value.items())
    if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
        return head + "\n" + _items(value, column + 2)
    return f"{head} {_block(value, column + 2)}\n"


def _items(values: Iterable[str], column: int) -> str:
    return "".join(f"{' ' * column}- {_block(value, column + 2)}\n" for value in values)


def _nest(path: Sequence[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _replace(text: str, key: yaml.Node, node: yaml.Node, value: Any, *, flow: bool) -> str:
    _check_nothing_hidden(text, node)
    start, end = _span(text, node)
    new = inline(value, flow=True) if flow else _block(value, key.start_mark.column + 2)
    comment = ""
    if is_scalar(node) and isinstance(value, str) and "\n" not in new:
        if node.style == '"':
            new = quote(value)
        elif node.style == "'" and _PLAIN.match(value) and "'" not in value:
            new = f"'{value}'"
    if is_scalar(node) and node.style in ("|", ">"):
        match = re.search(r"[ \t]+#[^\r\n]*", text[start:end].partition("\n")[0])
        comment = match.group() if match else ""
    colon = text.index(":", key.end_mark.index) + 1
    gap = text[colon:start]
    head, newline, tail = new.partition("\n")
    head += comment
    if newline:
        # a block's lines go below the rest of the line that has the name
        line_end = len(text[: _line_end(text, end)].rstrip("\r\n"))
        tail = text[end:line_end] + newline + tail + ("" if line_end < len(text) else "\n")
        end = line_end
    if gap and "\n" not in gap:
        return _splice(text, [(start, end, head + tail)])
    return _splice(text, [(colon, end, f" {head}{gap.rstrip()}{tail}")])


def _add(text: str, mapping: yaml.MappingNode, name: str, value: Any, *, top: bool) -> str:
    if mapping.flow_style:
        new = f"{inline(name, flow=True)}: {inline(value, flow=True)}"
        place = mapping.start_mark.index + 1
        if mapping.value:
            place, new = content_end(text, mapping.value[-1][1]), ", " + new
        return _splice(text, [(place, place, new)])
    new = _pair(name, value, mapping.value[0][0].start_mark.column)
    if not top:
        place = _line_end(text, content_end(text, mapping))
    elif marker := _DOCUMENT_END.search(text):
        place = marker.start()
    else:
        place = len(text)
        key, last = mapping.value[-1]
        if not text.endswith("\n") and is_scalar(last) and last.style in ("|", ">"):
            # a line break at the end would become part of that value
            place = _line_start(text, key.start_mark.index)
    if place and text[place - 1] != "\n":
        new = "\n" + new
    return _splice(text, [(place, place, new)])


def _flow_items(
    text: str, node: yaml.SequenceNode, old: Sequence[str | None], new: Sequence[str]
) -> str:
    sources: dict[str, list[str]] = {}
    for words, item in zip(old, node.value, strict=True):
        start, end = _span(text, item)
        sources.setdefault(words or "", []).append(text[start:end])
    items = [
        sources[words].pop(0) if sources.get(words) else inline(words, flow=True) for words in new
    ]
    return "[" + ", ".join(items + sources.get("", [])) + "]"


def _item_edits(
    text: str, node: yaml.SequenceNode, old: Sequence[str | None], new: Sequence[str]
) -> Iterator[Edit]:
    lines: list[tuple[int, int]] = []
    low = _line_start(text, node.start_mark.index)
    for item in node.value:
        start, end = _span(text, item)
        dash = _DASH.match(text[low:start])
        if not dash:
            raise YamlEditError("its items are not on lines of their own")
        lines.append((low + dash.start("line"), low := _line_end(text, end)))
    matcher = SequenceMatcher(None, list(old), list(new), autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        yield from ((*lines[i], "") for i in range(i1, i2) if old[i] is not None)
        if j1 < j2:
            place = lines[i1 - 1][1] if i1 else lines[0][0]
            added = _items(new[j1:j2], node.start_mark.column)
            if place and text[place - 1] != "\n":
                added = "\n" + added.removesuffix("\n")
            yield place, place, added


def _check_nothing_hidden(text: str, node: yaml.Node) -> None:
    """Refuse to replace a collection that holds a comment, an anchor, an alias or a tag."""
    start, end = _span(text, node)
    rest, low = "", start
    for left, right in sorted(_leaves(text, node)):
        rest += text[low:left]
        low = max(low, right)
    if set(rest + text[low:end]) & set("#&*!") and not is_scalar(node):
        raise YamlEditError("it contains a comment, an anchor or an alias")


def _leaves(text: str, node: yaml.Node) -> Iterator[tuple[int, int]]:
    if is_scalar(node):
        yield _span(text, node)
    for part in children(node):
        if part.start_mark.index >= node.start_mark.index:
            yield from _leaves(text, part)


def _span(text: str, node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.index, content_end(text, node)


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, index: int) -> int:
    return text.find("\n", index) + 1 or len(text)


def _splice(text: str, edits: Iterable[Edit]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + re.sub(r"\r?\n", newline, new) + text[end:]
    return text
