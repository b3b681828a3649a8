"""Read an agent's JSON output. It may print any bytes at all."""

from __future__ import annotations

import json
from typing import Any

from kedge.agents.json_object import JsonObject, to_text
from kedge.host.running import Line
from kedge.host.text import shorten

_TELLING_FIELDS = (
    "command", "cmd", "file_path", "filePath", "path", "pattern", "url", "description",
)  # fmt: skip
_MOST_SUMMARY = 200  # characters
_MOST_READ = 2000  # characters of a value that a summary looks at


def parse_line(line: Line) -> JsonObject:
    """Return the JSON object in a line of standard output; empty for any other line."""
    return JsonObject() if line.error else parse_object(line.data)


def parse_object(data: bytes) -> JsonObject:
    if data.lstrip()[:1] != b"{":
        return JsonObject()
    try:
        value = json.loads(data)
        if b"\\u" in data:  # half a surrogate pair could not be encoded
            text = json.dumps(value, ensure_ascii=False)
            value = json.loads(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return JsonObject()
    return JsonObject(value)


def summarize_arguments(arguments: Any) -> str:
    """Return what says most about a tool call: its command, its file, or its first string."""
    text = arguments
    if isinstance(arguments, dict):
        values = [arguments.get(name) for name in _TELLING_FIELDS] + list(arguments.values())
        text = next((value for value in values if isinstance(value, str) and value), "")
    return shorten(to_text(text)[:_MOST_READ], _MOST_SUMMARY)
