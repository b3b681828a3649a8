"""The clock, in the one form that kedge writes."""

from __future__ import annotations

import time


def now(plus_us: int = 0) -> str:
    """UTC to the microsecond, as `2026-01-31T12:00:00.000000Z`, so that stamps sort as text."""
    seconds, micros = divmod(time.time_ns() // 1000 + plus_us, 1_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{micros:06d}Z"
