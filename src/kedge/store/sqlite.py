"""Open the database, and replace a damaged one. Hook path: `_sqlite3` instead of `sqlite3`, whose
conversions of dates cost a hook time and are not used."""

from __future__ import annotations

import _sqlite3 as sqlite3
import os

from kedge.errors import FileError
from kedge.host import clock
from kedge.store.migrations import migrate

FILE = "kedge.db"
BUSY_SECONDS = 10.0


def connect(home: str | os.PathLike[str]) -> tuple[sqlite3.Connection, list[str]]:
    """Open the database in `home`, creating or migrating it; return it with warnings.

    A damaged database is renamed, never deleted, and a new one is created.
    """
    path = os.path.join(home, FILE)
    try:
        os.makedirs(home, exist_ok=True)
        return _open(path), []
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise _file_error(path, error) from error
        broken = f"{path}.broken-{clock.now().replace(':', '')}"
        try:
            os.rename(path, broken)
            for tail in ("-wal", "-shm"):
                if os.path.lexists(path + tail):
                    os.unlink(path + tail)
            name = os.path.basename(broken)
            return _open(path), [f"{path} was damaged ({error}) and is now {name}"]
        except (sqlite3.Error, OSError) as second:
            raise _file_error(path, second) from second
    except OSError as error:
        raise _file_error(path, error) from error


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


def _file_error(path: str, error: Exception) -> FileError:
    return FileError(
        f"cannot use {path}: {error}",
        hint="check its permissions, or set KEDGE_HOME to another directory",
    )
