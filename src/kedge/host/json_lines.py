"""Files of one JSON object in each line, only ever appended to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from kedge.errors import InvalidValue
from kedge.host import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")


def append(path: Path, value: Mapping[str, Any]) -> None:
    """Add one object durably, in a line of its own."""
    try:
        line = json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        line = json.dumps(value).encode()
    files.append_line(path, line)


def read(path: Path, shown: str, parse: Callable[[dict[str, Any]], T]) -> tuple[list[T], list[str]]:
    """What `parse` makes of each line, and a warning that names the place of each that is none.

    `parse` raises InvalidValue for an object that it does not understand.
    """
    found: list[T] = []
    warnings: list[str] = []
    for number, line in enumerate((files.read_bytes(path) or b"").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            if not isinstance(value, dict):
                raise InvalidValue("not an object")
            found.append(parse(value))
        except (ValueError, RecursionError, InvalidValue) as error:
            warnings.append(f"{shown}:{number}: passed over: {error}")
    return found, warnings
