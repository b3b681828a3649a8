"""Add lines to an ignore file, and remove them again."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def add(data: bytes | None, lines: Sequence[str]) -> bytes:
    """Append the lines that the file lacks.

    A file without a final newline gets none, so that `drop` can restore it byte for byte.
    """
    have = {line.strip() for line in (data or b"").splitlines()}
    new = [line.encode() for line in lines if line.encode() not in have]
    if not new:
        return data or b""
    if data and not data.endswith(b"\n"):
        return b"\n".join([data, *new])
    return b"".join([data or b"", *(line + b"\n" for line in new)])


def drop(data: bytes, lines: Collection[str]) -> bytes:
    """Remove these lines."""
    gone = {line.encode() for line in lines}
    kept = [line for line in data.splitlines(keepends=True) if line.strip() not in gone]
    left = b"".join(kept)
    torn = not data.endswith(b"\n") and len(left) < len(data)
    return left.removesuffix(b"\n") if torn else left


def drop_block(data: bytes, head: str, lines: Collection[str]) -> bytes:
    """Remove the head line and those of the lines that follow it directly."""
    rows = data.splitlines(keepends=True)
    starts = [index for index, row in enumerate(rows) if row.strip() == head.encode()]
    if not starts:
        return data
    first = last = starts[0]
    gone = {line.encode() for line in lines}
    while last + 1 < len(rows) and rows[last + 1].strip() in gone:
        last += 1
    left = b"".join([*rows[:first], *rows[last + 1 :]])
    torn = last + 1 == len(rows) and not data.endswith(b"\n")
    return left.removesuffix(b"\n") if torn else left
