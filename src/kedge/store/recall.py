"""Recall past steps that are relevant to the current one: four queries, at most ten steps.

The queries are: same file, same folder, words of the goal, key decisions. Steps of the drift log
are left out, and decisions below 8; steps of the same session come first, then the latest. Hook
path: types are for checkers only.
"""

from __future__ import annotations

from kedge.store.sessions import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from typing import Any

    Query = tuple[str, str, tuple[Any, ...]]

MOST = 10
_TERMS = 40  # terms of one query
_FIRST = 4  # rows of each query that come before further rows of any
_COLUMNS = "number, session, id, position, action_type, files, command, reasoning, drift_score, at"
_BY_TERM = (
    f"SELECT {_COLUMNS} FROM step WHERE is_validated AND number IN (SELECT step FROM step_term"  # noqa: S608
    " WHERE kind = ? AND term IN ({marks}) ORDER BY step DESC LIMIT 400) ORDER BY"
    " session = ? DESC, number DESC LIMIT ?"
)
_DECISIONS = (
    f"SELECT {_COLUMNS} FROM step WHERE is_key_decision AND is_validated AND drift_score >= 8"  # noqa: S608
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
    """Return the steps, each with the query that found it as `why`, without the step `besides`."""
    results = [
        [
            {**step, "why": why}
            for step in select(db, query, values)
            if step["session"] != session or step["id"] != besides
        ]
        for why, query, values in _queries(session, files, folders, keywords)
    ]
    ordered = [step for result in results for step in result[:_FIRST]]
    ordered += [step for result in results for step in result[_FIRST:]]
    unique: dict[int, dict[str, Any]] = {}
    for step in ordered:
        unique.setdefault(step["number"], step)
    return list(unique.values())[:MOST]


def _queries(
    session: str, files: Sequence[str], folders: Sequence[str], keywords: Sequence[str]
) -> list[Query]:
    queries: list[Query] = []
    rows = MOST + 1  # one of them may be the current step
    for kind, why, terms in (
        ("file", "same file", files),
        ("folder", "same folder", folders),
        ("keyword", "words of the goal", keywords),
    ):
        if terms:
            some = terms[:_TERMS]
            query = _BY_TERM.format(marks=", ".join("?" * len(some)))
            queries.append((why, query, (kind, *some, session, rows)))
    queries.append(("key decision", _DECISIONS, (session, rows)))
    return queries
