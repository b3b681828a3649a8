"""Sessions: values come back with their types, in order, and an event is written whole."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from kedge.store import sessions
from kedge.store.recall import recall

SESSION: dict[str, Any] = {
    "agent": "claude",
    "project": "/p",
    "policy": "advise",
    "started_at": "2026-01-01",
    "checked_at": "2026-01-01",
}
STEP: dict[str, Any] = {
    "position": 1,
    "subagent": "",
    "tool": "Edit",
    "action_type": "edit",
    "files": ["src/a.py"],
    "folders": ("src",),
    "command": "",
    "reasoning": "",
    "drift_score": 9,
    "drift_type": "none",
    "level": "none",
    "rules": [["weakened check", 2, "evidence"]],
    "recalled": [],
    "decision": "allow",
    "correction_given": "",
    "changes": True,
    "is_key_decision": False,
    "is_validated": True,
    "keywords": ["tide"],
    "ok": None,
    "at": "2026-01-01",
}


def add_step(db: sqlite3.Connection, session: str, number: int, **values: Any) -> int:
    return sessions.add_step(
        db, session, {}, **{**STEP, "id": f"call-{number}", "position": number, **values}
    )


def test_an_unknown_session_is_none(db: sqlite3.Connection) -> None:
    assert sessions.get(db, "s1") is None
    assert sessions.step(db, "s1", "call-1") is None
    assert sessions.sessions(db) == []


def test_a_new_session_has_defaults(db: sqlite3.Connection) -> None:
    row = sessions.add(db, "s1", **SESSION)
    assert row == sessions.get(db, "s1")
    assert {name: row[name] for name in SESSION} == SESSION
    assert (row["score"], row["course"], row["status"]) == (10, "NORMAL", "active")
    assert row["needs_review"] is False
    assert (row["scope"], row["limits"], row["keywords"]) == ([], [], [])
    assert (row["task"], row["summary"], row["ended_at"]) == (None, None, None)


def test_a_change_sets_the_named_columns_of_one_session(db: sqlite3.Connection) -> None:
    for name in ("s1", "s2"):
        sessions.add(db, name, **SESSION)
    sessions.change(
        db, "s1", scope=("src/ä/",), needs_review=True, summary={"alarms": 2}, score=4.5
    )
    row = sessions.get(db, "s1")
    assert row is not None
    assert (row["scope"], row["needs_review"], row["score"]) == (["src/ä/"], True, 4.5)
    assert row["summary"] == {"alarms": 2}
    assert row["policy"] == "advise"
    assert sessions.get(db, "s2") == {**row, "id": "s2", "scope": [], "needs_review": False} | {
        "score": 10,
        "summary": None,
    }


def test_steps_come_back_in_order_with_their_types(db: sqlite3.Connection) -> None:
    second, first, third = (add_step(db, "s1", position) for position in (2, 1, 3))
    add_step(db, "other", 4)
    steps = sessions.steps(db, "s1")
    assert [step["position"] for step in steps] == [1, 2, 3]
    assert [step["number"] for step in steps] == [first, second, third]
    assert second < first < third
    step = steps[0]
    assert (step["files"], step["folders"], step["keywords"]) == (
        ["src/a.py"],
        ["src"],
        ["tide"],
    )
    assert step["rules"] == [["weakened check", 2, "evidence"]]
    assert (step["changes"], step["is_key_decision"], step["ok"]) == (True, False, None)
    assert step["lacks"] == []
    assert step == sessions.step(db, "s1", "call-1")
    assert [step["position"] for step in sessions.steps(db, "s1", last=2)] == [2, 3]
    assert sessions.steps(db, "s1", last=0) == []


def test_a_step_is_recalled_by_each_of_its_terms(db: sqlite3.Connection) -> None:
    terms = {sessions.FILE: ["src/a.py", "src/a.py"], sessions.KEYWORD: ["tide", "moon"]}
    sessions.add_step(db, "s1", terms, id="call-1", **STEP)
    add_step(db, "s1", 2)
    assert [step["id"] for step in recall(db, "s1", files=["src/a.py"])] == ["call-1"]
    for word in ("tide", "moon"):
        assert [step["id"] for step in recall(db, "s1", keywords=[word])] == ["call-1"]
    assert recall(db, "s1", files=["tide"], folders=["src"]) == []


def test_lists_are_stored_as_json_that_people_can_read(db: sqlite3.Connection) -> None:
    sessions.add(db, "s1", **SESSION, scope=["src/größe/", "b"])
    assert db.execute("SELECT scope FROM session").fetchone() == ('["src/größe/","b"]',)


def test_a_step_changes_alone(db: sqlite3.Connection) -> None:
    add_step(db, "s1", 1)
    add_step(db, "s1", 2)
    add_step(db, "s2", 1)
    sessions.change_step(db, "s1", "call-1", ok=False, rules=[])
    changed = [(step["ok"], step["rules"] == []) for step in sessions.steps(db, "s1")]
    assert changed == [(False, True), (None, False)]
    assert sessions.steps(db, "s2")[0]["ok"] is None


def test_a_call_is_recorded_once(db: sqlite3.Connection) -> None:
    """Hooks and the proxy may both report it."""
    add_step(db, "s1", 1)
    with pytest.raises(sqlite3.IntegrityError):
        add_step(db, "s1", 1)


def test_the_same_revision_of_a_charter_is_replaced(db: sqlite3.Connection) -> None:
    for revision, goal in ((2, "second"), (1, "first"), (2, "second, again")):
        sessions.add_charter(
            db,
            "s1",
            revision=revision,
            at="2026",
            said="words",
            goal=goal,
            limits=[],
            scope=["src/"],
        )
    charters = sessions.charters(db, "s1")
    assert [(one["revision"], one["goal"]) for one in charters] == [
        (1, "first"),
        (2, "second, again"),
    ]
    assert charters[0]["scope"] == ["src/"]
    assert sessions.charters(db, "s2") == []


def test_events_belong_to_their_session(db: sqlite3.Connection) -> None:
    for session, score in (("s1", 3), ("s2", 2), ("s1", 1)):
        sessions.add_event(
            db,
            session,
            step="call-1",
            at="2026",
            score=score,
            level="intervene",
            before="NORMAL",
            after="DRIFTED",
            escalation=1,
            evidence=[{"rule": "limit"}],
        )
    events = sessions.events(db, "s1")
    assert [event["score"] for event in events] == [3, 1]
    assert events[0]["evidence"] == [{"rule": "limit"}]


def test_the_last_errors_come_latest_last(db: sqlite3.Connection) -> None:
    for number in range(5):
        sessions.add_error(
            db, at="2026", agent="claude", session="s1", event="Stop", kedge="1", error=str(number)
        )
    assert [one["error"] for one in sessions.errors(db)] == ["0", "1", "2", "3", "4"]
    assert [one["error"] for one in sessions.errors(db, last=2)] == ["3", "4"]


def test_sessions_are_listed_latest_first_and_filtered(db: sqlite3.Connection) -> None:
    for name, project, task, checked in (
        ("s1", "/p", "t1", "2026-01-01"),
        ("s2", "/p", "t1", "2026-01-03"),
        ("s3", "/q", "t1", "2026-01-02"),
        ("s4", "/p", None, "2026-01-03"),
    ):
        values = {"project": project, "task": task, "checked_at": checked}
        sessions.add(db, name, **{**SESSION, **values})
    assert [row["id"] for row in sessions.sessions(db)] == ["s2", "s4", "s3", "s1"]
    assert [row["id"] for row in sessions.sessions(db, last=2)] == ["s2", "s4"]
    assert [row["id"] for row in sessions.sessions(db, project="/p")] == ["s2", "s4", "s1"]
    assert [row["id"] for row in sessions.sessions(db, project="/p", task="t1")] == ["s2", "s1"]
    assert "engine" not in sessions.sessions(db)[0]


def test_a_thousand_sessions_and_errors_are_listed_unless_more_are_asked_for(
    db: sqlite3.Connection,
) -> None:
    for number in range(1001):
        at = f"2026-01-01T{number:04}"
        sessions.add(db, f"s{number}", **{**SESSION, "checked_at": at})
        sessions.add_error(db, at=at, agent="a", session="", event="", kedge="1", error="x")
    assert [len(rows) for rows in (sessions.sessions(db), sessions.errors(db))] == [1000, 1000]
    assert sessions.sessions(db)[0]["id"] == "s1000"
    assert len(sessions.sessions(db, last=2000)) == len(sessions.errors(db, last=2000)) == 1001


def test_sessions_are_found_by_the_start_of_their_id(db: sqlite3.Connection) -> None:
    for name in ("abc-2", "abc-1", "abd", "ab%"):
        sessions.add(db, name, **SESSION)
    assert sessions.find_ids(db, "abc") == ["abc-1", "abc-2"]
    assert sessions.find_ids(db, "ab%") == ["ab%"]
    assert sessions.find_ids(db, "x") == []
    assert len(sessions.find_ids(db, "")) == 4


def test_summaries_of_a_task_come_oldest_first(db: sqlite3.Connection) -> None:
    rows = (("s2", "t1", "2026-01-02"), ("s1", "t1", "2026-01-01"), ("s3", "t2", "2026-01-03"))
    for name, task, checked in rows:
        sessions.add(db, name, **{**SESSION, "task": task, "checked_at": checked})
    sessions.change(db, "s2", summary={"alarms": 2, "worst": "halt"}, steps=7, needs_review=True)
    first, second = sessions.summaries(db, task="t1")
    assert (first["session"], first["alarms"], first["worst"]) == ("s1", 0, "none")
    assert (second["session"], second["alarms"], second["worst"]) == ("s2", 2, "halt")
    assert (second["actions"], second["needs_review"], second["state"]) == (7, True, "NORMAL")


def test_a_transaction_that_fails_writes_nothing(db: sqlite3.Connection) -> None:
    with pytest.raises(KeyboardInterrupt), sessions.transaction(db):
        sessions.add(db, "s1", **SESSION)
        raise KeyboardInterrupt
    assert not db.in_transaction
    assert sessions.get(db, "s1") is None
    with sessions.transaction(db):
        sessions.add(db, "s1", **SESSION)
    assert not db.in_transaction
    assert sessions.get(db, "s1") is not None
