"""The books of the watch: a session's engine, charter and steps, as they are kept and recalled."""

from __future__ import annotations

from kedge.host import clock
from kedge.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from typing import Any

    from kedge.drift.engine import Session

_EARLIER = 2  # steps to go back to that a correction names
_SAID = 4_000  # characters of a message
_WORDS = 40  # of the goal
_RECALLED = ("session", "id", "position", "action_type", "files", "command", "drift_score", "why")


def keep(db: sqlite3.Connection, name: str, session: Session, **more: Any) -> None:
    """How the session stands, and all that its next event needs."""
    charter = session.charter
    sessions.change(
        db,
        name,
        goal=charter.goal,
        scope=[path.lstrip("/") for path in charter.scope or charter.named[:50]],
        constraints=[each.quote for each in charter.constraints],
        keywords=[word for word, _ in charter.words[:_WORDS]],
        score=session.course.score,
        course=session.course.state,
        escalation=session.course.escalation,
        engine=session.data(),
        checked_at=clock.now(),
        **more,
    )


def keep_charter(db: sqlite3.Connection, name: str, session: Session, said: str) -> None:
    """A revision of what was asked, with the message that made it."""
    charter = session.charter
    sessions.add_charter(
        db,
        name,
        revision=charter.revision,
        at=clock.now(),
        said=said[:_SAID],
        goal=charter.goal,
        constraints=[{"kind": each.kind, "quote": each.quote} for each in charter.constraints],
        scope=[path.lstrip("/") for path in charter.scope],
    )


def keep_step(db: sqlite3.Connection, name: str, step: dict[str, Any]) -> None:
    """A step, to be found again by its files, folders and words."""
    terms = {
        sessions.FILE: step["files"],
        sessions.FOLDER: step["folders"],
        sessions.KEYWORD: step["keywords"],
    }
    sessions.add_step(db, name, terms, at=clock.now(), **step)


def recalled(
    db: sqlite3.Connection, name: str, session: Session, step: dict[str, Any], besides: str
) -> list[dict[str, Any]]:
    """Past steps that bear on this one."""
    from kedge.store.recall import recall

    found = recall(
        db,
        name,
        files=step["files"],
        folders=step["folders"],
        keywords=list(session.state.words)[-_WORDS:],
        besides=besides,
    )
    return [{key: one[key] for key in _RECALLED} for one in found]


def earlier(session: str, found: Sequence[dict[str, Any]]) -> list[str]:
    """The session's own steps on course among those that were recalled, in a few words each."""
    return [
        f"{one['action_type']} {', '.join(one['files'][:2]) or one['command'][:60]}"
        for one in found
        if one["session"] == session and one["drift_score"] >= 8
    ][:_EARLIER]
