"""Change one value of a TOML text and no other byte."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_NAME = r"""(?:[\w-]+|"(?:\\.|[^"\\])*"|'[^']*')"""
_KEY = re.compile(rf"[ \t]*{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*[ \t]*=[ \t]*")


class TomlEditError(Exception):
    """The value cannot be changed by an edit in one place."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A `[table]` header, or a `key = value` with the span of its value.

    `path` is the whole dotted name, and `table` the part of it that comes from the header.
    """

    path: tuple[str, ...]
    table: tuple[str, ...]
    start: int
    end: int
    value: tuple[int, int] | None


def set_value(text: str, section: str, name: str, value: Any) -> str:
    """Return the text with `section.name` set to the value, or removed if it is None.

    Parses the result, and raises TomlEditError if anything but that one value has changed.
    """
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(bom)
    try:
        wanted = copy.deepcopy(tomllib.loads(body))
        group = wanted.setdefault(section, {})
        if not isinstance(group, dict):
            raise TomlEditError
        if value is None:
            group.pop(name, None)
        else:
            group[name] = value
        after = _edit(body, section, name, value)
        result = tomllib.loads(after)
        result.setdefault(section, {})
        if not _is_same(result, wanted):
            raise TomlEditError
    except (tomllib.TOMLDecodeError, RecursionError):
        raise TomlEditError from None
    return bom + after


def statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a text that is valid TOML. Lines are joined until they parse."""
    table: tuple[str, ...] = ()
    start = end = 0
    for line in text.split("\n"):
        end = min(end + len(line) + 1, len(text))
        data = _parse(text[start:end])
        if data is None:  # a value of several lines
            continue
        key = _KEY.match(text, start)
        if key and data:
            path = table + _path(tomllib.loads(key[0] + "{}"))
            size = _value_size(text[key.end() : end])
            yield Statement(path, table, start, end, (key.end(), key.end() + size))
        elif data:
            table = _path(data)
            yield Statement(table, table, start, end, None)
        start = end


def _parse(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _value_size(text: str) -> int:
    """Return the length of a value without the comment and the line break after it."""
    last_line = text.rstrip().rfind("\n") + 1
    for comment in re.finditer("#", text[last_line:]):
        before = text[: last_line + comment.start()]
        if _parse(f"value = {before}"):
            return len(before.rstrip())
    return len(text.rstrip())


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """Return the line of the value, or of the inline table or array that contains it."""
    for one in statements(text):
        shared = min(len(one.path), len(path))
        if one.path[:shared] == path[:shared] and (one.value or shared == len(path)):
            return text.count("\n", 0, one.start) + 1
    return None


def _path(data: Any) -> tuple[str, ...]:
    """Return the keys of data that has exactly one key on each level."""
    keys = []
    while data:
        if isinstance(data, list):
            data = data[0]
        else:
            ((key, data),) = data.items()
            keys.append(key)
    return tuple(keys)


def _edit(text: str, section: str, name: str, value: Any) -> str:
    known = list(statements(text))
    mine = next((one for one in known if one.value and one.path == (section, name)), None)
    if value is None:
        return text[: mine.start] + text[mine.end :] if mine else text
    if mine and mine.value:
        return text[: mine.value[0]] + _literal(value) + text[mine.value[1] :]
    newline = "\r\n" if "\r\n" in text else "\n"
    entry = f"{name} = {_literal(value)}"
    near = [one for one in known if one.path[0] == section and len(one.table) < 2]
    if near:
        before = text[: near[-1].end]
        line = text[near[-1].start :]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        entry = indent + (entry if near[-1].table else f"{section}.{entry}")
    else:
        before = text
        entry = f"{newline if text else ''}[{section}]{newline}{entry}"
    gap = "" if not before or before.endswith("\n") else newline
    return f"{before}{gap}{entry}{newline}{text[len(before) :]}"


def _is_same(one: Any, other: Any) -> bool:
    """True if the values and their types are equal; nan equals itself."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are valid TOML; TOML also requires DEL to be escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value)
