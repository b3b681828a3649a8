"""How far the reading of files has come."""

from __future__ import annotations

from collections.abc import Callable

Tick = Callable[[int, int], None]  # told how much is done, of how much


def no_tick(_done: int, _total: int) -> None:
    """For those who do not watch."""
