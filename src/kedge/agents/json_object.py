"""Read fields of the JSON that agents write, whatever is in them."""

from __future__ import annotations

import math
from typing import Any

_MOST_NUMBER = 1 << 53


class JsonObject:
    """A JSON object of unknown shape; empty if `value` is not an object.

    A field of the wrong type reads as missing.
    """

    def __init__(self, value: Any = None) -> None:
        self._fields: dict[str, Any] = value if isinstance(value, dict) else {}

    def __bool__(self) -> bool:
        return bool(self._fields)

    def get(self, name: str) -> Any:
        return self._fields.get(name)

    def names(self) -> list[str]:
        return [name for name in self._fields if isinstance(name, str)]

    def __contains__(self, name: str) -> bool:
        return name in self._fields

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


def to_text(value: Any) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""
