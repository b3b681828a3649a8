"""Read opencode's database: its sessions, and the records of one. It is never written to."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from kedge.errors import FileError

_MAGIC = b"SQLite format 3\0"
_TABLES = {"session", "message", "part"}
_WAIT = 2.0  # seconds for a writer of the database
_SESSIONS = """
    SELECT s.id, s.parent_id, s.directory, s.version, s.time_created, s.time_updated,
        (SELECT COALESCE(SUM(LENGTH(p.data)), 0) FROM part p WHERE p.session_id = s.id)
    FROM session s ORDER BY s.time_created, s.id
"""
_PARTS = """
    SELECT p.id, p.message_id, p.time_created, p.data, m.data
    FROM part p JOIN message m ON m.id = p.message_id
    WHERE p.session_id = ? ORDER BY m.time_created, m.id, p.id
"""


class SessionRow(NamedTuple):
    """A session in the database; times are in milliseconds, `size` is that of its parts."""

    id: str
    parent_id: str | None
    directory: str
    version: str
    created: int
    updated: int
    size: int

    @property
    def record(self) -> dict[str, Any]:
        return {"session": self._asdict()}


def is_database(path: Path) -> bool:
    """True if the file is a database of opencode."""
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return False
    except OSError:
        return False
    with _open(path) as db:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master")} >= _TABLES


def list_sessions(path: Path) -> list[SessionRow]:
    """Return the sessions, the earliest first; raises FileError."""
    with _open(path) as db:
        return [SessionRow(*row) for row in db.execute(_SESSIONS)]


def read_records(
    path: Path,
    session: str,
    on_read: Callable[[int], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the parts of a session in order, each with its message and its session.

    `warn` is called once if there are parts that are not JSON objects; they are left out. Raises
    FileError.
    """
    row = next(each for each in list_sessions(path) if each.id == session)
    damaged = 0
    with _open(path) as db:
        for name, message_id, created, data, message in db.execute(_PARTS, (session,)):
            if on_read is not None:
                on_read(len(data))
            part, about = _parse(data), _parse(message)
            if part is None or about is None:
                damaged += 1
                continue
            at = format_time(created)
            yield {
                **row.record,
                "id": name,
                "message_id": message_id,
                "at": at,
                "part": part,
                "message": about,
            }
    if damaged and warn is not None:
        noun = "record" if damaged == 1 else "records"
        warn(f"{path}: session {session}: {damaged} damaged {noun}")


def format_time(milliseconds: int) -> str:
    """Return a time of the database as transcripts write it."""
    time = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _parse(data: Any) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (TypeError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


@contextlib.contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database for reading; its errors, also while it is read, are FileErrors."""
    try:
        uri = f"{path.resolve().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=_WAIT)) as db:
            yield db
    except sqlite3.Error as error:
        raise FileError(
            f"cannot read {path}: {error}", hint="stop opencode and try again, or leave it out"
        ) from error
