"""A damaged database is reported in one line, kept whole, and never a bug."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from drift.recorded import FIRST, OTHER, Recorded
from support import Kedge, assert_clear

_TABLES = ("session", "charter", "step", "drift_event", "session_limit", "guard_error")
_BAD = ("{", "[1", "7", b"\xff\x00", None, -(2**62), 1e308)
COMMANDS = (
    ("drift", "status", "--all"),
    ("drift", "explain", "last"),
    ("drift", "report"),
    ("drift", "limit", "list", "--session", FIRST),
)


@pytest.fixture
def record(repo: Path) -> Iterator[Recorded]:
    with closing(Recorded(repo)) as made:
        made.add_drift()
        made.add_drift(OTHER)
        yield made


def spoil(path: Path, table: str, column: str, value: object) -> bool:
    """Set all cells of a column; False where the table's own rules refuse the value."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        try:
            return db.execute(f"UPDATE {table} SET {column} = ?", (value,)).rowcount > 0
        except sqlite3.IntegrityError:
            return False


def list_columns(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as db:
        return [
            (table, row[1])
            for table in _TABLES
            for row in db.execute(f"PRAGMA table_info({table})")
        ]


def test_damaged_cells_are_reported_in_one_line(repo: Path, kedge: Kedge, record: Recorded) -> None:
    record.close()
    path = repo / ".git" / "kedge" / "kedge.db"
    good = path.read_bytes()
    spoiled = 0
    for number, (table, column) in enumerate(list_columns(path)):
        path.write_bytes(good)
        value = _BAD[number % len(_BAD)]
        if not spoil(path, table, column, value):
            continue
        spoiled += 1
        for command in COMMANDS if table == "session" else COMMANDS[1:2]:
            ran = kedge(*command, code=None)
            assert ran.code in (0, 1), (table, column, value, command, ran)
            if ran.code == 1:
                assert_clear(ran, code=1, says="")
    assert spoiled > 20


def damage_pages(path: Path) -> None:
    """Overwrite the pages of the tables, but not those of the schema: the database still opens."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = db.execute("PRAGMA page_size").fetchone()[0]
        roots = [number for (number,) in db.execute("SELECT rootpage FROM sqlite_master")]
    data = bytearray(path.read_bytes())
    for number in roots:
        data[(number - 1) * size : number * size] = b"\xa5" * size
    path.write_bytes(data)


def test_damaged_pages_are_reported_in_one_line(repo: Path, kedge: Kedge, record: Recorded) -> None:
    record.close()
    path = repo / ".git" / "kedge" / "kedge.db"
    kedge("init", "--no-hooks")
    damage_pages(path)
    ran = kedge("doctor", "--no-probe", code=4)
    assert f"problem\tdatabase\t{path}: " in ran.out
    for command in COMMANDS:
        assert_clear(kedge(*command, code=1), code=1, says="malformed")


def test_a_damaged_database_is_kept_with_its_log(repo: Path, kedge: Kedge) -> None:
    """What was written last is in the -wal file: without it the copy cannot be repaired."""
    home = repo / ".git" / "kedge"
    home.mkdir()
    (home / "kedge.db").write_bytes(b"not a database at all" * 400)
    (home / "kedge.db-wal").write_bytes(b"the last records")
    (home / "kedge.db-shm").write_bytes(b"an index")
    (repo / "a.py").write_text("def f(): ...\n")
    assert "was damaged" in kedge("map").err
    (broken,) = home.glob("kedge.db.broken-*Z")
    assert broken.read_bytes().startswith(b"not a database")
    assert Path(f"{broken}-wal").read_bytes() == b"the last records"
    assert (
        not (home / "kedge.db-wal").exists() or b"last" not in (home / "kedge.db-wal").read_bytes()
    )


@pytest.mark.parametrize("name", ["kedge.db", "kedge.db-wal", "kedge.db-shm"])
def test_a_link_in_place_of_the_database_is_not_followed(
    repo: Path, kedge: Kedge, tmp_path: Path, name: str
) -> None:
    home = repo / ".git" / "kedge"
    (repo / "a.py").write_text("def f(): ...\n")
    kedge("map")
    victim = tmp_path / "victim"
    victim.write_bytes((home / name).read_bytes() if name == "kedge.db" else b"mine")
    before = victim.read_bytes()
    (home / name).unlink(missing_ok=True)
    (home / name).symlink_to(victim)
    (repo / "b.py").write_text("def g(): ...\n")
    ran = kedge("drift", "status", code=1)
    assert_clear(ran, code=1, says="is a link")
    assert "is a link" in kedge("map").err  # without its cache
    assert victim.read_bytes() == before
    assert (home / name).is_symlink()
    ran = kedge("doctor", "--no-probe", code=None)
    assert ran.code in (1, 4)
    event = '{"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "x"}'
    assert kedge("hook", "claude", input=event).out == ""
    assert victim.read_bytes() == before


def test_a_schema_that_is_no_text_is_damage(repo: Path, kedge: Kedge) -> None:
    """SQLite quotes the damaged bytes in its message, which Python then cannot decode."""
    path = repo / ".git" / "kedge" / "kedge.db"
    (repo / "a.py").write_text("def f(): ...\n")
    kedge("init", "--no-hooks")
    kedge("map")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damaged = path.read_bytes().replace(b"CREATE TABLE step (", b"CREATE TABL\x81 step (")
    path.write_bytes(damaged)
    for command in (("map",), ("drift", "limit", "list"), ("doctor", "--no-probe")):
        path.write_bytes(damaged)
        ran = kedge(*command)
        assert "damaged" in ran.out + ran.err, command
    path.write_bytes(damaged)
    assert "cannot be read" in kedge("uninstall", "--yes").out
    assert path.read_bytes() == damaged


def test_the_map_is_made_without_damaged_cells(repo: Path, kedge: Kedge) -> None:
    path = repo / ".git" / "kedge" / "kedge.db"
    for number in range(3):
        text = f"def f{number}(): ...\n\ndef g(): f{(number + 1) % 3}()\n"
        (repo / f"{chr(97 + number)}.py").write_text(text)
    expected = kedge("map", "--output", "-").out
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        columns = [
            (table, row[1])
            for (table,) in db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'map%'")
            for row in db.execute(f"PRAGMA table_info({table})")
        ]
    good = path.read_bytes()
    spoiled = 0
    for number, (table, column) in enumerate(columns):
        for value in _BAD[number % 3 :: 3]:
            path.write_bytes(good)
            if spoil(path, table, column, value):
                spoiled += 1
                ran = kedge("map", "--output", "-", code=None)
                assert (ran.code, ran.out) == (0, expected), (table, column, value, ran)
    assert spoiled > 15
