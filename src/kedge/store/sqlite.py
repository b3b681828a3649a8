"""Open the database, and replace a damaged one. Hook path: `_sqlite3` instead of `sqlite3`, whose
conversions of dates cost a hook time and are not used."""

from __future__ import annotations

import _sqlite3 as sqlite3
import contextlib
import os

from kedge.errors import FileError
from kedge.host import clock, deadline
from kedge.store.migrations import migrate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "kedge.db"
BUSY_SECONDS = 10.0
READ_SECONDS = 5.0
_LOGS = ("-wal", "-shm")


def connect(home: str | os.PathLike[str]) -> tuple[sqlite3.Connection, list[str]]:
    """Open the database in `home`, creating or migrating it; return it with warnings.

    A damaged database is renamed with its log, never deleted, and a new one is created. A link in
    its place is refused: it would lead the writes elsewhere.
    """
    path = os.path.join(home, FILE)
    try:
        os.makedirs(home, exist_ok=True)
        _refuse_links(path)
        try:
            return _open(path), []
        except _Damaged as error:
            moved = f"{path} was damaged ({error}) and is now {error.kept_as}"
            return _open(path), [moved]
    except (sqlite3.Error, OSError, _Damaged) as error:
        raise _file_error(path, error) from error


@contextlib.contextmanager
def read(path: str | os.PathLike[str], *, more: str = "") -> Iterator[sqlite3.Connection]:
    """Open a database only to look at it: not created, migrated or repaired.

    `more` are further options of SQLite's address. Raises sqlite3.Error if that fails.
    """
    from pathlib import Path

    address = f"{Path(path).absolute().as_uri()}?mode=ro{more}"
    db = sqlite3.connect(address, timeout=READ_SECONDS, isolation_level=None, uri=True)
    try:
        _read_schema(db)
        yield db
    finally:
        db.close()


def find_patience() -> float:
    """Return the seconds to wait for other writers: never past the deadline of this process."""
    left = deadline.seconds_left()
    return BUSY_SECONDS if left is None else min(BUSY_SECONDS, left)


def _read_schema(db: sqlite3.Connection) -> None:
    """Raise DatabaseError if the schema is damaged: the first statement reads it."""
    try:
        db.execute("SELECT 1 FROM sqlite_master LIMIT 1")
    except UnicodeDecodeError as error:  # SQLite's message quotes the bytes
        raise sqlite3.DatabaseError("the schema is not text") from error


class _Damaged(Exception):
    """A database that cannot be used, and its name since it was moved aside."""

    kept_as = ""


def _open(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=find_patience(), isolation_level=None)
    try:
        _read_schema(db)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        migrate(db)
    except sqlite3.DatabaseError as error:
        try:
            if isinstance(error, sqlite3.OperationalError):
                raise
            damaged = _Damaged(str(error))
            damaged.kept_as = _move_aside(path)  # before it is closed, which would remove its log
            raise damaged from error
        finally:
            db.close()
    except BaseException:
        db.close()
        raise
    return db


def _move_aside(path: str) -> str:
    """Rename a database and its log, and return its name."""
    broken = f"{path}.broken-{clock.now().replace(':', '')}"
    for tail in _LOGS:  # first, so that a new database never meets the log of an old one
        if os.path.lexists(path + tail):
            os.rename(path + tail, broken + tail)
    os.rename(path, broken)
    return os.path.basename(broken)


def _refuse_links(path: str) -> None:
    for name in (path, *(path + tail for tail in _LOGS)):
        if os.path.islink(name):
            raise FileError(
                f"{name} is a link",
                hint="remove it: kedge follows no link to its database, which it makes anew",
            )


def _file_error(path: str, error: Exception) -> FileError:
    return FileError(
        f"cannot use {path}: {error}",
        hint="check its permissions, or set KEDGE_HOME to another directory",
    )
