"""Past steps that bear on what is done: four questions to the record, ten answers at most.

The same file, the same folder, words of the goal, key decisions: in this order, without the steps
that strayed, those of the session first and then the latest.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from typing import Any

    Query = tuple[str, str, tuple[Any, ...]]

MOST = 10
_TERMS = 40  # that one question asks for
_EACH = 20  # answers that are looked at, of one question
_FIRST = 4  # of each question before any gives more
_SHOWN = "number, session, id, position, action_type, files, command, reasoning, drift_score, at"
_BY_TERM = (
    f"SELECT {_SHOWN} FROM step WHERE drift_score >= 5 AND number IN (SELECT step FROM step_term"  # noqa: S608
    " WHERE kind = ? AND term IN ({marks}) ORDER BY step DESC LIMIT 400) ORDER BY"
    " session = ? DESC, number DESC LIMIT ?"
)
_DECISIONS = (
    f"SELECT {_SHOWN} FROM step WHERE is_key_decision AND drift_score >= 5"  # noqa: S608
    " AND number IN (SELECT number FROM step"
    " WHERE is_key_decision ORDER BY number DESC LIMIT 400) ORDER BY session = ? DESC, number DESC"
    " LIMIT ?"
)


def recall(
    db: sqlite3.Connection,
    session: str,
    *,
    files: Sequence[str] = (),
    folders: Sequence[str] = (),
    keywords: Sequence[str] = (),
    besides: str = "",
) -> list[dict[str, Any]]:
    """The steps, each with `why` it was found; the step `besides` is not among them."""
    answers = [
        [
            {**step, "why": why}
            for step in _steps(db, query, values)
            if step["session"] != session or step["id"] != besides
        ]
        for why, query, values in _queries(session, files, folders, keywords)
    ]
    ordered = [step for answer in answers for step in answer[:_FIRST]]
    ordered += [step for answer in answers for step in answer[_FIRST:]]
    found: dict[int, dict[str, Any]] = {}
    for step in ordered:
        found.setdefault(step["number"], step)
    return list(found.values())[:MOST]


def _steps(db: sqlite3.Connection, query: str, values: tuple[Any, ...]) -> list[dict[str, Any]]:
    cursor = db.execute(query, values)
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor]
    return [{**row, "files": json.loads(row["files"])} for row in rows]


def _queries(
    session: str, files: Sequence[str], folders: Sequence[str], keywords: Sequence[str]
) -> list[Query]:
    asked: list[Query] = []
    for kind, why, terms in (
        ("file", "same file", files),
        ("folder", "same folder", folders),
        ("keyword", "words of the goal", keywords),
    ):
        if terms:
            given = terms[:_TERMS]
            query = _BY_TERM.format(marks=", ".join("?" * len(given)))
            asked.append((why, query, (kind, *given, session, _EACH)))
    asked.append(("key decision", _DECISIONS, (session, _EACH)))
    return asked
