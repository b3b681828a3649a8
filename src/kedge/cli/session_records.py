"""The recorded sessions of a project, as commands read them."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from kedge.cli.edge import Edge
from kedge.context.agent_hooks import suggest_next_step
from kedge.drift.report import account
from kedge.drift.report.account import RecordedStep
from kedge.drift.watch import sensor
from kedge.errors import FileError, KedgeError
from kedge.host import agent_process, clock
from kedge.host.project import Project
from kedge.store import sessions, sqlite
from kedge.store.migrations import migrate

_LAST = "last"
_NONE = "no session is being watched"
_CANDIDATES = 5  # in a hint


@contextmanager
def open_records(edge: Edge) -> Iterator[SessionRecords]:
    """Open the project's database; if there is none, use an empty one in memory."""
    project = edge.project()
    path = project.home() / sqlite.FILE
    if path.exists():
        db, warnings = sqlite.connect(path.parent)
        edge.warn(*warnings)
    else:
        db = sqlite3.connect(":memory:", isolation_level=None)
        migrate(db)
    try:
        _read_messages(edge, db)
        yield SessionRecords(project, db)
    except sqlite3.Error as error:
        raise FileError(f"cannot read {path}: {error}", hint="kedge doctor") from error
    finally:
        db.close()


def _read_messages(edge: Edge, db: sqlite3.Connection) -> None:
    """Read messages that hooks noted a moment ago, so that what they say is shown."""
    for name in sessions.find_unread(db):
        try:
            edge.warn(*sensor.read_messages(db, name))
        except (KedgeError, sqlite3.Error) as error:
            edge.warn(f"the last message of session {name} is not read yet: {error}")


class SessionRecords:
    """The recorded sessions of a project."""

    def __init__(self, project: Project, db: sqlite3.Connection) -> None:
        self.project = project
        self.db = db
        self.short = account.shorten_ids(sessions.find_ids(db, ""))

    def rows(self, last: int = 1000) -> list[dict[str, Any]]:
        """Return the project's sessions, latest first."""
        return sessions.sessions(self.db, project=str(self.project.root), last=last)

    def find(self, given: str) -> dict[str, Any]:
        """Return the session with this id or unique prefix of an id; `last` is the latest."""
        if given == _LAST:
            rows = self.rows(1)
            if not rows:
                raise self.no_session()
            return rows[0]
        known = given.encode("utf-8", "replace").decode()  # no id contains half a character
        row = sessions.get(self.db, known)
        names = [] if row or not known else sessions.find_ids(self.db, known)
        if len(names) == 1:
            row = sessions.get(self.db, names[0])
        if row is None:
            raise self._not_found(given, names)
        return row

    def status_of(self, row: dict[str, Any], since: str) -> account.SessionStatus:
        gone = row["status"] == account.ACTIVE and agent_process.is_gone(row["process"])
        return account.build_status(row, since, self.short.get(row["id"], ""), gone=gone)

    def account(self, row: dict[str, Any], since: str) -> account.Account:
        name = row["id"]
        return account.build_account(
            self.status_of(row, since),
            sessions.get(self.db, name) or row,
            sessions.charters(self.db, name),
            sessions.steps(self.db, name),
            sessions.events(self.db, name),
            sessions.limits(self.db, name),
        )

    def describe(
        self, *, every: bool = False, also: Collection[str] = ()
    ) -> tuple[list[dict[str, Any]], int]:
        """Describe the active sessions and those in `also`, or `every` one.

        Also return how many are known.
        """
        since = account.day_before(clock.now())
        rows = self.rows()
        self.short = account.shorten_ids(sessions.find_ids(self.db, ""))
        selected = [(self.status_of(row, since), row) for row in rows]
        if not every:
            selected = [
                (head, row)
                for head, row in selected
                if head.status == account.ACTIVE or head.id in also
            ]
        shown = [
            {**account.data(head), "last_correction": self.last_correction(row, since)}
            for head, row in selected
        ]
        return shown, len(rows)

    def last_step(self, name: str) -> RecordedStep | None:
        """Return the last step of a session."""
        rows = sessions.steps(self.db, name, last=1)
        return account.build_step(rows[0]) if rows else None

    def last_correction(self, row: dict[str, Any], since: str) -> dict[str, Any] | None:
        """Return the last correction that the session's agent received, and how it came back."""
        if not sessions.events(self.db, row["id"]):
            return None
        for event in reversed(self.account(row, since).events):
            if event.correction:
                return {
                    "step": event.position,
                    "level": event.level,
                    "at": event.at,
                    "text": event.correction,
                    "recovered": event.recovered,
                }
        return None

    def no_session(self) -> KedgeError:
        return KedgeError("no session is recorded", hint=suggest_next_step(self.project))

    def _not_found(self, given: str, names: list[str]) -> KedgeError:
        what = f"{len(names)} sessions start with" if names else "no session starts with"
        near = names or [row["id"] for row in self.rows(_CANDIDATES)]
        shown = ", ".join(self.short[each] for each in near[:_CANDIDATES])
        more = f" and {len(near) - _CANDIDATES} more" if len(near) > _CANDIDATES else ""
        hint = (
            f"{'they' if names else 'the latest'} are: {shown}{more}"
            if near
            else suggest_next_step(self.project)
        )
        return KedgeError(f"{what} {given[:80]!r}", hint=hint, data={"candidates": near})


def explain_none(project: Project, known: int) -> str:
    """Say that no session is active, of all that are known, and what to do about it."""
    ended = f"--all shows {known} that ended or are silent" if known else ""
    return f"{_NONE}: {ended or suggest_next_step(project)}"
