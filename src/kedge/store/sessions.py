"""Sessions of agents in the database: charters, steps with their verdicts, drift events, errors.

Writers hold one transaction per event, so that hooks of parallel tool calls wait for each other.
Hook path: types are imported for type checkers only.
"""

from __future__ import annotations

import contextlib
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

FILE, FOLDER, KEYWORD = "file", "folder", "keyword"  # kinds of a step's terms
_LISTS = ("scope", "limits", "keywords", "files", "folders", "rules", "recalled", "evidence",
          "lacks", "asked", "unread")  # fmt: skip
_BOOLEANS = ("changes", "is_key_decision", "is_validated", "needs_review", "ok")
_NUMBERS = ("number", "revision", "score", "escalation", "steps", "position", "drift_score",
            "turn")  # fmt: skip
_OBJECTS = ("summary", "content")
_TIMES = ("started_at", "checked_at")
_LEVELS = ("none", "nudge", "correct", "intervene", "halt")
_OPTIONAL = ("task", "ended_at", "lifted", "summary")
_COLUMNS = (
    "id, agent, project, task, bound, policy, goal, scope, limits, keywords, score, course,"
    " escalation, steps, status, transcript, needs_review, started_at, checked_at, ended_at,"
    " summary, process"
)


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Write one event completely or not at all."""
    from kedge.store import sqlite  # the status line, which only reads, does without

    db.execute(f"PRAGMA busy_timeout = {int(1000 * sqlite.find_patience())}")
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def get(db: sqlite3.Connection, session: str) -> dict[str, Any] | None:
    """Return the session, or None."""
    return _one(db, "SELECT * FROM session WHERE id = ?", (session,))


def add(db: sqlite3.Connection, session: str, **values: Any) -> dict[str, Any]:
    """Add a session and return it."""
    _insert(db, "session", {"id": session, **values})
    return select(db, "SELECT * FROM session WHERE id = ?", (session,))[0]


def change(db: sqlite3.Connection, session: str, **values: Any) -> None:
    """Set columns of a session."""
    names = ", ".join(f"{name} = ?" for name in values)
    db.execute(
        f"UPDATE session SET {names} WHERE id = ?",  # noqa: S608 - callers name the columns
        (*map(_encode, values.values()), session),
    )


def add_charter(db: sqlite3.Connection, session: str, **values: Any) -> None:
    _insert(db, "charter", {"session": session, **values}, "INSERT OR REPLACE")


def step(db: sqlite3.Connection, session: str, id: str) -> dict[str, Any] | None:  # noqa: A002
    return _one(db, "SELECT * FROM step WHERE session = ? AND id = ?", (session, id))


def find_call(db: sqlite3.Connection, session: str, alike: str) -> str:
    """Return the id of the call that a result belongs to, of those whose ids begin alike; or "".

    It is the first one that ran and has no result, or the last one that has.
    """
    rows = db.execute(
        "SELECT id, ok IS NULL AND decision != 'deny' AS runs FROM step"
        " WHERE session = ? AND substr(id, 1, ?) = ?"
        " ORDER BY runs DESC, CASE WHEN ok IS NULL THEN position ELSE -position END",
        (session, len(alike), alike),
    )
    row = rows.fetchone()
    return row[0] if row is not None else ""


def add_step(
    db: sqlite3.Connection, session: str, terms: Mapping[str, Iterable[str]], **values: Any
) -> int:
    """Add a step and the terms that `recall` finds it by; return its number."""
    number = _insert(db, "step", {"session": session, **values})
    db.executemany(
        "INSERT OR IGNORE INTO step_term VALUES (?, ?, ?)",
        [(kind, term, number) for kind, words in terms.items() for term in words],
    )
    return number


def change_step(db: sqlite3.Connection, session: str, id: str, **values: Any) -> None:  # noqa: A002
    names = ", ".join(f"{name} = ?" for name in values)
    db.execute(
        f"UPDATE step SET {names} WHERE session = ? AND id = ?",  # noqa: S608 - as above
        (*map(_encode, values.values()), session, id),
    )


def limits(db: sqlite3.Connection, session: str) -> list[dict[str, Any]]:
    """Return the session's limits in the order in which they came, the lifted ones too."""
    return select(db, "SELECT * FROM session_limit WHERE session = ? ORDER BY number", (session,))


def add_limit(db: sqlite3.Connection, session: str, **values: Any) -> None:
    _insert(db, "session_limit", {"session": session, **values})


def change_limits(db: sqlite3.Connection, numbers: Iterable[int], **values: Any) -> None:
    names = ", ".join(f"{name} = ?" for name in values)
    db.executemany(
        f"UPDATE session_limit SET {names} WHERE number = ?",  # noqa: S608 - as above
        [(*map(_encode, values.values()), number) for number in numbers],
    )


def add_event(db: sqlite3.Connection, session: str, **values: Any) -> None:
    _insert(db, "drift_event", {"session": session, **values})


def add_error(db: sqlite3.Connection, **values: str) -> None:
    _insert(db, "guard_error", values)


