"""Read fields of an agent's JSON output, whatever is in them.

An agent may print any bytes at all. A line that is not an object reads as an empty one, and a
field of the wrong type reads as missing.
"""

from __future__ import annotations

import json
import math
from typing import Any

from kedge.host.running import Line
from kedge.host.text import shorten

_TELLING_FIELDS = (
    "command", "cmd", "file_path", "filePath", "path", "pattern", "url", "description",
)  # fmt: skip
_MOST_SUMMARY = 200  # characters
_MOST_READ = 2000  # characters of a value that a summary looks at
_MOST_NUMBER = 1 << 53


class JsonObject:
    """A JSON object of unknown shape; empty if `value` is not an object."""

    def __init__(self, value: Any = None) -> None:
        self._fields: dict[str, Any] = value if isinstance(value, dict) else {}

    def __bool__(self) -> bool:
        return bool(self._fields)

    def get(self, name: str) -> Any:
        return self._fields.get(name)

    def text(self, name: str) -> str:
        return to_text(self.get(name))

    def count(self, name: str) -> int:
        value = self.get(name)
        return value if type(value) is int and 0 <= value < _MOST_NUMBER else 0

    def number(self, name: str) -> float | None:
        value = self.get(name)
        if type(value) not in (int, float) or not 0 <= value < _MOST_NUMBER or math.isnan(value):
            return None
        return float(value)

    def child(self, name: str) -> JsonObject:
        return JsonObject(self.get(name))

    def items(self, name: str) -> list[Any]:
        value = self.get(name)
        return value if isinstance(value, list) else []

    def texts(self, name: str) -> list[str]:
        """Return the strings in a list, without empty ones."""
        return list(filter(None, map(to_text, self.items(name))))

    def children(self, name: str) -> list[JsonObject]:
        """Return the objects in a list."""
        return [JsonObject(item) for item in self.items(name) if isinstance(item, dict)]

    def values(self) -> list[JsonObject]:
        return [JsonObject(value) for value in self._fields.values()]


def parse_line(line: Line) -> JsonObject:
    """Return the JSON object in a line of standard output; empty for any other line."""
    return JsonObject() if line.error else parse_object(line.data)


def parse_object(data: bytes) -> JsonObject:
    if data.lstrip()[:1] != b"{":
        return JsonObject()
    try:
        return JsonObject(json.loads(data))
    except (ValueError, RecursionError):
        return JsonObject()


def to_text(value: Any) -> str:
    """Return a string that can be encoded: JSON may hold half a surrogate pair."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode()


def summarize_arguments(arguments: Any) -> str:
    """Return what says most about a tool call: its command, its file, or its first string."""
    text = arguments
    if isinstance(arguments, dict):
        values = [arguments.get(name) for name in _TELLING_FIELDS] + list(arguments.values())
        text = next((value for value in values if isinstance(value, str) and value), "")
    return shorten(to_text(text)[:_MOST_READ], _MOST_SUMMARY)
