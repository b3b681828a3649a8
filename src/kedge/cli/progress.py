"""A progress bar for work that takes more than a second."""

from __future__ import annotations

import sys
import time

PATIENCE = 1.0  # seconds before anything is shown
_STEP = 0.1
_WIDTH = 30


class Progress:
    """A bar on standard error. Call it with the amount done and the total; `close` removes it."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + PATIENCE
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _STEP
        self._shown = True
        full = _WIDTH * done // (total or 1)
        bar = "━" * full + "·" * (_WIDTH - full)
        sys.stderr.write(f"\r{self._what} {bar} {done} of {total}")
        sys.stderr.flush()

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Silent(Progress):
    """Shows nothing: for `--quiet`, `--json` and output that is not a terminal."""

    def __call__(self, done: int, total: int) -> None:
        pass
