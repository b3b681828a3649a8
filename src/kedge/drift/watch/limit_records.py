"""The limits of recorded sessions: list them, add one in the user's words, lift one.

An agent and a judge add limits by quoting the user; only the user lifts them. Callers hold a
transaction.

The hook records an agent's limit as well as the command: the sandbox of an agent may keep the
command from writing to the database, as that of Codex does.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kedge.drift.charter import add_limits
from kedge.drift.engine import Session
from kedge.drift.language.prompts import users_words
from kedge.drift.limits import quotes
from kedge.drift.limits.limit import Limit, parse
from kedge.drift.limits.options import describe
from kedge.drift.watch import session_log
from kedge.errors import InvalidValue
from kedge.host.agent_session import SESSION_IDS
from kedge.host.redact import redact
from kedge.host.text import shorten
from kedge.store import sessions, sqlite

_LONGEST = 80  # characters of a quote in an error


def find_own_session(db: sqlite3.Connection, environment: Mapping[str, str]) -> str | None:
    """Return the id of the watched session that started this process, or None."""
    names = (environment.get(name, "") for name in SESSION_IDS)
    return next((name for name in names if name and sessions.get(db, name)), None)


def has_said(db: sqlite3.Connection, session: str, quote: str) -> bool:
    """True if the session's user wrote the quote; text of machines in a message is not theirs."""
    wanted = redact(quote)
    said = (users_words(row["said"]) for row in sessions.charters(db, session))
    return any(quotes.has_quote(words, wanted) for words in said)


def refuse_quote(quote: str) -> InvalidValue:
    """Return the error for a quote that is in no message of the user."""
    return InvalidValue(
        f"the user did not write this in the session: “{shorten(quote, _LONGEST)}”",
        hint="quote a part of one message exactly, "
        f"at least {quotes.SHORTEST} characters; nothing was recorded",
    )


def add(db: sqlite3.Connection, session: str, limits: Sequence[Limit]) -> list[dict[str, Any]]:
    """Add limits to a session; return those in force that say the same as the given ones."""
    engine = _load(db, session)
    engine.charter = add_limits(engine.charter, limits)
    _save(db, session, engine)
    return _list_same(db, session, limits)


def find_recorded(
    home: Path, environment: Mapping[str, str], quote: str, limits: Sequence[Limit]
) -> list[dict[str, Any]]:
    """Return the limits in force that say the same, from a database that cannot be written.

    Empty unless the hook recorded all of them in the session that started this process.
    """
    try:
        with sqlite.read(home / sqlite.FILE, more="&immutable=1") as db:
            session = find_own_session(db, environment)
            if session is None:
                return []
            if not has_said(db, session, quote):
                raise refuse_quote(quote)
            found = _list_same(db, session, limits)
    except sqlite3.Error:
        return []
    return found if len(found) >= len(limits) else []


def _list_same(
    db: sqlite3.Connection, session: str, limits: Sequence[Limit]
) -> list[dict[str, Any]]:
    held = {
        limit.id
        for limit in _load(db, session).charter.limits
        if any(limit.rules_out_the_same(each) for each in limits)
    }
    listed = list_limits(db, session)
    return [each for each in listed if each["id"] in held and each["lifted"] is None]


def lift(db: sqlite3.Connection, session: str, limit: str) -> None:
    """Lift a limit of a session, given by its id."""
    engine = _load(db, session)
    left = tuple(each for each in engine.charter.limits if each.id != limit)
    engine.charter = engine.charter._replace(limits=left)
    _save(db, session, engine)


def list_limits(db: sqlite3.Connection, session: str) -> list[dict[str, Any]]:
    """Return the limits of a session in the order in which they came, the lifted ones too."""
    found = []
    for row in sessions.limits(db, session):
        limit = parse(row["content"])
        found.append(
            {
                "id": row["id"],
                **describe(limit),
                "exceptions": list(limit.exceptions),
                "quote": limit.quote,
                "source": limit.source,
                "since": row["since"],
                "lifted": row["lifted"],
                "session": session,
            }
        )
    return found


def _load(db: sqlite3.Connection, session: str) -> Session:
    row = sessions.get(db, session)
    if row is None:
        raise ValueError(f"no session {session!r}")
    engine = Session(row["project"])
    if row["engine"]:
        engine.parse(json.loads(row["engine"]))
    return engine


def _save(db: sqlite3.Connection, session: str, engine: Session) -> None:
    session_log.save_session(db, session, engine)
    for row in sessions.charters(db, session)[-1:]:  # what holds after the last message
        held = [{"kind": each.kind, "quote": each.quote} for each in engine.charter.limits]
        sessions.add_charter(db, **(row | {"limits": held}))


def find_by_id(limits: Iterable[dict[str, Any]], given: str) -> list[dict[str, Any]]:
    """Return the limits in force whose id begins so."""
    return [each for each in limits if each["lifted"] is None and each["id"].startswith(given)]
