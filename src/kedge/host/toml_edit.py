"""Changing one value of a TOML file and not a byte of the rest."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

_MAX_LINES = 200


class CannotEdit(Exception):
    """No edit of one place gives the wanted result."""


def with_value(text: str, section: str, name: str, value: Any) -> str:
    """The text with `section.name` set to the value, or removed for None.

    Each candidate edit is parsed again and taken only if it changes just that one value.
    """
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(bom) if bom else text
    wanted = _wanted(tomllib.loads(body), section, name, value)
    newline = "\r\n" if "\r\n" in body else "\n"
    for candidate in _candidates(body, section, name, value, newline):
        try:
            if tomllib.loads(candidate) == wanted:
                return bom + candidate
        except tomllib.TOMLDecodeError:
            continue
    raise CannotEdit


def _wanted(data: dict[str, Any], section: str, name: str, value: Any) -> dict[str, Any]:
    after = copy.deepcopy(data)
    group = after.setdefault(section, {})
    if not isinstance(group, dict):
        raise CannotEdit
    if value is None:
        group.pop(name, None)
        if not group and section not in data:
            del after[section]
    else:
        group[name] = value
    return after


def _candidates(text: str, section: str, name: str, value: Any, newline: str) -> Iterator[str]:
    lines = text.splitlines(keepends=True)
    if value is None:
        yield text
    quoted = rf"[\"']?{re.escape(name)}[\"']?"
    entry = "" if value is None else f"{name} = {_literal(value)}"
    for index, line in enumerate(lines):
        found = re.match(rf"(\s*(?:{re.escape(section)}\s*\.\s*)?{quoted}\s*=)", line)
        if not found:
            continue
        for end in range(index + 1, min(index + _MAX_LINES, len(lines)) + 1):
            after = "" if value is None else f"{found.group(1)} {_literal(value)}"
            for comment in _comments(line) if end == index + 1 else [newline]:
                middle = [] if value is None else [after + comment]
                yield "".join([*lines[:index], *middle, *lines[end:]])
    for index, line in enumerate(lines):
        if re.match(rf"\s*\[\s*[\"']?{re.escape(section)}[\"']?\s*\]", line):
            start = line if line.endswith("\n") else line + newline
            yield "".join([*lines[:index], start, entry + newline, *lines[index + 1 :]])
    gap = "" if not text else (newline if text.endswith("\n") else newline * 2)
    yield f"{text}{gap}[{section}]{newline}{entry}{newline}"
    yield f"{section}.{entry}{newline}{text}"


def _comments(line: str) -> Iterator[str]:
    """What may follow the value on its line: its comment, if it has one, and the line's end."""
    for found in re.finditer(r"\s*#", line):
        try:
            tomllib.loads(line[: found.start()].strip())
        except tomllib.TOMLDecodeError:
            continue
        yield line[found.start() :]
    yield line[len(line.rstrip("\r\n")) :]


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
