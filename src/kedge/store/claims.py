"""The work tree where each task was last claimed; the task itself says only by whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a task: the root of the work tree, who claimed it, and when."""

    project: str
    actor: str
    at: str


def save(db: sqlite3.Connection, task: str, claim: Claim) -> None:
    """Save the latest claim of a task."""
    values = (task, claim.project, claim.actor, claim.at)
    db.execute("INSERT OR REPLACE INTO claim VALUES (?, ?, ?, ?)", values)


def read(db: sqlite3.Connection) -> dict[str, Claim]:
    """Return the latest claim of each task."""
    rows = db.execute("SELECT task, project, actor, at FROM claim")
    return {task: Claim(project, actor, at) for task, project, actor, at in rows}
