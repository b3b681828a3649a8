"""Agents' sessions in the database: what was asked, each step with its verdict, where they strayed.

Writers hold one transaction per event, so that hooks of parallel tool calls come one after another.
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
_LISTS = ("scope", "constraints", "keywords", "files", "folders", "rules", "recalled", "evidence",
          "lacks")  # fmt: skip
_TRUTHS = ("changes", "is_key_decision", "is_validated", "needs_review", "ok")
_SHOWN = (
    "id, agent, project, task, policy, goal, scope, constraints, keywords, score, course,"
    " escalation, steps, status, transcript, needs_review, started_at, checked_at, ended_at,"
    " summary"
)


@contextlib.contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """One event, whole or not at all."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def get(db: sqlite3.Connection, session: str) -> dict[str, Any] | None:
    """The session's row, or nothing."""
    return _one(db, "SELECT * FROM session WHERE id = ?", (session,))


def add(db: sqlite3.Connection, session: str, **values: Any) -> dict[str, Any]:
    """Begin a session; its row."""
    _insert(db, "session", {"id": session, **values})
    return _all(db, "SELECT * FROM session WHERE id = ?", (session,))[0]


def change(db: sqlite3.Connection, session: str, **values: Any) -> None:
    names = ", ".join(f"{name} = ?" for name in values)
    db.execute(
        f"UPDATE session SET {names} WHERE id = ?",  # noqa: S608 - names of this module's callers
        (*map(_stored, values.values()), session),
    )


def add_charter(db: sqlite3.Connection, session: str, **values: Any) -> None:
    _insert(db, "charter", {"session": session, **values}, "INSERT OR REPLACE")


def step(db: sqlite3.Connection, session: str, id: str) -> dict[str, Any] | None:  # noqa: A002
    return _one(db, "SELECT * FROM step WHERE session = ? AND id = ?", (session, id))


def add_step(
    db: sqlite3.Connection, session: str, terms: Mapping[str, Iterable[str]], **values: Any
) -> int:
    """Keep a step, to be found again by its terms; its number."""
    number = _insert(db, "step", {"session": session, **values})
    db.executemany(
        "INSERT OR IGNORE INTO step_term VALUES (?, ?, ?)",
        [(kind, term, number) for kind, found in terms.items() for term in found],
    )
    return number


def change_step(db: sqlite3.Connection, session: str, id: str, **values: Any) -> None:  # noqa: A002
    names = ", ".join(f"{name} = ?" for name in values)
    db.execute(
        f"UPDATE step SET {names} WHERE session = ? AND id = ?",  # noqa: S608 - as above
        (*map(_stored, values.values()), session, id),
    )


def add_event(db: sqlite3.Connection, session: str, **values: Any) -> None:
    _insert(db, "drift_event", {"session": session, **values})


def add_error(db: sqlite3.Connection, **values: str) -> None:
    _insert(db, "guard_error", values)


def sessions(
    db: sqlite3.Connection, *, project: str | None = None, task: str | None = None, last: int = 1000
) -> list[dict[str, Any]]:
    """The last sessions, the latest first, without what only their next event needs."""
    wanted = {"project": project, "task": task}
    given = {name: value for name, value in wanted.items() if value is not None}
    where = " AND ".join(f"{name} = ?" for name in given) or "1"
    return _all(
        db,
        f"SELECT {_SHOWN} FROM session WHERE {where} ORDER BY checked_at DESC, id LIMIT ?",  # noqa: S608
        (*given.values(), last),
    )


def named(db: sqlite3.Connection, beginning: str) -> list[str]:
    """The ids of the sessions that begin so."""
    query = "SELECT id FROM session WHERE substr(id, 1, ?) = ? ORDER BY id"
    return [name for (name,) in db.execute(query, (len(beginning), beginning))]


def steps(db: sqlite3.Connection, session: str, *, last: int | None = None) -> list[dict[str, Any]]:
    """The session's steps in their order, or only the last of them."""
    query = "SELECT * FROM step WHERE session = ? ORDER BY position DESC LIMIT ?"
    return _all(db, query, (session, -1 if last is None else last))[::-1]


def charters(db: sqlite3.Connection, session: str) -> list[dict[str, Any]]:
    return _all(db, "SELECT * FROM charter WHERE session = ? ORDER BY revision", (session,))


def events(db: sqlite3.Connection, session: str) -> list[dict[str, Any]]:
    return _all(db, "SELECT * FROM drift_event WHERE session = ? ORDER BY number", (session,))


def errors(db: sqlite3.Connection, last: int = 1000) -> list[dict[str, Any]]:
    """What went wrong in agents' paths, the latest at the end."""
    found = _all(db, "SELECT * FROM guard_error ORDER BY number DESC LIMIT ?", (last,))
    return found[::-1]


def summaries(db: sqlite3.Connection, *, task: str) -> list[dict[str, Any]]:
    """How the sessions that were bound to a task went, the first one first."""
    found = []
    for row in reversed(sessions(db, task=task)):
        summary = row["summary"] if isinstance(row["summary"], dict) else {}
        found.append(
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
    return found


def _insert(
    db: sqlite3.Connection, table: str, values: Mapping[str, Any], how: str = "INSERT"
) -> int:
    marks = ", ".join("?" * len(values))
    done = db.execute(
        f"{how} INTO {table} ({', '.join(values)}) VALUES ({marks})",
        tuple(map(_stored, values.values())),
    )
    return done.lastrowid or 0


def _stored(value: Any) -> Any:
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value


def _one(db: sqlite3.Connection, query: str, values: tuple[Any, ...]) -> dict[str, Any] | None:
    found = _all(db, query, values)
    return found[0] if found else None


def _all(db: sqlite3.Connection, query: str, values: tuple[Any, ...]) -> list[dict[str, Any]]:
    cursor = db.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [_row(dict(zip(names, row, strict=True))) for row in cursor]


def _row(row: dict[str, Any]) -> dict[str, Any]:
    for name in _LISTS:
        if name in row:
            row[name] = json.loads(row[name])
    for name in _TRUTHS:
        if row.get(name) is not None:
            row[name] = bool(row[name])
    if row.get("summary"):
        row["summary"] = json.loads(row["summary"])
    return row
