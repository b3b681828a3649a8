"""The tokens that a session has used, from its transcript: read once, then only what was added."""

from __future__ import annotations

import json
import os
import stat
import threading
from dataclasses import dataclass, field
from typing import Any

_MOST = 32 << 20  # bytes that one look reads
_MOST_FILES = 200  # transcripts that are remembered


@dataclass(frozen=True, slots=True)
class UsedTokens:
    """Tokens that went in (those from the cache too) and came out."""

    tokens_in: int
    tokens_out: int


@dataclass(slots=True)
class _Reading:
    """What was read of one file."""

    place: int = 0
    used: dict[str, tuple[int, int]] = field(default_factory=dict)
    total: tuple[int, int] | None = None  # as a client sums it up itself


_readings: dict[str, _Reading] = {}
_lock = threading.Lock()


def find_usage(row: dict[str, Any]) -> UsedTokens | None:
    """Return what the session's transcript says; None if it says nothing."""
    path = row["transcript"]
    if not path:
        return None
    with _lock:
        return _read_on(path)


def _read_on(path: str) -> UsedTokens | None:
    """Read what was added to a transcript, and return the sum of it all."""
    if len(_readings) > _MOST_FILES:
        _readings.clear()
    reading = _readings.setdefault(path, _Reading())
    try:
        with open(path, "rb", opener=_open_file) as file:
            file.seek(reading.place)
            data = file.read(_MOST)
    except OSError:
        return None
    whole = data[: data.rfind(b"\n") + 1]
    reading.place += len(whole)
    for line in whole.splitlines():
        if b'"usage"' in line or b'"token_count"' in line:
            _add(reading, line)
    spent = reading.total or (
        sum(one for one, _ in reading.used.values()),
        sum(two for _, two in reading.used.values()),
    )
    return UsedTokens(*spent) if any(spent) else None


def _open_file(path: str, flags: int) -> int:
    """Open a regular file; a pipe that an agent names instead would wait for ever."""
    number = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError("not a regular file")
    return number


def _add(reading: _Reading, line: bytes) -> None:
    try:
        record = json.loads(line)
        payload = record.get("payload") or {}
        if payload.get("type") == "token_count":  # Codex: the sum of the session
            total = payload["info"]["total_token_usage"]
            reading.total = int(total["input_tokens"]), int(total["output_tokens"])
            return
        message = record.get("message") or {}
        usage, name = message["usage"], str(message["id"])
        inward = (
            int(usage.get("input_tokens") or 0)
            + int(usage.get("cache_creation_input_tokens") or 0)
            + int(usage.get("cache_read_input_tokens") or 0)
        )
        reading.used[name] = inward, int(usage.get("output_tokens") or 0)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return  # a record of another kind: a transcript is a client's own format
