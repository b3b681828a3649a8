"""Opening the database, and what to do with one that is broken."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from kedge.errors import FileError
from kedge.host import clock
from kedge.store.migrations import migrate

FILE = "kedge.db"
BUSY_SECONDS = 10.0


def connect(home: Path) -> tuple[sqlite3.Connection, list[str]]:
    """The database in `home`, made or brought up to date, and warnings.

    One that is damaged is moved aside, never deleted, and a new one takes its place.
    """
    path = home / FILE
    try:
        home.mkdir(parents=True, exist_ok=True)
        return _open(path), []
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise _refused(path, error) from error
        aside = path.with_name(f"{FILE}.broken-{clock.now().replace(':', '')}")
        try:
            path.rename(aside)
            for tail in ("-wal", "-shm"):
                path.with_name(FILE + tail).unlink(missing_ok=True)
            return _open(path), [f"{path} was damaged ({error}); it is kept as {aside.name}"]
        except (sqlite3.Error, OSError) as second:
            raise _refused(path, second) from second
    except OSError as error:
        raise _refused(path, error) from error


def _open(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def _refused(path: Path, error: Exception) -> FileError:
    return FileError(
        f"cannot use {path}: {error}", hint="check its permissions, or set KEDGE_HOME elsewhere"
    )
