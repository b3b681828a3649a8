"""The map's cache in kedge.db, keyed by content; without it everything still works."""

from __future__ import annotations

import _sqlite3 as sqlite3  # `sqlite3` adds conversions of dates, whose import would slow hooks
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

# Increase when what is read from a file, or its format in the cache, changes.
VERSION = "21"

_MEMOS = {"map": 40}  # entries that are kept, by kind
_OTHERS = 3


def seal(data: bytes) -> bytes:
    """The data with a checksum in front."""
    return zlib.crc32(data).to_bytes(4, "big") + data


def unseal(data: object) -> memoryview | None:
    """The data without its checksum; None if it is damaged, or not data at all."""
    if not isinstance(data, bytes):
        return None
    content = memoryview(data)[4:]
    return content if zlib.crc32(content).to_bytes(4, "big") == data[:4] else None


class Cache:
    """Values read from file contents, and finished results ("memos").

    If the database fails, the cache disables itself and adds a warning: a map is made without it.
    """

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

    def load_content(self, table: str, key: str) -> Any:
        """The value for a content key, or None."""
        sql = f"SELECT data FROM {table} WHERE key = ?"  # noqa: S608 - our names
        for (data,) in self._run(sql, [f"{VERSION}:{key}"]):
            return self._decode(data, marshal.loads)
        return None

    def keep_contents(self, table: str, values: Mapping[str, Any]) -> None:
        if not values or self._db is None:
            return
        rows = [(f"{VERSION}:{key}", seal(marshal.dumps(value))) for key, value in values.items()]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", rows)  # noqa: S608
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._disable(error)

    def load_memo(self, kind: str, key: str, decode: Callable[[memoryview], T]) -> T | None:
        """A finished result by its key, or None."""
        for (data,) in self._run(
            "SELECT data FROM map_memo WHERE key = ?", [f"{VERSION}:{kind}:{key}"]
        ):
            return self._decode(data, decode)
        return None

    def load_memos(self, kind: str, decode: Callable[[memoryview], T]) -> Iterator[tuple[str, T]]:
        """All finished results of a kind with their keys, newest first."""
        keys = self._run("SELECT key FROM map_memo WHERE kind = ? ORDER BY used DESC", [kind])
        for (key,) in keys:
            if not isinstance(key, str) or not key.startswith(f"{VERSION}:{kind}:"):
                continue
            name = key.split(":", 2)[2]
            if (value := self.load_memo(kind, name, decode)) is not None:
                yield name, value

    def keep_memo(self, kind: str, key: str, data: bytes) -> None:
        self._run("BEGIN IMMEDIATE", [])
        self._run(
            "INSERT OR REPLACE INTO map_memo (key, kind, used, data) VALUES (?, ?, ?, ?)",
            [f"{VERSION}:{kind}:{key}", kind, time.time_ns(), seal(data)],
        )
        self._run(
            "DELETE FROM map_memo WHERE kind = ? AND key NOT IN"
            " (SELECT key FROM map_memo WHERE kind = ? ORDER BY used DESC LIMIT ?)",
            [kind, kind, _MEMOS.get(kind, _OTHERS)],
        )
        self._run("COMMIT", [])

    def _decode(self, data: object, decode: Callable[[memoryview], T]) -> T | None:
        """The decoded value; None, with a warning, if it is damaged."""
        content = unseal(data)
        if content is None:
            message = "a part of the map's cache was damaged; it is rebuilt"
            self.warnings += [message] if message not in self.warnings else []
            return None
        return decode(content)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def use(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """The result of `work` on the database; None if the cache is disabled or fails."""
        if self._db is None:
            return None
        try:
            return work(self._db)
        except sqlite3.Error as error:
            self._disable(error)
            return None

    def _run(self, sql: str, values: list[Any]) -> list[Any]:
        return self.use(lambda db: db.execute(sql, values).fetchall()) or []

    def _disable(self, error: sqlite3.Error) -> None:
        self.warnings.append(f"the map is not cached: {error}")
        self.close()
