"""Read fields of an agent's JSON output, whatever is in them.

An agent may print any bytes at all. A line that is not an object reads as an empty one, and a
field of the wrong type reads as missing.
"""

from __future__ import annotations

import json
import math
from typing import Any

from kedge.host.text import shorten

_TELLING_FIELDS = (
    "command", "cmd", "file_path", "filePath", "path", "pattern", "url", "description",
)  # fmt: skip
_MOST_SUMMARY = 200  # characters
_MOST_READ = 2000  # characters of a value that a summary looks at
_MOST_NUMBER = 1 << 53


def parse_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object in a line; empty for any other line."""
    if data.lstrip()[:1] != b"{":
        return {}
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def get_object(value: Any, *names: str) -> dict[str, Any]:
    """Return the object below these names; empty if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def to_text(value: Any) -> str:
    """Return a string that can be encoded: JSON may hold half a surrogate pair."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode()


def to_count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < _MOST_NUMBER else 0


def to_number(value: Any) -> float | None:
    if type(value) not in (int, float) or not 0 <= value < _MOST_NUMBER or math.isnan(value):
        return None
    return float(value)


def summarize_arguments(arguments: Any) -> str:
    """Return what says most about a tool call: its command, its file, or its first string."""
    if not isinstance(arguments, dict):
        return shorten(to_text(arguments)[:_MOST_READ], _MOST_SUMMARY)
    values = [arguments.get(name) for name in _TELLING_FIELDS] + list(arguments.values())
    text = next((value for value in values if isinstance(value, str) and value), "")
    return shorten(to_text(text)[:_MOST_READ], _MOST_SUMMARY)
