"""Text that the user passes in a file or on standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from kedge.errors import FileError, UsageError
from kedge.host import files


def read_file(file: str, directory: Path = Path()) -> tuple[str, str]:
    """Return a name for messages and the text of a file; `-` is standard input."""
    if file == "-":
        name = "standard input"
        data = sys.stdin.buffer.read() if sys.stdin is not None else b""
    else:
        name = file
        content = files.read_bytes(directory / file)
        if content is None:
            raise FileError(f"no file {file}", hint="check the path")
        data = content
    try:
        return name, data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}:{line}: not UTF-8", hint="save it as UTF-8") from error


def read_value(value: str) -> str:
    """Return the value of an option, or standard input if the value is `-`."""
    return read_file("-")[1] if value == "-" else value
