"""The map's cache in kedge.db, keyed by content; without it everything still works."""

from __future__ import annotations

import _sqlite3 as sqlite3  # what `sqlite3` adds to it are conversions of dates, which cost a hook
import marshal
import time
import zlib

from kedge.errors import FileError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Any, TypeVar

    T = TypeVar("T")

# Raise when what is read from a file, or how it is kept, changes.
VERSION = "12"

_MEMOS = {"map": 40, "tracked": 40, "lines": 8}  # that are kept of a kind
_OTHERS = 3


def sealed(data: bytes) -> bytes:
    """The data behind a checksum, by which damage is told."""
    return zlib.crc32(data).to_bytes(4, "big") + data


def unsealed(data: bytes) -> memoryview | None:
    """What was sealed; None when it is not what it was."""
    content = memoryview(data)[4:]
    return content if zlib.crc32(content).to_bytes(4, "big") == data[:4] else None


class Cache:
    """What was read from file contents, and finished work. A cache that fails turns itself off,
    with a warning: it may cost time, never a map."""

    def __init__(self, home: Path | None) -> None:
        self.warnings: list[str] = []
        self.home: Path | None = None  # where more may be kept
        self._db: sqlite3.Connection | None = None
        if home is not None:
            from kedge.store.sqlite import connect

            try:
                self._db, warnings = connect(home)
                self.warnings += warnings
                self.home = home
            except FileError as error:
                self.warnings.append(f"the map is not cached: {error.message}")

    def content(self, table: str, key: str) -> Any:
        """What is known of a content; None when nothing is."""
        sql = f"SELECT data FROM {table} WHERE key = ?"  # noqa: S608 - our names
        for (data,) in self._run(sql, [f"{VERSION}:{key}"]):
            return self._decoded(data, marshal.loads)
        return None

    def keep_contents(self, table: str, values: Mapping[str, Any]) -> None:
        if not values or self._db is None:
            return
        rows = [(f"{VERSION}:{key}", sealed(marshal.dumps(value))) for key, value in values.items()]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", rows)  # noqa: S608
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._off(error)

    def memo(self, kind: str, key: str, decode: Callable[[memoryview], T]) -> T | None:
        """Finished work, if the very same was done before."""
        for (data,) in self._run(
            "SELECT data FROM map_memo WHERE key = ?", [f"{VERSION}:{kind}:{key}"]
        ):
            return self._decoded(data, decode)
        return None

    def memos(self, kind: str, decode: Callable[[memoryview], T]) -> Iterator[tuple[str, T]]:
        """All finished work of a kind with its keys, the last first."""
        keys = self._run("SELECT key FROM map_memo WHERE kind = ? ORDER BY used DESC", [kind])
        for (key,) in keys:
            version, _, name = key.split(":", 2)
            if version == VERSION and (value := self.memo(kind, name, decode)) is not None:
                yield name, value

    def keep_memo(self, kind: str, key: str, data: bytes) -> None:
        self._run("BEGIN IMMEDIATE", [])
        self._run(
            "INSERT OR REPLACE INTO map_memo (key, kind, used, data) VALUES (?, ?, ?, ?)",
            [f"{VERSION}:{kind}:{key}", kind, time.time_ns(), sealed(data)],
        )
        self._run(
            "DELETE FROM map_memo WHERE kind = ? AND key NOT IN"
            " (SELECT key FROM map_memo WHERE kind = ? ORDER BY used DESC LIMIT ?)",
            [kind, kind, _MEMOS.get(kind, _OTHERS)],
        )
        self._run("COMMIT", [])

    def _decoded(self, data: bytes, decode: Callable[[memoryview], T]) -> T | None:
        """None, with a warning, for what is not what was kept."""
        content = unsealed(data)
        if content is None:
            told = "a part of the map's cache was damaged; it is made anew"
            self.warnings += [told] if told not in self.warnings else []
            return None
        return decode(content)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def use(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """What this gives with the database; None when the cache is off, or is then."""
        if self._db is None:
            return None
        try:
            return work(self._db)
        except sqlite3.Error as error:
            self._off(error)
            return None

    def _run(self, sql: str, values: list[Any]) -> list[Any]:
        return self.use(lambda db: db.execute(sql, values).fetchall()) or []

    def _off(self, error: sqlite3.Error) -> None:
        self.warnings.append(f"the map is not cached: {error}")
        self.close()
