"""Opening the database, and what to do with one that is broken."""

from __future__ import annotations

import _sqlite3 as sqlite3  # what `sqlite3` adds to it are conversions of dates, which cost a hook
import os

from kedge.errors import FileError
from kedge.host import clock
from kedge.store.migrations import migrate

FILE = "kedge.db"
BUSY_SECONDS = 10.0


def connect(home: str | os.PathLike[str]) -> tuple[sqlite3.Connection, list[str]]:
    """The database in `home`, made or brought up to date, and warnings.

    One that is damaged is moved aside, never deleted, and a new one takes its place.
    """
    path = os.path.join(home, FILE)
    try:
        os.makedirs(home, exist_ok=True)
        return _open(path), []
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise _refused(path, error) from error
        aside = f"{path}.broken-{clock.now().replace(':', '')}"
        try:
            os.rename(path, aside)
            for tail in ("-wal", "-shm"):
                if os.path.lexists(path + tail):
                    os.unlink(path + tail)
            kept = os.path.basename(aside)
            return _open(path), [f"{path} was damaged ({error}); it is kept as {kept}"]
        except (sqlite3.Error, OSError) as second:
            raise _refused(path, second) from second
    except OSError as error:
        raise _refused(path, error) from error


def _open(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def _refused(path: str, error: Exception) -> FileError:
    return FileError(
        f"cannot use {path}: {error}", hint="check its permissions, or set KEDGE_HOME elsewhere"
    )
