"""`kedge drift status --follow`: the watched sessions as they change, in a second terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from kedge.cli import drift_view
from kedge.cli.edge import Edge, write
from kedge.cli.session_records import SessionRecords, explain_none, open_records
from kedge.drift.report.account import ACTIVE
from kedge.host import clock
from kedge.host.text import clean
from kedge.store import sqlite

INTERVAL = 0.3  # seconds between two looks at the database
_ALIVE = 2.0  # seconds between two looks at the agents' processes
_OPEN, _HOME, _CLOSE = "\x1b[?1049h\x1b[?25l", "\x1b[H\x1b[J", "\x1b[?25h\x1b[?1049l"
_CHANGES = ("status", "course", "score", "steps", "task", "goal", "last_verdict")

Sessions = dict[str, dict[str, Any]]


def follow(edge: Edge, *, every: bool) -> NoReturn:
    """Show the sessions until the user interrupts: a screen on a terminal, else a line a change."""
    if sys.stdout.isatty() and not edge.json:
        with _open_screen():
            _show_screens(edge, every=every)
    _print_changes(edge, every=every)
    raise AssertionError("a database is watched without end")


def _show_screens(edge: Edge, *, every: bool) -> None:
    before = None
    for record in _watch(edge):
        sessions, nothing = _read(record, set(), every=every)
        after = _list_facts(sessions)
        if after != before:
            rows = list(sessions.values())
            text = drift_view.follow_screen(clock.now(), rows)
            write(_HOME + (text if rows else f"{clean(nothing)}\n"))
        before = after


def _print_changes(edge: Edge, *, every: bool) -> None:
    known: Sessions = {}
    told = False
    for record in _watch(edge):
        sessions, nothing = _read(record, set(known), every=every)
        for name, row in reversed(sessions.items()):  # the latest last
            if _list_facts({name: row}) != _list_facts({name: known.get(name, {})}):
                if edge.json:
                    edge.stream(row)
                else:
                    write(drift_view.follow_line(clock.now(), row))
        if nothing and not known and not told:
            edge.say(nothing)
        told = True
        known = {name: row for name, row in sessions.items() if every or row["status"] == ACTIVE}


def _watch(edge: Edge) -> Iterator[SessionRecords]:
    """Yield the records at the start, and whenever they or an agent's process may have changed."""
    while True:
        with open_records(edge) as record:
            path = record.project.home() / sqlite.FILE
            is_stored, seen, late = path.exists(), None, 0.0
            while is_stored or not path.exists():
                version = record.db.execute("PRAGMA data_version").fetchone()
                if version != seen or time.monotonic() > late:
                    yield record
                    late = time.monotonic() + _ALIVE
                seen = version
                time.sleep(INTERVAL)


def _read(record: SessionRecords, also: set[str], *, every: bool) -> tuple[Sessions, str]:
    """Return the sessions by id, and what to say if there are none."""
    rows, known = record.describe(every=every, also=also)
    for row in rows:
        row["last_verdict"] = drift_view.describe_verdict(record.last_step(row["id"]))
    nothing = "" if rows else explain_none(record.project, known)
    return {row["id"]: row for row in rows}, nothing


def _list_facts(sessions: Sessions) -> list[Any]:
    return [[name, *(row.get(key) for key in _CHANGES)] for name, row in sessions.items()]


@contextmanager
def _open_screen() -> Iterator[None]:
    """Use the terminal's second screen, so that the first one is as it was afterwards."""
    write(_OPEN)
    try:
        yield
    finally:
        write(_CLOSE)
