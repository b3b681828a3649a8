"""Tell open pages that something changed, whoever changed it: hooks, commands, agents, runs.

Each look compares the database's version and the stamps of kedge's files with those that a page has
seen: a page carries those from before it was rendered, so nothing is missed until its stream opens.
Nobody looks while no page is open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

from kedge.knowledge.bank import DIRECTORIES
from kedge.store import sqlite

if TYPE_CHECKING:
    import sqlite3

    from kedge.host.project import Project

SESSIONS, TASKS, HANDOFFS, KNOWLEDGE, RUNS = "sessions", "tasks", "handoffs", "knowledge", "runs"
TOPICS = (SESSIONS, TASKS, HANDOFFS, KNOWLEDGE, RUNS)
PAUSE = 0.25  # seconds between two looks
_BACKENDS = ("tasks", ".beads", "docs/features")
_DEPTH = 2  # of directories below a place that is looked at
_MOST = 3_000  # files of one place


class _Listener:
    """An open page: what it has seen of each thing it shows, and what changed since."""

    def __init__(self, seen: str) -> None:
        pairs = (each.partition(":") for each in seen.split(","))
        self.seen = {name: stamp for name, _, stamp in pairs if name}
        self.changes: asyncio.Queue[frozenset[str]] = asyncio.Queue()

    def compare(self, stamps: Mapping[str, str]) -> None:
        changed = {name for name in self.seen.keys() & stamps if self.seen[name] != stamps[name]}
        if changed:
            self.seen |= {name: stamps[name] for name in changed}
            self.changes.put_nowait(frozenset(changed))


class ChangeWatch:
    """Looks for changes, and hands the names of what changed to whoever listens."""

    def __init__(self, project: Project, pool: Executor) -> None:
        self._look = _Look(project)
        self._pool = pool
        self._listeners: set[_Listener] = set()
        self._task: asyncio.Task[None] | None = None

    def read_stamps(self, topics: Collection[str]) -> str:
        """Return what a page that is rendered after this has seen."""
        return ",".join(f"{name}:{stamp}" for name, stamp in self._look.read(topics).items())

    @contextlib.contextmanager
    def listen(self, seen: str) -> Iterator[asyncio.Queue[frozenset[str]]]:
        """Yield a queue that gets the names of what changed since `read_stamps` returned `seen`."""
        listener = _Listener(seen)
        self._listeners.add(listener)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        try:
            yield listener.changes
        finally:
            self._listeners.discard(listener)

    async def close(self) -> None:
        """End all streams: an empty set says so."""
        for listener in self._listeners:
            listener.changes.put_nowait(frozenset())
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._look.close()

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while self._listeners:
            stamps = await loop.run_in_executor(self._pool, self._look.read)
            for listener in self._listeners:
                listener.compare(stamps)
            await asyncio.sleep(PAUSE)


class _Look:
    """Reads the stamps. Those of the database are comparable because its connection stays open."""

    def __init__(self, project: Project) -> None:
        self._home = project.home()
        self._places = _list_places(project)
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._file = ""

    def read(self, topics: Collection[str] = TOPICS) -> dict[str, str]:
        """Return a stamp for each topic, which differs once something has changed."""
        with self._lock:
            return {
                name: self._read_version() if name == SESSIONS else _stamp(self._places[name])
                for name in topics
            }

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _read_version(self) -> str:
        """Return a number that changes with each commit of others, and the number of the file."""
        path = self._home / sqlite.FILE
        try:
            file = str(path.stat().st_ino)
            if self._db is None or file != self._file:
                import sqlite3

                address = f"{path.absolute().as_uri()}?mode=ro"
                self._db = sqlite3.connect(address, uri=True, check_same_thread=False)
                self._file = file
            (version,) = self._db.execute("PRAGMA data_version").fetchone()
        except Exception:  # noqa: BLE001 - a page is then a moment behind, nothing more
            return ""
        return f"{file}.{version}"


def _list_places(project: Project) -> Mapping[str, tuple[Path, ...]]:
    own = project.root / ".kedge"
    return {
        TASKS: (own / "tasks.jsonl", own / "ledger", *(project.root / name for name in _BACKENDS)),
        HANDOFFS: (own / "context",),
        KNOWLEDGE: tuple(project.root / name for name in DIRECTORIES),
        RUNS: (project.home() / "runs",),
    }  # fmt: skip


def _stamp(places: tuple[Path, ...]) -> str:
    """Return a number that changes when a file below the places does."""
    total = 0
    for place in places:
        for name, stamp, size in _list_stamps(str(place), _DEPTH):
            total ^= hash((name, stamp, size))
    return f"{total:x}"


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
