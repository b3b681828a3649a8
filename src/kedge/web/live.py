"""Tell open pages that something changed, whoever changed it: hooks, commands, agents, runs.

Each look compares the database's version and the stamps of kedge's files with those of the look
before. Nobody looks while no page is open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.knowledge.bank import DIRECTORIES
from kedge.store import sqlite

if TYPE_CHECKING:
    import sqlite3

    from kedge.host.project import Project

SESSIONS, TASKS, HANDOFFS, KNOWLEDGE, RUNS = "sessions", "tasks", "handoffs", "knowledge", "runs"
PAUSE = 0.25  # seconds between two looks
_BACKENDS = ("tasks", ".beads", "docs/features")
_DEPTH = 2  # of directories below a place that is looked at
_MOST = 3_000  # files of one place


class ChangeWatch:
    """Looks for changes, and hands the names of what changed to whoever listens."""

    def __init__(self, project: Project, pool: Executor) -> None:
        self._project = project
        self._pool = pool
        self._listeners: set[asyncio.Queue[frozenset[str]]] = set()
        self._task: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def listen(self) -> Iterator[asyncio.Queue[frozenset[str]]]:
        """Yield a queue that gets the names of what changed."""
        queue: asyncio.Queue[frozenset[str]] = asyncio.Queue()
        self._listeners.add(queue)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        try:
            yield queue
        finally:
            self._listeners.discard(queue)

    async def close(self) -> None:
        """End all streams: an empty set says so."""
        for queue in self._listeners:
            queue.put_nowait(frozenset())
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        look = _Look(self._project)
        try:
            await loop.run_in_executor(self._pool, look.find_changes)
            while self._listeners:
                changed = await loop.run_in_executor(self._pool, look.find_changes)
                if changed:
                    for queue in self._listeners:
                        queue.put_nowait(changed)
                await asyncio.sleep(PAUSE)
        finally:
            look.close()


class _Look:
    """The stamps of the last look."""

    def __init__(self, project: Project) -> None:
        self._home = project.home()
        self._places = _list_places(project)
        self._stamps: dict[str, object] = {}
        self._db: sqlite3.Connection | None = None

    def find_changes(self) -> frozenset[str]:
        stamps: dict[str, object] = {SESSIONS: self._read_version()}
        stamps |= {name: _stamp(places) for name, places in self._places.items()}
        changed = frozenset(
            name for name, value in stamps.items() if self._stamps.get(name) != value
        )
        self._stamps = stamps
        return changed

    def close(self) -> None:
        if self._db is not None:
            self._db.close()

    def _read_version(self) -> object:
        """Return a number that changes with each commit of others; the open connection counts."""
        path = self._home / sqlite.FILE
        try:
            if self._db is None:
                import sqlite3

                address = f"{path.absolute().as_uri()}?mode=ro"
                self._db = sqlite3.connect(address, uri=True, check_same_thread=False)
            return self._db.execute("PRAGMA data_version").fetchone()
        except Exception as error:  # noqa: BLE001 - a page is then a moment behind, nothing more
            return str(error)


def _list_places(project: Project) -> Mapping[str, tuple[Path, ...]]:
    own = project.root / ".kedge"
    return {
        TASKS: (own / "tasks.jsonl", own / "ledger", *(project.root / name for name in _BACKENDS)),
        HANDOFFS: (own / "context",),
        KNOWLEDGE: tuple(project.root / name for name in DIRECTORIES),
        RUNS: (project.home() / "runs",),
    }  # fmt: skip


def _stamp(places: tuple[Path, ...]) -> int:
    """Return a number that changes when a file below the places does."""
    total = 0
    for place in places:
        for name, stamp, size in _list_stamps(str(place), _DEPTH):
            total ^= hash((name, stamp, size))
    return total


def _list_stamps(place: str, depth: int) -> Iterator[tuple[str, int, int]]:
    with contextlib.suppress(OSError):
        about = os.stat(place, follow_symlinks=False)  # noqa: PTH116 - many of them, four times a second
        yield place, about.st_mtime_ns, about.st_size
    if depth:
        with contextlib.suppress(OSError), os.scandir(place) as found:
            for count, each in enumerate(found):
                if count >= _MOST:
                    break
                if not each.name.endswith(".lock"):
                    yield from _list_stamps(
                        each.path, depth - 1 if each.is_dir(follow_symlinks=False) else 0
                    )
