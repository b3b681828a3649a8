"""Time stamps, in the one format that kedge writes. Hook path: `datetime` is not imported."""

from __future__ import annotations

import time


def now(plus_us: int = 0) -> str:
    """Return UTC to the microsecond, as `2026-01-31T12:00:00.000000Z`: stamps sort as strings."""
    seconds, micros = divmod(time.time_ns() // 1000 + plus_us, 1_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{micros:06d}Z"


def parse(stamp: str) -> float:
    """Return the seconds since 1970 of a stamp that `now` has made."""
    import calendar

    return float(calendar.timegm(time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")))
