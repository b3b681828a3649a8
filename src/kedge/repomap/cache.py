"""The map's cache in kedge.db, keyed by content; without it everything still works."""

from __future__ import annotations

import marshal
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kedge.errors import FileError

# Raise when what is read from a file, or how it is kept, changes.
VERSION = "9"
Tick = Callable[[int, int], None]  # told how much is done, of how much

_MEMOS = 40
_MAX_BATCH = 500


def no_tick(_done: int, _total: int) -> None:
    """For those who do not watch."""


class Cache:
    """What was read from file contents, and finished work. A cache that fails turns itself off,
    with a warning: it may cost time, never a map."""

    def __init__(self, home: Path | None) -> None:
        self.warnings: list[str] = []
        self._db: sqlite3.Connection | None = None
        if home is not None:
            from kedge.store.sqlite import connect

            try:
                self._db, warnings = connect(home)
                self.warnings += warnings
            except FileError as error:
                self.warnings.append(f"the map is not cached: {error.message}")

    def contents(self, table: str, keys: Iterable[str]) -> dict[str, Any]:
        """What is known of these contents, by key."""
        found: dict[str, Any] = {}
        wanted = [f"{VERSION}:{key}" for key in keys]
        for start in range(0, len(wanted), _MAX_BATCH):
            part = wanted[start : start + _MAX_BATCH]
            marks = ",".join("?" * len(part))
            sql = f"SELECT key, data FROM {table} WHERE key IN ({marks})"  # noqa: S608 - our names
            for key, data in self._run(sql, part):
                found[key.partition(":")[2]] = marshal.loads(data)  # noqa: S302 - our own
        return found

    def keep_contents(self, table: str, values: Mapping[str, Any]) -> None:
        if not values or self._db is None:
            return
        rows = [(f"{VERSION}:{key}", marshal.dumps(value)) for key, value in values.items()]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", rows)  # noqa: S608
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._off(error)

    def memo(self, kind: str, key: str) -> bytes | None:
        """Finished work, if the very same was done before."""
        for (data,) in self._run(
            "SELECT data FROM map_memo WHERE key = ?", [f"{VERSION}:{kind}:{key}"]
        ):
            return bytes(data)
        return None

    def memos(self, kind: str) -> Iterator[tuple[str, bytes]]:
        """All finished work of a kind with its keys, the last first."""
        keys = self._run("SELECT key FROM map_memo WHERE kind = ? ORDER BY used DESC", [kind])
        for (key,) in keys:
            version, _, name = key.split(":", 2)
            if version == VERSION and (data := self.memo(kind, name)) is not None:
                yield name, data

    def keep_memo(self, kind: str, key: str, data: bytes) -> None:
        self._run(
            "INSERT OR REPLACE INTO map_memo (key, kind, used, data) VALUES (?, ?, ?, ?)",
            [f"{VERSION}:{kind}:{key}", kind, time.time_ns(), data],
        )
        self._run(
            "DELETE FROM map_memo WHERE kind = ? AND key NOT IN"
            " (SELECT key FROM map_memo WHERE kind = ? ORDER BY used DESC LIMIT ?)",
            [kind, kind, _MEMOS if kind == "map" else 3],
        )

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _run(self, sql: str, values: list[Any]) -> list[Any]:
        if self._db is None:
            return []
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            self._off(error)
            return []

    def _off(self, error: sqlite3.Error) -> None:
        self.warnings.append(f"the map is not cached: {error}")
        self.close()
