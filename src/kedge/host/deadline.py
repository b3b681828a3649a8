"""The time by which this thread has to be done, and with it every program that it starts.

A hook sets it; without one, programs have the limits of their callers. Hook path.
"""

from __future__ import annotations

import time
from _thread import _local  # what `threading` has by another name, without loading it

_own = _local()


def set_seconds(seconds: float) -> None:
    """Let everything end this many seconds from now."""
    _own.at = time.monotonic() + seconds


def seconds_left() -> float | None:
    """Return the seconds that are left, at least 0; None if there is no limit."""
    at: float | None = getattr(_own, "at", None)
    return None if at is None else max(0.0, at - time.monotonic())


def clear() -> None:
    """Take the limit away."""
    _own.at = None
