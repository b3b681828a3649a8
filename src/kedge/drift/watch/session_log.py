"""Save a session's engine, charter and steps in the store, and recall earlier steps."""

from __future__ import annotations

from kedge.host import clock
from kedge.host.redact import redact
from kedge.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from typing import Any

    from kedge.drift.engine import Session
    from kedge.drift.limits.limit import Limit
    from kedge.drift.scoring import Verdict

_EARLIER = 2  # steps to go back to in a correction
_MESSAGE = 1 << 16  # characters of a message, in which quotes of the user are looked up
_WORDS = 40  # words of the goal
_REASONING = 600  # characters of what the agent says
_RECALLED = ("session", "id", "position", "action_type", "files", "command", "drift_score", "why")


def save_session(db: sqlite3.Connection, name: str, session: Session, **more: Any) -> None:
    """Save the status of the session, and everything that its next event needs."""
    charter = session.charter
    sessions.change(
        db,
        name,
        goal=charter.goal,
        scope=[path.lstrip("/") for path in charter.scope or charter.named[:50]],
        limits=[each.quote for each in charter.limits],
        keywords=[word for word, _ in charter.words[:_WORDS]],
        score=session.course.score,
        course=session.course.state,
        escalation=session.course.escalation,
        engine=session.data(),
        checked_at=clock.now(),
        **more,
    )
    _save_limits(db, name, charter.limits)


def _save_limits(db: sqlite3.Connection, name: str, limits: Sequence[Limit]) -> None:
    """Record which limits came, changed or ended since the session was last saved."""
    known = {row["id"]: row for row in sessions.limits(db, name) if row["lifted"] is None}
    now = clock.now()
    held = {limit.id: limit for limit in limits}
    for key, limit in held.items():
        content, row = limit.data(), known.get(key)
        if row is None:
            sessions.add_limit(db, name, id=key, content=content, since=now)
        elif row["content"] != content:
            sessions.change_limits(db, [row["number"]], content=content)
    ended = [row["number"] for key, row in known.items() if key not in held]
    if ended:
        sessions.change_limits(db, ended, lifted=now)


def save_charter(
    db: sqlite3.Connection, name: str, session: Session, message: str, at: str
) -> None:
    """Save a revision of the charter, with the message that caused it and its time."""
    charter = session.charter
    sessions.add_charter(
        db,
        name,
        revision=charter.revision,
        at=at,
        said=message[:_MESSAGE],
        goal=charter.goal,
        limits=[{"kind": each.kind, "quote": each.quote} for each in charter.limits],
        scope=[path.lstrip("/") for path in charter.scope],
    )


def save_step(db: sqlite3.Connection, name: str, step: dict[str, Any]) -> None:
    """Save a step, indexed by its files, folders and words."""
    terms = {
        sessions.FILE: step["files"],
        sessions.FOLDER: step["folders"],
        sessions.KEYWORD: step["keywords"],
    }
    sessions.add_step(db, name, terms, at=clock.now(), **step)


def shorten_reasoning(text: str) -> str:
    """Return what an agent said before a step as it is kept: without secrets, the end of it."""
    return redact(text)[-_REASONING:]


def save_event(
    db: sqlite3.Connection,
    name: str,
    session: Session,
    step: str,
    verdict: Verdict,
    level: str,
    before: str,
) -> None:
    """Save that a step strayed; `before` is the course until then."""
    sessions.add_event(
        db,
        name,
        step=step,
        at=clock.now(),
        score=verdict.score,
        level=level,
        before=before,
        after=session.course.state,
        escalation=session.course.escalation,
        evidence=[list(rule) for rule in verdict.rules],
    )


def extend_step(
    db: sqlite3.Connection, name: str, step: dict[str, Any], found: dict[str, Any]
) -> None:
    """Add to a step what was found about it after it was done; the lower score counts."""
    more: dict[str, Any] = {
        "files": list(dict.fromkeys((*found["files"], *step["files"]))),
        "changes": True,
    }
    if found["drift_score"] < step["drift_score"]:
        columns = ("drift_score", "drift_type", "level", "is_validated", "lacks")
        more |= {column: found[column] for column in columns}
        more["rules"] = [*found["rules"], *step["rules"]]
    sessions.change_step(db, name, step["id"], **more)


def deliver(db: sqlite3.Connection, name: str, session: Session, subagent: str | None) -> list[str]:
    """Return the corrections to give now: to the subagent that acted, or to any with None."""
    steps = {}
    for each in session.course.pending:
        step = sessions.step(db, name, each.action)
        if step is not None and (subagent is None or step["subagent"] == subagent):
            steps[each.action] = step
    if not steps:
        return []
    earlier = [text for step in steps.values() for text in describe_steps(name, step["recalled"])]
    corrections = session.deliver(tuple(steps), earlier)
    for one in corrections:
        sessions.change_step(db, name, one.action, correction_given=one.text)
    return [one.text for one in corrections]


def recall_steps(
    db: sqlite3.Connection, name: str, session: Session, step: dict[str, Any], besides: str
) -> list[dict[str, Any]]:
    """Return past steps that are related to this one."""
    from kedge.store.recall import recall

    steps = recall(
        db,
        name,
        files=step["files"],
        folders=step["folders"],
        keywords=list(session.memory.words)[-_WORDS:],
        besides=besides,
    )
    return [{key: one[key] for key in _RECALLED} for one in steps]


def describe_steps(session: str, recalled: Sequence[dict[str, Any]]) -> list[str]:
    """Describe what the session itself did on course among the recalled steps, in a few words."""
    return [
        f"{one['action_type']} {', '.join(one['files'][:2]) or one['command'][:60]}"
        for one in recalled
        if one["session"] == session and one["drift_score"] >= 8 and one["action_type"] != "read"
    ][:_EARLIER]
