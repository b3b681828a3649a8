"""Migrations: every older database becomes the newest one, and keeps its rows."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kedge.errors import FileError
from kedge.store import migrations, sqlite

# The schema that each step adds. A released step must not change: databases that already have it
# would not get the change. Add a step instead.
ADDED = {
    "map_cache": "07d8dcc1537aab4d",
    "anchors": "f055b1d78565b099",
    "sessions": "e70b718485591538",
    "map_neighbours": "dd35ba2f3b254423",
    "limits": "088e75d3a5205397",
    "expected_scope": "c024e0db3e560df7",
    "bindings": "c69a2a6b2cc98d14",
    "limit_records": "0fc36e7909d658a9",
    "unread_messages": "d9f6dc7894cb1a75",
    "session_process": "301f7b5102c1d10f",
    "goal_terms": "000d4dbbb35e6694",
    "acts": "3a30433fce6e8235",
    "step_positions": "35513da7ea43ccd6",
}
# A row for a table of each step.
ROWS = {
    "map_cache": "INSERT INTO map_symbols VALUES (x'01', x'02')",
    "anchors": "INSERT INTO anchor VALUES ('agent', 'task', 'd1', '2026-01-01T00:00:00.000000Z')",
    "sessions": (
        "INSERT INTO session (id, agent, project, policy, started_at, checked_at)"
        " VALUES ('s1', 'claude', '/p', 'advise', '2026', '2026')"
    ),
    "map_neighbours": "INSERT INTO map_near VALUES (1, x'01', x'02')",
    "limits": "INSERT INTO charter VALUES ('s1', 1, '2026', 'said', 'goal', '[]', '[]')",
    "expected_scope": (
        "INSERT INTO session_scope (session, goal, files) VALUES ('s1', 'goal', 'a.py\t100')"
    ),
    "bindings": "INSERT INTO claim VALUES ('k1', '/p', 'ada', '2026')",
    "limit_records": "INSERT INTO session_limit VALUES (1, 's1', 'a1', '{}', '2026', NULL)",
    "unread_messages": (
        "INSERT INTO session (id, agent, project, policy, started_at, checked_at, unread, turn)"
        " VALUES ('s2', 'claude', '/p', 'advise', '2026', '2026', '[]', 2)"
    ),
    "session_process": (
        "INSERT INTO session (id, agent, project, policy, started_at, checked_at, process)"
        " VALUES ('s3', 'claude', '/p', 'advise', '2026', '2026', '1 2')"
    ),
    "goal_terms": "INSERT INTO session_scope VALUES ('s2', 'goal', 'a.py\t100', 'clock\t2500')",
    "acts": "INSERT INTO act VALUES (1, '2026', 'ada', 'lift', 's1:l1', '')",
    "step_positions": (
        "INSERT INTO step_term (kind, term, step) VALUES ('file', 'berths/fees.py', 1)"
    ),
}


def schema(db: sqlite3.Connection) -> list[str]:
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name"
    return [sql for (sql,) in db.execute(query)]


def rows(db: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'migration'"
    return {name: db.execute(f"SELECT * FROM {name}").fetchall() for (name,) in db.execute(query)}


def open_at(
    home: Path, steps: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[sqlite3.Connection, list[str]]:
    """Open the database as the version of kedge did that knew only the first steps."""
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", migrations.STEPS[:steps])
        return sqlite.connect(home)


def test_a_released_step_does_not_change(tmp_path: Path) -> None:
    added = {}
    with closing(sqlite3.connect(tmp_path / "x.db")) as db:
        for step in migrations.STEPS:
            before = schema(db)
            step(db)
            new = [sql for sql in schema(db) if sql not in before]
            added[step.__name__] = hashlib.sha256("\n".join(new).encode()).hexdigest()[:16]
    assert added == ADDED


@pytest.mark.parametrize("steps", range(len(migrations.STEPS)))
def test_an_older_database_is_migrated_and_keeps_its_rows(
    tmp_path: Path, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, _ = open_at(tmp_path / "old", steps, monkeypatch)
    with closing(old):
        for step in migrations.STEPS[:steps]:
            old.execute(ROWS[step.__name__])
        before = rows(old)
        assert old.execute("PRAGMA user_version").fetchone() == (steps,)
    migrated, warnings = sqlite.connect(tmp_path / "old")
    fresh, _ = sqlite.connect(tmp_path / "fresh")
    with closing(migrated), closing(fresh):
        assert warnings == []
        assert schema(migrated) == schema(fresh)
        after = rows(migrated)  # a step may add columns at the end
        assert {
            name: [row[: len(old)] for row, old in zip(after[name], before[name], strict=True)]
            for name in before
        } == before
        names = [name for (name,) in migrated.execute("SELECT name FROM migration ORDER BY rowid")]
        assert names == [step.__name__ for step in migrations.STEPS]
        assert migrated.execute("PRAGMA user_version").fetchone() == (len(migrations.STEPS),)


def test_a_step_is_applied_once(tmp_path: Path) -> None:
    for _ in range(3):
        db, _ = sqlite.connect(tmp_path)
        with closing(db):
            applied = db.execute("SELECT name, applied_at FROM migration").fetchall()
    assert len(applied) == len(migrations.STEPS)


def test_a_step_that_fails_leaves_the_database_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE half (x)")
        db.execute("CREATE TABLE half (x)")

    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", (*migrations.STEPS[:2], half))
        with pytest.raises(FileError, match="table half already exists"):
            sqlite.connect(tmp_path)
    with closing(sqlite3.connect(tmp_path / sqlite.FILE)) as db:
        assert schema(db) == []
        assert db.execute("PRAGMA user_version").fetchone() == (0,)
    db, warnings = sqlite.connect(tmp_path)
    db.close()
    assert warnings == []


def test_a_database_of_a_newer_kedge_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, _ = sqlite.connect(tmp_path)
    with closing(db):
        before = schema(db)
    older, warnings = open_at(tmp_path, 1, monkeypatch)
    with closing(older):
        assert schema(older) == before
        assert older.execute("PRAGMA user_version").fetchone() == (len(migrations.STEPS),)
    assert warnings == []


def test_several_processes_create_one_database(tmp_path: Path) -> None:
    code = "import sys; from kedge.store import sqlite; print(sqlite.connect(sys.argv[1])[1])"
    argv = [sys.executable, "-c", code, str(tmp_path)]
    children = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [child.communicate(timeout=60)[0] for child in children] == ["[]\n"] * 4
    db, _ = sqlite.connect(tmp_path)
    with closing(db):
        (count,) = db.execute("SELECT count(*) FROM migration").fetchone()
    assert count == len(migrations.STEPS)
