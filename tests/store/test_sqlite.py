"""Opening the database: created where it is missing, replaced where it is damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kedge.errors import FileError
from kedge.store import sqlite


def test_the_database_and_its_directory_are_created(tmp_path: Path) -> None:
    db, warnings = sqlite.connect(tmp_path / "a" / "b")
    with closing(db):
        assert warnings == []
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (1,)
    assert (tmp_path / "a" / "b" / "kedge.db").is_file()


def test_rows_are_there_when_it_is_opened_again(tmp_path: Path) -> None:
    db, _ = sqlite.connect(tmp_path)
    with closing(db):
        db.execute("INSERT INTO anchor VALUES ('k', 's', 'd', '2026')")
    db, _ = sqlite.connect(tmp_path)
    with closing(db):
        assert db.execute("SELECT key FROM anchor").fetchall() == [("k",)]


def test_a_damaged_database_is_renamed_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / sqlite.FILE
    path.write_bytes(b"this is no database" * 100)
    (tmp_path / f"{sqlite.FILE}-wal").write_bytes(b"old log")
    db, (warning,) = sqlite.connect(tmp_path)
    with closing(db):
        assert db.execute("SELECT count(*) FROM session").fetchone() == (0,)
    broken, *beside = sorted(tmp_path.glob("kedge.db.broken-*"))
    assert broken.read_bytes() == b"this is no database" * 100
    assert {one.name: one.read_bytes() for one in beside}[f"{broken.name}-wal"] == b"old log"
    assert str(path) in warning
    assert broken.name in warning
    assert ":" not in broken.name


def test_a_database_that_cannot_be_opened_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / sqlite.FILE).mkdir()
    with pytest.raises(FileError, match=f"cannot use {tmp_path / sqlite.FILE}") as caught:
        sqlite.connect(tmp_path)
    assert "KEDGE_HOME" in (caught.value.hint or "")
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="cannot use"):
        sqlite.connect(tmp_path / "file" / "home")


def test_a_database_that_is_busy_is_not_taken_for_a_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file must stay: another process is writing it."""
    with closing(sqlite3.connect(tmp_path / sqlite.FILE, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.execute("CREATE TABLE x (y)")
        monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
        with pytest.raises(FileError, match="database is locked"):
            sqlite.connect(tmp_path)
        other.execute("COMMIT")
        assert other.execute("SELECT count(*) FROM x").fetchone() == (0,)
    assert list(tmp_path.glob("*.broken-*")) == []
