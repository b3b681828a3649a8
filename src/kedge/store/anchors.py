"""Digests of the sources of each agent's last anchor."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from kedge.store.sessions import transaction

_MOST = 1000  # anchors


def read_last(db: sqlite3.Connection, key: str) -> dict[str, str]:
    """Return the digests by source; empty if there was no anchor."""
    rows = db.execute("SELECT source, digest FROM anchor WHERE key = ?", (key,))
    return dict(rows.fetchall())


def save(db: sqlite3.Connection, key: str, digests: Mapping[str, str], stamp: str) -> None:
    """Replace the digests of the agent's last anchor, and delete the oldest anchors of all."""
    with transaction(db):
        db.execute("DELETE FROM anchor WHERE key = ?", (key,))
        db.executemany(
            "INSERT INTO anchor VALUES (?, ?, ?, ?)",
            [(key, source, digest, stamp) for source, digest in digests.items()],
        )
        db.execute(
            "DELETE FROM anchor WHERE given_at < (SELECT MIN(given_at) FROM (SELECT DISTINCT"
            " given_at FROM anchor ORDER BY given_at DESC LIMIT ?))",
            (_MOST,),
        )
