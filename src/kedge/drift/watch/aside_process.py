"""The process that works aside for a session: reads the user's message, ranks files for the goal,
and asks the judge.

It has a minute, is the only one of its session, and ends itself when a newer message comes or the
session ends. Its faults are recorded as guard errors.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from kedge import __version__, config
from kedge.drift import charter, judge
from kedge.drift.charter import Charter
from kedge.drift.language.prompts import kind, users_words
from kedge.drift.watch import aside, limit_records, sensor
from kedge.errors import ConfigError, KedgeError
from kedge.host import clock, process_tree, project
from kedge.host.redact import redact
from kedge.store import sessions, sqlite

SECONDS = 60.0
TICK = 0.1  # seconds between two looks at the session's file
_CLEAN_UP = 5  # seconds
_NICENESS = 10
_OLD = 30 * 24 * 3600.0  # seconds after which files of sessions that never ended are removed
_MOST_MESSAGES = 5
_ERROR = 2_000  # characters
_EVENT = "aside"


class Job(NamedTuple):
    """The session, and the turn of it that the process works on."""

    root: str
    home: str
    agent: str
    session: str
    turn: int
    unattended: bool

    @property
    def file(self) -> str:
        return aside.locate_turn(self.home, self.session)


class Ended(BaseException):
    """The session ended, a newer message came, or the time is up."""


_ENDED = threading.Event()


def main(args: Sequence[str]) -> None:
    """Do the work of a job, given by its fields, and end the process."""
    root, home, agent, session, turn, attended = args
    job = Job(root, home, agent, session, int(turn), attended == "unattended")
    os.closerange(3, 256)  # what a client left open in its hook
    _run_part(job, read_messages)
    os.nice(_NICENESS)  # from here on nobody waits
    os.chdir(job.root)
    mark = os.urandom(12).hex()
    os.environ.update(process_tree.add_mark(os.environ, mark))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS), int(SECONDS) + _CLEAN_UP))
    try:
        with _watch_turn(job), _hold_lock(job.file):
            _remove_old_files(Path(job.file).parent)
            ranking = threading.Thread(target=_run_part, args=(job, rank_files), daemon=True)
            ranking.start()
            if not job.unattended:
                _run_part(job, judge_messages)
            ranking.join()
    except Ended as ended:
        _ENDED.set()
        if str(ended):
            _record(job, str(ended))
        process_tree.end_marked(mark)
    os._exit(0)  # the ranking may still be at work


def read_messages(job: Job) -> None:
    """Read the messages that hooks noted."""
    with closing(sqlite.connect(job.home)[0]) as db:
        for fault in sensor.read_messages(db, job.session):
            _record(job, fault)


def rank_files(job: Job) -> None:
    """Rank the repository's files for the goal."""
    from kedge.drift import expected_scope

    expected_scope.save(project.find(Path(job.root)), job.session)


def judge_messages(job: Job) -> None:
    """Ask the judge about the messages that it has not read, and add the limits that it finds."""
    try:
        setting = config.load(project.find(Path(job.root))).settings.drift.judge
    except ConfigError:  # recorded by the hook, at every message
        return
    if not setting.strip():
        return
    with closing(sqlite.connect(job.home)[0]) as db:
        known = _load_charter(db, job)
        rows = sessions.charters(db, job.session)
    if known is None:
        return
    judged = job.file + aside.JUDGED
    last = aside.read_number(judged)
    if last is None:
        last = known.revision - 1
        aside.write_number(judged, last)
    message = _join_messages(rows, last)
    if not message:
        return
    try:
        limits, faults = judge.judge_message(setting, message, known.goal, known.limits, job.root)
    except KedgeError:
        aside.write_number(judged, known.revision)
        raise
    with closing(sqlite.connect(job.home)[0]) as db, sessions.transaction(db):
        if limits and _load_charter(db, job) is not None:
            limit_records.add(db, job.session, limits)
    aside.write_number(judged, known.revision)
    for fault in faults:
        _record(job, fault)


def _load_charter(db: sqlite3.Connection, job: Job) -> Charter | None:
    """Return the session's charter; None if the session ended or a newer turn began."""
    row = sessions.get(db, job.session)
    if row is None or row["status"] != "active" or row["policy"] == "off" or not row["engine"]:
        return None
    return charter.parse(json.loads(row["engine"])["charter"]) if row["turn"] == job.turn else None


def _join_messages(rows: Sequence[dict[str, Any]], judged: int) -> str:
    """Return the user's words in the messages after the last one that was judged."""
    texts = [row["said"] for row in rows if row["revision"] > judged]
    wanted = [text for text in texts if kind(text) not in ("machine", "go-on")]
    return "\n\n".join(users_words(text) for text in wanted[-_MOST_MESSAGES:])


def _run_part(job: Job, part: Callable[[Job], None]) -> None:
    """Run a part of the work, and record its fault."""
    try:
        part(job)
    except Exception as error:  # noqa: BLE001 - whatever it is, the session goes on without
        if not _ENDED.is_set():  # its programs were killed
            _record(job, f"{type(error).__name__}: {error}")


def _record(job: Job, fault: str) -> None:
    """Record a guard error, once for each session."""
    message = redact(fault)[:_ERROR]
    with contextlib.suppress(KedgeError, sqlite3.Error), closing(sqlite.connect(job.home)[0]) as db:
        known = {one["error"] for one in sessions.errors(db) if one["session"] == job.session}
        if message not in known:
            origin = {"agent": job.agent[:100], "session": job.session, "event": _EVENT}
            sessions.add_error(db, at=clock.now(), kedge=__version__, error=message, **origin)


@contextlib.contextmanager
def _watch_turn(job: Job) -> Iterator[None]:
    """Raise Ended in the block as soon as the work is not wanted any more."""
    deadline = time.monotonic() + SECONDS
    late = f"the work aside took more than {SECONDS:g} s"

    def look(*_: object) -> None:
        # A signal that `proc` holds back while it starts a program.
        if time.monotonic() > deadline or aside.read_number(job.file) != job.turn:
            signal.raise_signal(signal.SIGTERM)

    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, _CLEAN_UP)
        raise Ended(late if time.monotonic() > deadline else "")

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
    look()
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, _CLEAN_UP)


@contextlib.contextmanager
def _hold_lock(path: str) -> Iterator[None]:
    """Wait until the process of an earlier message has ended."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _remove_old_files(folder: Path) -> None:
    """Remove the files of sessions that ended without notice."""
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < time.time() - _OLD:
                path.unlink()
