"""What people did through the dashboard: who, what, to which thing, with which note."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3


@dataclass(frozen=True, slots=True)
class ActRecord:
    """An act: `kind` is resolve, lift, retire or stop; `target` is what it was done to."""

    at: str
    actor: str
    kind: str
    target: str
    note: str


def add(db: sqlite3.Connection, record: ActRecord) -> None:
    """Record an act."""
    db.execute(
        "INSERT INTO act (at, actor, kind, target, note) VALUES (?, ?, ?, ?, ?)",
        (record.at, record.actor, record.kind, record.target, record.note),
    )


def read_last(db: sqlite3.Connection, most: int) -> list[ActRecord]:
    """Return the last acts, the latest first."""
    query = "SELECT at, actor, kind, target, note FROM act ORDER BY number DESC LIMIT ?"
    return [ActRecord(*row) for row in db.execute(query, (most,))]
