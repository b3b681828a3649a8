"""Changing one value of a TOML file and not a byte of the rest."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOKEN = re.compile(
    r"""
    (?P<text> \"""(?:\\.|[^\\])*?\"{3,5} | \'''.*?'{3,5} | "(?:\\.|[^"\\])*" | '[^']*' )
    | (?P<comment> \#[^\n]* )
    | (?P<open> [\[{] )
    | (?P<close> [\]}] )
    | (?P<equals> = )
    | (?P<end> \n )
    | [ \t\r]+
    | [^"'\#\[\]{}=\s]+
    | .
    """,
    re.DOTALL | re.VERBOSE,
)


class CannotEdit(Exception):
    """No edit of one place gives the wanted result."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A `[table]`, or a `key = value` with the span of its value.

    `path` is the whole dotted name and `table` the part of it that a header gave.
    """

    path: tuple[str, ...]
    table: tuple[str, ...]
    start: int
    end: int
    value: tuple[int, int] | None


def with_value(text: str, section: str, name: str, value: Any) -> str:
    """The text with `section.name` set to the value, or removed for None.

    The result is parsed again and given only if just that one value has changed.
    """
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(bom)
    try:
        wanted = copy.deepcopy(tomllib.loads(body))
        group = wanted.setdefault(section, {})
        if not isinstance(group, dict):
            raise CannotEdit
        if value is None:
            group.pop(name, None)
        else:
            group[name] = value
        after = _edited(body, section, name, value)
        found = tomllib.loads(after)
        found.setdefault(section, {})
        if not _same(found, wanted):
            raise CannotEdit
    except (tomllib.TOMLDecodeError, RecursionError):
        raise CannotEdit from None
    return bom + after


def statements(text: str) -> Iterator[Statement]:
    """The statements of a text that is known to be TOML."""
    table: tuple[str, ...] = ()
    for start, end, equals, last in _lines(text):
        if text[start:last].lstrip().startswith("["):
            table = _path(tomllib.loads(text[start:last]))
            yield Statement(table, table, start, end, None)
        elif equals is not None:
            path = table + _path(tomllib.loads(text[start:equals] + "= {}"))
            first = last - len(text[equals + 1 : last].lstrip())
            yield Statement(path, table, start, end, (first, last))


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """The line where the value begins, or the inline table or array that it is in."""
    for one in statements(text):
        shared = min(len(one.path), len(path))
        if one.path[:shared] == path[:shared] and (one.value or shared == len(path)):
            return text.count("\n", 0, one.start) + 1
    return None


def _lines(text: str) -> Iterator[tuple[int, int, int | None, int]]:
    """Lines with something on them, a value of several lines as one.

    Each is its start, its end, where its first `=` is, and where its content ends.
    """
    start = last = depth = 0
    equals: int | None = None
    for token in _TOKEN.finditer(text + "\n"):
        kind = token.lastgroup
        depth += (kind == "open") - (kind == "close")
        if kind == "equals" and equals is None and depth == 0:
            equals = token.start()
        if kind == "end" and depth == 0:
            if last > start:
                yield start, min(token.end(), len(text)), equals, last
            start = last = token.end()
            equals = None
        elif kind not in ("comment", "end") and not token.group().isspace():
            last = token.end()


def _path(data: Any) -> tuple[str, ...]:
    """The one way down into the data."""
    keys = []
    while data:
        if isinstance(data, list):
            data = data[0]
        else:
            ((key, data),) = data.items()
            keys.append(key)
    return tuple(keys)


def _edited(text: str, section: str, name: str, value: Any) -> str:
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


def _same(one: Any, other: Any) -> bool:
    """Equal in type, too, and with nan equal to itself."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value)
