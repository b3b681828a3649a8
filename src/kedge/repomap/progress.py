"""Progress reports while files are read."""

from __future__ import annotations

from collections.abc import Callable

Tick = Callable[[int, int], None]  # called with the number of files done, and of all


def no_tick(_done: int, _total: int) -> None:
    """Report nothing."""
