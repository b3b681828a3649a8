"""What the dashboard asks the database: pages of sessions, windows of steps, where work happens.

Each query is bounded, so that a page costs the same whatever was recorded before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kedge.store.sessions import FILE, select

if TYPE_CHECKING:
    import sqlite3

_COLUMNS = (
    "id, agent, project, task, bound, policy, goal, limits, score, course, escalation, steps,"
    " status, transcript, needs_review, started_at, checked_at, ended_at, summary, process"
)
_ACTIVE = "status = 'active' AND checked_at >= ?"
_WORDS = "instr(lower(goal || ' ' || agent || ' ' || id || ' ' || coalesce(task, '')), lower(?))"
_SHOWN = {
    "": "1",
    "strayed": "EXISTS (SELECT 1 FROM drift_event WHERE drift_event.session = session.id)",
    "review": "needs_review",
}
_RECENT_STEPS = 20_000  # of all sessions, in which files count as worked on


def list_active(db: sqlite3.Connection, since: str, most: int) -> list[dict[str, Any]]:
    """Return the sessions that are open and had an event since then, the latest first."""
    query = f"SELECT {_COLUMNS} FROM session WHERE {_ACTIVE} ORDER BY checked_at DESC, id LIMIT ?"  # noqa: S608
    return select(db, query, (since, most))


def list_past(
    db: sqlite3.Connection,
    since: str,
    *,
    words: str = "",
    show: str = "",
    skip: int = 0,
    most: int = 25,
) -> list[dict[str, Any]]:
    """Return the other sessions, latest first: with the words, and strayed or to review."""
    where = f"NOT ({_ACTIVE}) AND {_SHOWN[show]}"
    values: tuple[Any, ...] = (since,)
    if words:
        where, values = f"{where} AND {_WORDS}", (*values, words)
    query = f"SELECT {_COLUMNS} FROM session WHERE {where} ORDER BY checked_at DESC, id LIMIT ? OFFSET ?"  # noqa: S608, E501
    return select(db, query, (*values, most, skip))


def get_session(db: sqlite3.Connection, session: str) -> dict[str, Any] | None:
    """Return a session without the state of its engine, or None."""
    rows = select(db, f"SELECT {_COLUMNS} FROM session WHERE id = ?", (session,))  # noqa: S608
    return rows[0] if rows else None


def list_of_task(db: sqlite3.Connection, task: str, most: int) -> list[dict[str, Any]]:
    """Return the last sessions that were bound to a task."""
    query = f"SELECT {_COLUMNS} FROM session WHERE task = ? ORDER BY checked_at DESC LIMIT ?"  # noqa: S608
    return select(db, query, (task, most))


def count_sessions(db: sqlite3.Connection) -> tuple[int, int]:
    """Return how many sessions and steps are recorded."""
    (count,) = db.execute("SELECT COUNT(*) FROM session").fetchone()
    (steps,) = db.execute("SELECT COALESCE(SUM(steps), 0) FROM session").fetchone()
    return count, steps


def last_scores(db: sqlite3.Connection, session: str, most: int) -> list[tuple[int, int, str]]:
    """Return position, score and level of the session's last steps, in order."""
    query = (
        "SELECT position, drift_score, level FROM step WHERE session = ?"
        " ORDER BY position DESC LIMIT ?"
    )
    return db.execute(query, (session, most)).fetchall()[::-1]


def count_steps(db: sqlite3.Connection, session: str) -> int:
    """Return the position of the session's last step, 0 without any."""
    query = "SELECT COALESCE(MAX(position), 0) FROM step WHERE session = ?"
    (last,) = db.execute(query, (session,)).fetchone()
    return int(last)


def steps_between(
    db: sqlite3.Connection, session: str, first: int, last: int
) -> list[dict[str, Any]]:
    """Return the session's steps from one position to another, in order."""
    query = "SELECT * FROM step WHERE session = ? AND position BETWEEN ? AND ? ORDER BY position"
    return select(db, query, (session, first, last))


def next_on_course(
    db: sqlite3.Connection, session: str, after: int, score: int
) -> list[dict[str, Any]]:
    """Return the first later step that changes something and has at least this score."""
    query = (
        "SELECT * FROM step WHERE session = ? AND position > ? AND changes AND drift_score >= ?"
        " ORDER BY position LIMIT 1"
    )
    return select(db, query, (session, after, score))


def events_of(
    db: sqlite3.Connection, session: str, steps: Sequence[str], most: int = 1000
) -> list[dict[str, Any]]:
    """Return the drift events of these steps."""
    marks = ", ".join("?" * len(steps))
    query = (
        f"SELECT * FROM drift_event WHERE session = ? AND step IN ({marks}) ORDER BY number LIMIT ?"  # noqa: S608
    )
    return select(db, query, (session, *steps, most)) if steps else []


def list_strays(db: sqlite3.Connection, session: str, most: int) -> list[tuple[int, str, int]]:
    """Return position, level and score of the latest steps that strayed, in order."""
    query = (
        "SELECT step.position, drift_event.level, drift_event.score FROM drift_event"
        " JOIN step ON step.session = drift_event.session AND step.id = drift_event.step"
        " WHERE drift_event.session = ? ORDER BY drift_event.number DESC LIMIT ?"
    )
    return db.execute(query, (session, most)).fetchall()[::-1]


def count_strays(db: sqlite3.Connection, session: str) -> int:
    (count,) = db.execute(
        "SELECT COUNT(*) FROM drift_event WHERE session = ?", (session,)
    ).fetchone()
    return int(count)


def last_errors(db: sqlite3.Connection, most: int) -> list[dict[str, Any]]:
    """Return the last failures of kedge in an agent's path, the latest first."""
    return select(db, "SELECT * FROM guard_error ORDER BY number DESC LIMIT ?", (most,))


def count_work(db: sqlite3.Connection) -> dict[str, int]:
    """Return how many of the latest steps of all sessions touched each file."""
    (last,) = db.execute("SELECT COALESCE(MAX(number), 0) FROM step").fetchone()
    query = "SELECT term, COUNT(*) FROM step_term WHERE kind = ? AND step > ? GROUP BY term"
    return dict(db.execute(query, (FILE, last - _RECENT_STEPS)).fetchall())


def list_work(db: sqlite3.Connection, path: str, most: int) -> list[dict[str, Any]]:
    """Return the latest steps that touched a file, the latest first."""
    query = (
        "SELECT * FROM step WHERE number IN (SELECT step FROM step_term WHERE kind = ?"
        " AND term = ? ORDER BY step DESC LIMIT ?) ORDER BY number DESC"
    )
    return select(db, query, (FILE, path, most))
