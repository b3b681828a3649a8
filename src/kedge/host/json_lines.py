"""Append-only files with one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kedge.errors import InvalidValue
from kedge.host import files

if TYPE_CHECKING:
    T = TypeVar("T")


def append(path: Path, value: Mapping[str, Any]) -> None:
    """Append one object durably, on a line of its own."""
    try:
        line = json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # an unpaired surrogate
        line = json.dumps(value).encode()
    files.append_line(path, line)


def read(path: Path, name: str, parse: Callable[[dict[str, Any]], T]) -> tuple[list[T], list[str]]:
    """Return `parse(object)` of each line, and a warning with file name and line for each bad one.

    `parse` raises InvalidValue for an object that it does not understand.
    """
    values: list[T] = []
    warnings: list[str] = []
    for number, line in enumerate((files.read_bytes(path) or b"").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            if not isinstance(value, dict):
                raise InvalidValue("not an object")
            values.append(parse(value))
        except (ValueError, RecursionError, InvalidValue) as error:
            warnings.append(f"{name}:{number}: skipped: {error}")
    return values, warnings
