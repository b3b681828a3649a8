"""File changes as patches that git can apply."""

from __future__ import annotations

from difflib import diff_bytes, unified_diff

_NO_BREAK = b"\\ No newline at end of file\n"


def make_patch(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return a unified diff; bytes that are not UTF-8 become surrogates."""
    name = path.encode("utf-8", "surrogateescape")
    old = b"/dev/null" if before is None else b"a/" + name
    new = b"/dev/null" if after is None else b"b/" + name
    rows = diff_bytes(unified_diff, _lines(before), _lines(after), old, new)
    text = b"".join(row if row.endswith(b"\n") else row + b"\n" + _NO_BREAK for row in rows)
    return text.decode("utf-8", "surrogateescape")


def _lines(data: bytes | None) -> list[bytes]:
    rows = (data or b"").split(b"\n")
    last = rows.pop()
    return [row + b"\n" for row in rows] + ([last] if last else [])