def sessions(
    db: sqlite3.Connection, *, project: str | None = None, task: str | None = None, last: int = 1000
) -> list[dict[str, Any]]:
    """Return the last sessions, latest first, without the `engine` column."""
    filters = {"project": project, "task": task}
    given = {name: value for name, value in filters.items() if value is not None}
    where = " AND ".join(f"{name} = ?" for name in given) or "1"
    return select(
        db,
        f"SELECT {_COLUMNS} FROM session WHERE {where} ORDER BY checked_at DESC, id LIMIT ?",  # noqa: S608
        (*given.values(), last),
    )


def find_hooked(db: sqlite3.Connection, process: str) -> dict[str, Any] | None:
    """Return the latest session that the hooks of a process report."""
    query = (
        "SELECT * FROM session WHERE process = ? AND process != '' AND transcript != '' "
        "ORDER BY started_at DESC, id LIMIT 1"
    )
    return _one(db, query, (process,))


def find_ids(db: sqlite3.Connection, prefix: str) -> list[str]:
    """Return the ids of the sessions that start with the prefix."""
    query = "SELECT id FROM session WHERE substr(id, 1, ?) = ? ORDER BY id"
    return [name for (name,) in db.execute(query, (len(prefix), prefix))]


def find_unread(db: sqlite3.Connection) -> list[str]:
    """Return the ids of the sessions with messages that nobody has read."""
    return [name for (name,) in db.execute("SELECT id FROM session WHERE unread != '[]'")]


def steps(db: sqlite3.Connection, session: str, *, last: int | None = None) -> list[dict[str, Any]]:
    """Return the session's steps in order, or only the `last` of them."""
    query = "SELECT * FROM step WHERE session = ? ORDER BY position DESC LIMIT ?"
    return select(db, query, (session, -1 if last is None else last))[::-1]


def charters(db: sqlite3.Connection, session: str) -> list[dict[str, Any]]:
    return select(db, "SELECT * FROM charter WHERE session = ? ORDER BY revision", (session,))


def events(db: sqlite3.Connection, session: str) -> list[dict[str, Any]]:
    return select(db, "SELECT * FROM drift_event WHERE session = ? ORDER BY number", (session,))


def errors(db: sqlite3.Connection, last: int = 1000) -> list[dict[str, Any]]:
    """Return the last errors of hooks and other code in an agent's path, the latest at the end."""
    rows = select(db, "SELECT * FROM guard_error ORDER BY number DESC LIMIT ?", (last,))
    return rows[::-1]


def summaries(db: sqlite3.Connection, *, task: str) -> list[dict[str, Any]]:
    """Return a summary of each session that was bound to a task, oldest first."""
    out = []
    for row in reversed(sessions(db, task=task)):
        summary = row["summary"] if isinstance(row["summary"], dict) else {}
        out.append(
            {
                "session": row["id"],
                "goal": row["goal"],
                "actions": row["steps"],
                "alarms": summary.get("alarms", 0),
                "worst": summary.get("worst", "none"),
                "needs_review": row["needs_review"],
                "score": row["score"],
                "state": row["course"],
                "status": row["status"],
            }
        )
    return out


def _insert(
    db: sqlite3.Connection, table: str, values: Mapping[str, Any], how: str = "INSERT"
) -> int:
    marks = ", ".join("?" * len(values))
    cursor = db.execute(
        f"{how} INTO {table} ({', '.join(values)}) VALUES ({marks})",
        tuple(map(_encode, values.values())),
    )
    return cursor.lastrowid or 0


def _encode(value: Any) -> Any:
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value


def _one(db: sqlite3.Connection, query: str, values: tuple[Any, ...]) -> dict[str, Any] | None:
    rows = select(db, query, values)
    return rows[0] if rows else None


def select(db: sqlite3.Connection, query: str, values: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Return the rows of a query by column, with lists and booleans decoded.

    Raises sqlite3.DatabaseError for a cell that does not hold what its column says.
    """
    cursor = db.execute(query, values)
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor]
    for row in rows:
        for name, value in row.items():
            try:
                row[name] = _decode(name, value)
            except (ValueError, TypeError, RecursionError) as error:
                raise db.DatabaseError(f"the column {name} of a record is damaged") from error
    return rows


def _decode(name: str, value: Any) -> Any:
    """Return the value of a cell; raise ValueError or TypeError if its column cannot hold it."""
    wanted: type | tuple[type, ...] = str
    if name in _LISTS:
        value, wanted = json.loads(value), list
    elif name in _BOOLEANS:
        return None if value is None else bool(value)
    elif name in _NUMBERS:
        wanted = (int, float)
    elif name in _TIMES:
        wanted = str if value[4:5] == "-" and value[7:8] == "-" else ()
    elif name == "level":
        wanted = str if value in _LEVELS else ()
    elif name in _OBJECTS:
        value, wanted = json.loads(value) if value else None, dict
    if value is None and name in _OPTIONAL:
        return None
    if not isinstance(value, wanted):
        raise TypeError(name)
    return value
