"""The time by which this process has to be done, and with it every program that it starts.

A hook sets it; without one, programs have the limits of their callers. Hook path.
"""

from __future__ import annotations

import time

_at: list[float] = []


def set_seconds(seconds: float) -> None:
    """Let everything end this many seconds from now."""
    _at[:] = [time.monotonic() + seconds]


def seconds_left() -> float | None:
    """Return the seconds that are left, at least 0; None if there is no limit."""
    return max(0.0, _at[0] - time.monotonic()) if _at else None


def clear() -> None:
    """Take the limit away."""
    _at.clear()
