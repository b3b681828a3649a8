"""Damage, lock or hide the database, and see that every command works or says so in one line."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from faults import judge, state
from faults.case import Case
from faults.kills import Reference, prepare
from faults.world import Command, World

Damage = Callable[[Path], object]


def _scramble(path: Path, start: int, share: float) -> None:
    """Overwrite a share of the bytes, from a page on."""
    data = bytearray(path.read_bytes())
    source = random.Random(1)
    for _ in range(int(len(data) * share)):
        if len(data) > start:
            data[source.randrange(start, len(data))] = source.randrange(256)
    path.write_bytes(bytes(data))


def _truncate(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def _fill_cells(path: Path, value: object) -> None:
    """Put a value that does not belong there into every cell that takes it."""
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = WAL")
        tables = [
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        for table in tables:
            for _, column, *_ in db.execute(f"PRAGMA table_info({table})").fetchall():
                try:
                    db.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))
                except sqlite3.Error:
                    continue
    db.close()


def _drop_tables(path: Path) -> None:
    with sqlite3.connect(path) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall():
            if not name.startswith("sqlite_"):
                db.execute(f"DROP TABLE {name}")
    db.close()


def _set_version(path: Path, version: int) -> None:
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {version}")
    db.close()


def _replace_by_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _replace_by_link(path: Path) -> None:
    path.rename(path.parents[3] / "outside" / "theirs.db")
    path.symlink_to(path.parents[3] / "outside" / "theirs.db")


def _beside(path: Path, tail: str, data: bytes) -> int:
    return path.with_name(path.name + tail).write_bytes(data)


_GARBAGE = random.Random(2).randbytes(50_000)
DAMAGES: dict[str, Damage] = {
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(_GARBAGE),
    "text": lambda path: path.write_text("not a database\n"),
    "header": lambda path: path.write_bytes(b"X" * 100 + path.read_bytes()[100:]),
    "pages": lambda path: _scramble(path, 4096, 0.2),
    "some bytes": lambda path: _scramble(path, 100, 0.002),
    "half": lambda path: _truncate(path, 0.5),
    "one page": lambda path: _truncate(path, 0.02),
    "cells NULL": lambda path: _fill_cells(path, None),
    "cells number": lambda path: _fill_cells(path, 7),
    "cells text": lambda path: _fill_cells(path, "{broken"),
    "cells blob": lambda path: _fill_cells(path, b"\xff\xfe"),
    "no tables": _drop_tables,
    "newer": lambda path: _set_version(path, 9_999),
    "older": lambda path: _set_version(path, 0),
    "wal": lambda path: _beside(path, "-wal", _GARBAGE),
    "wal and shm": lambda path: [_beside(path, tail, _GARBAGE) for tail in ("-wal", "-shm")],
    "journal": lambda path: _beside(path, "-journal", _GARBAGE),
    "directory": _replace_by_directory,
    "link": _replace_by_link,
}
LOCKED = "locked"
# Commands wait ten seconds for a lock, so that not all are worth it.
LOCKED_FOR = ("task claim (jsonl)", "map", "anchor", "drift limit add", "hook PreToolUse Edit")


def run_command(top: Path, command: Command, kinds: list[str]) -> list[Case]:
    """Run a command with each kind of damage."""
    world = World(top)
    reference = prepare(world, command)
    if not (world.data / "kedge.db").exists():
        world.restore()
        world.kedge("task", "list")
        world.kedge("map", "--output", "-", "--for", "sail")
        world.save()
    found = []
    for kind in kinds:
        world.restore()
        if (world.data / "kedge.db").exists():
            found.append(_run_damaged(world, command, kind, reference))
    return found


def _run_damaged(world: World, command: Command, kind: str, reference: Reference) -> Case:
    case = Case("database", command.name, kind)
    kept = state.read_files(world).keys() & reference.once.raw.keys()
    path = world.data / "kedge.db"
    users = [name for name in kept if not state.is_own(name)]
    holder: sqlite3.Connection | None = None
    if kind == LOCKED:
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
    else:
        DAMAGES[kind](path)
    begin = time.monotonic()
    ended = world.run(command)
    if time.monotonic() - begin > judge.MOST_SECONDS:
        case.problems.append(f"took {time.monotonic() - begin:.0f} s")
    if holder is not None:
        holder.close()
    case.problems += judge.find_bad_answer(command, ended, (*reference.codes, 4))
    for name in users:
        if not (world.top / name).exists():
            case.problems.append(f"lost: {name}")
    return case
