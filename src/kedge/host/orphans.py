"""Adopt the orphans of an agent, so that none of its processes outlives it.

A process whose parents have ended becomes a child of the nearest subreaper among its ancestors.
While a block of `contain` runs, that is this process: whatever a daemon does to its session, its
group and its environment, it is found among the children of this process. Linux only; elsewhere
`process_tree` finds what still has its parents or its mark.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from kedge.host import proc, process_tree

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_PATIENCE = 10.0  # seconds for killed processes to end
_PAUSE = 0.002
_TASKS = Path("/proc/self/task")


class Orphans:
    """The orphans of a block. `left` has those that could not be ended."""

    def __init__(self, known: set[int]) -> None:
        self._known = known  # children that were there before the block
        self.left: tuple[int, ...] = ()

    def reap(self) -> list[int]:
        """Return the orphans that run, and forget those that have ended."""
        alive = []
        for pid in list_children() - self._known - proc.list_own():
            try:
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    alive.append(pid)
            except ChildProcessError:  # somebody else has waited for it
                continue
        return alive

    def end(self) -> None:
        """Kill the orphans. The children of a killed one become orphans, and are killed, too."""
        deadline = time.monotonic() + _PATIENCE
        while alive := self.reap():
            for pid in alive:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                break
            time.sleep(_PAUSE)
        self.left = tuple(sorted(alive))


_open: list[Orphans] = []


@contextlib.contextmanager
def contain() -> Iterator[Orphans]:
    """Adopt the orphans of all that is started in the block, and end them when it is left.

    Processes that this process has started itself, and orphans from before, are not touched.
    """
    orphans = Orphans(list_children() if sys.platform == "linux" else set())
    if sys.platform != "linux" or not _set_subreaper(on=True):
        yield orphans
        return
    _open.append(orphans)
    try:
        yield orphans
    finally:
        with proc.hold_signals():
            try:
                orphans.end()
            finally:
                _open.remove(orphans)
                if not _open:
                    _set_subreaper(on=False)


def reap() -> None:
    """Forget orphans that have ended: in a long block they would fill the table of processes."""
    for one in _open[-1:]:
        one.reap()


def list_children() -> set[int]:
    """Return the children of this process, zombies included."""
    found: set[int] = set()
    try:
        for task in _TASKS.iterdir():
            found.update(map(int, task.joinpath("children").read_bytes().split()))
    except OSError:  # a kernel without these lists, or a thread that has just ended
        found.update(process_tree.list_children(os.getpid()))
    return found


def _set_subreaper(*, on: bool) -> bool:
    """Make this process the subreaper of what it starts; False where the system has none."""
    import ctypes

    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return False
    return bool(prctl(_SUBREAPER, ctypes.c_ulong(on), 0, 0, 0) == 0)
