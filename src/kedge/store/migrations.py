"""How the database came to be as it is: small named steps, each applied once, in this order."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from kedge.host import clock

Step = Callable[[sqlite3.Connection], None]


def map_cache(db: sqlite3.Connection) -> None:
    """What a file's content defines, the index over a tree's files, and finished maps."""
    db.execute("CREATE TABLE map_symbols (key BLOB PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID")
    db.execute(
        "CREATE TABLE map_memo (key BLOB PRIMARY KEY, kind TEXT NOT NULL, used INTEGER NOT NULL,"
        " data BLOB NOT NULL)"
    )


def anchors(db: sqlite3.Connection) -> None:
    """What each agent was told last, so that it can be told what has changed since."""
    db.execute(
        "CREATE TABLE anchor (key TEXT NOT NULL, source TEXT NOT NULL, digest TEXT NOT NULL,"
        " given_at TEXT NOT NULL, PRIMARY KEY (key, source)) WITHOUT ROWID"
    )


STEPS: tuple[Step, ...] = (map_cache, anchors)


def migrate(db: sqlite3.Connection) -> None:
    """Apply what is missing. Several processes may try at once; one does it."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version >= len(STEPS):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute(
            "CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, applied_at TEXT NOT NULL)"
        )
        applied = {name for (name,) in db.execute("SELECT name FROM migration")}
        for step in STEPS:
            if step.__name__ not in applied:
                step(db)
                db.execute("INSERT INTO migration VALUES (?, ?)", (step.__name__, clock.now()))
        db.execute(f"PRAGMA user_version = {len(STEPS)}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
