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


def decode(line: bytes) -> dict[str, Any]:
    """Return the object of a line. Raises InvalidValue with what is wrong with the line."""
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        hint = "keep the lines of both sides, remove the markers"
        raise InvalidValue("a merge conflict", hint=hint)
    try:
        value = _DECODER.decode(line.decode())
    except UnicodeDecodeError as error:
        raise InvalidValue("not UTF-8", hint="save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        reason = "nested too deeply" if deep else getattr(error, "msg", str(error))
        hint = "fix that line, or restore it from git"
        raise InvalidValue(f"not JSON ({reason})", hint=hint) from error
    if not isinstance(value, dict):
        raise InvalidValue("not an object", hint="each line must be one JSON object")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def encode(value: Mapping[str, Any]) -> bytes:
    """Return the object as one line."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # an unpaired surrogate
        return json.dumps(value).encode()


def append(path: Path, value: Mapping[str, Any]) -> None:
    """Append one object durably, on a line of its own."""
    files.append_line(path, encode(value))


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
            values.append(parse(decode(line)))
        except InvalidValue as error:
            warnings.append(f"{name}:{number}: skipped: {error}")
    return values, warnings
