"""Make untrusted text safe and short enough to show."""

from __future__ import annotations

import re

_TURNS = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # the direction of the text that follows
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_TURNS}]")


def clean(text: str) -> str:
    """Return the text with control characters escaped, so that data cannot control the terminal."""
    return _CONTROL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def shorten(text: str, limit: int) -> str:
    """Return the text on one line, cut to at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def count_noun(number: int, noun: str, plural: str = "") -> str:
    """Return the number with its noun: `1 file`, `1,200 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"
