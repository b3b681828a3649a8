"""The last anchor of each agent."""

from __future__ import annotations

import sqlite3

import pytest

from kedge.store import anchors


def test_an_agent_without_an_anchor_has_no_digests(db: sqlite3.Connection) -> None:
    anchors.save(db, "ada", {"task": "t1"}, "2026-01-01")
    assert anchors.read_last(db, "bob") == {}


def test_an_anchor_replaces_the_last_one_of_the_same_agent_only(db: sqlite3.Connection) -> None:
    anchors.save(db, "ada", {"task": "t1", "git": "g1"}, "2026-01-01")
    anchors.save(db, "bob", {"task": "t1"}, "2026-01-02")
    anchors.save(db, "ada", {"task": "t2"}, "2026-01-03")
    assert anchors.read_last(db, "ada") == {"task": "t2"}
    assert anchors.read_last(db, "bob") == {"task": "t1"}


def test_only_the_latest_anchors_are_kept(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchors, "_MOST", 3)
    for number in range(6):
        anchors.save(db, f"agent-{number}", {"task": "t", "git": "g"}, f"2026-01-0{number + 1}")
    keys = db.execute("SELECT DISTINCT key FROM anchor ORDER BY key").fetchall()
    assert keys == [("agent-3",), ("agent-4",), ("agent-5",)]


def test_an_anchor_that_cannot_be_written_leaves_the_last_one(db: sqlite3.Connection) -> None:
    anchors.save(db, "ada", {"task": "t1"}, "2026-01-01")
    with pytest.raises(sqlite3.IntegrityError):
        anchors.save(db, "ada", {"task": "t2", "git": None}, "2026-01-02")  # type: ignore[dict-item]
    assert not db.in_transaction
    assert anchors.read_last(db, "ada") == {"task": "t1"}
