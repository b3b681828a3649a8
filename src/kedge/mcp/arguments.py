"""Check a tool's arguments against its input schema, so that the model can correct itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LONGEST = 100_000  # bytes of a string: a word of a command is at most 128 KiB on Linux
_MOST = 200  # strings of a list


def find_problem(schema: Mapping[str, Any], given: Any) -> str | None:
    """Return what is wrong with the arguments, in one line; None if nothing is."""
    if not isinstance(given, dict):
        return "arguments must be an object"
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    for name in schema.get("required", ()):
        if name not in given:
            return f"{name} is missing"
    for name, value in given.items():
        if name not in properties:
            return f"no argument {name[:50]!r}; there are: {', '.join(properties)}"
        problem = _check_value(properties[name], value)
        if problem:
            return f"{name} {problem}"
    return None


def _check_value(schema: Mapping[str, Any], value: Any) -> str | None:
    kind = schema["type"]
    if kind == "array":
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            return "must be a list of strings"
        if len(value) > _MOST:
            return f"must have at most {_MOST} strings"
        return next(filter(None, map(_check_text, value)), None)
    if kind == "boolean":
        return None if isinstance(value, bool) else "must be true or false"
    if kind == "integer":
        if isinstance(value, bool) or not isinstance(value, int):
            return "must be an integer"
        return None if value >= schema["minimum"] else f"must be at least {schema['minimum']}"
    return _check_text(value) if isinstance(value, str) else "must be a string"


def _check_text(text: str) -> str | None:
    if "\0" in text:
        return "must not contain a NUL character"
    if len(text.encode(errors="replace")) > _LONGEST:
        return f"must be at most {_LONGEST:,} bytes long"
    return None
