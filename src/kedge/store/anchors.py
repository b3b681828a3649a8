"""What agents were told last: the digest of each source of their last anchor."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

_KEPT = 1000  # anchors


def last(db: sqlite3.Connection, key: str) -> dict[str, str]:
    """The digests by source; empty when there was no anchor."""
    rows = db.execute("SELECT source, digest FROM anchor WHERE key = ?", (key,))
    return dict(rows.fetchall())


def keep(db: sqlite3.Connection, key: str, digests: Mapping[str, str], stamp: str) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM anchor WHERE key = ?", (key,))
    db.executemany(
        "INSERT INTO anchor VALUES (?, ?, ?, ?)",
        [(key, source, digest, stamp) for source, digest in digests.items()],
    )
    db.execute(
        "DELETE FROM anchor WHERE given_at < (SELECT MIN(given_at) FROM (SELECT DISTINCT given_at"
        " FROM anchor ORDER BY given_at DESC LIMIT ?))",
        (_KEPT,),
    )
    db.execute("COMMIT")
