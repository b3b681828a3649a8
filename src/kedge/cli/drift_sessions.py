"""`kedge drift status`, `explain` and `report`: recorded sessions of agents."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import click

from kedge.cli import drift_view
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.drift.report import account
from kedge.drift.report.page import render_page
from kedge.errors import FileError, KedgeError
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.host.redact import redact
from kedge.host.text import count_noun, shorten
from kedge.store import sessions, sqlite
from kedge.store.migrations import migrate

REPORT = "drift.html"  # in the database's directory, outside git
_LAST = "last"
_NONE = "no session is being watched"
_SET_UP = "kedge init installs the hooks, kedge doctor checks that they run"
_CANDIDATES = 5  # in a hint
_ERROR_LENGTH = 200  # characters


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
        yield SessionRecords(project, db)
    except sqlite3.Error as error:
        raise FileError(f"cannot read {path}: {error}", hint="kedge doctor") from error
    finally:
        db.close()


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
                raise KedgeError("no session is recorded", hint=_SET_UP)
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
        return account.build_status(row, since, self.short.get(row["id"], ""))

    def account(self, row: dict[str, Any], since: str) -> account.Account:
        name = row["id"]
        return account.build_account(
            self.status_of(row, since),
            row,
            sessions.charters(self.db, name),
            sessions.steps(self.db, name),
            sessions.events(self.db, name),
        )

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

    def _not_found(self, given: str, names: list[str]) -> KedgeError:
        what = f"{len(names)} sessions start with" if names else "no session starts with"
        near = names or [row["id"] for row in self.rows(_CANDIDATES)]
        shown = ", ".join(self.short[each] for each in near[:_CANDIDATES])
        more = f" and {len(near) - _CANDIDATES} more" if len(near) > _CANDIDATES else ""
        hint = f"{'they' if names else 'the latest'} are: {shown}{more}" if near else _SET_UP
        return KedgeError(f"{what} {given[:80]!r}", hint=hint, data={"candidates": near})


@click.command(cls=KedgeCommand)
@click.option("--all", "every", is_flag=True, help="Include finished and abandoned sessions.")
def status(edge: Edge, every: bool) -> Reply:
    """Show the sessions that are watched."""
    since = account.day_before(clock.now())
    with open_records(edge) as record:
        rows = record.rows()
        selected = [(record.status_of(row, since), row) for row in rows]
        if not every:
            selected = [each for each in selected if each[0].status == account.ACTIVE]
        shown = [
            {**account.data(head), "last_correction": record.last_correction(row, since)}
            for head, row in selected
        ]
        _warn_of_errors(edge, record.db)
    if not shown:
        hint = f"--all shows {len(rows)} that ended or are silent" if rows else _SET_UP
        edge.warn(f"{_NONE}: {hint}")
    return Reply(shown, lambda: drift_view.list_sessions(shown))


def _warn_of_errors(edge: Edge, db: sqlite3.Connection) -> None:
    errors = sessions.errors(db)
    if errors:
        last = errors[-1]
        what = count_noun(len(errors), "guard error")
        text = shorten(redact(f"{last['event']}: {last['error']}"), _ERROR_LENGTH)
        edge.warn(f"{what} recorded, the last at {last['at']} in {text} (kedge doctor)")


@click.command(cls=KedgeCommand)
@click.argument("session", metavar="SESSION[:STEP]")
def explain(edge: Edge, session: str) -> Reply:
    """Show how a session went, or why one of its steps got its score."""
    with open_records(edge) as record:
        row, step = _parse_target(record, session)
        details = record.account(row, account.day_before(clock.now()))
    if step is None:
        return Reply(
            lambda: drift_view.session_data(details), lambda: drift_view.describe_session(details)
        )
    one = _find_step(details, step)
    return Reply(
        lambda: drift_view.step_data(details, one), lambda: drift_view.describe_step(details, one)
    )


def _parse_target(record: SessionRecords, given: str) -> tuple[dict[str, Any], str | None]:
    """Return the session and the step of SESSION[:STEP]; an id may contain a colon."""
    name, colon, step = given.rpartition(":")
    if not colon or sessions.find_ids(record.db, given.encode("utf-8", "replace").decode()):
        return record.find(given), None
    return record.find(name), step


def _find_step(details: account.Account, given: str) -> account.RecordedStep:
    """Return the step with this position or tool-call id."""
    for each in details.steps:
        if given in (str(each.position), each.id):
            return each
    count = len(details.steps)
    hint = f"it has steps 1 to {details.steps[-1].position}" if count else "it has no steps yet"
    raise KedgeError(f"session {details.session.short} has no step {given[:80]!r}", hint=hint)


@click.command(cls=KedgeCommand)
@click.option(
    "--output",
    metavar="FILE.html",
    help="Where to write, - for standard output; by default beside the database, outside git.",
)
@click.option(
    "--session", "chosen", metavar="ID", multiple=True, help="Only this session; repeatable."
)
@click.option(
    "--last", type=click.IntRange(1, 200), default=20, show_default=True, help="How many sessions."
)
def report(edge: Edge, output: str | None, chosen: tuple[str, ...], last: int) -> Reply:
    """Write an HTML page about recorded sessions."""
    progress = edge.progress("reading sessions")
    with open_records(edge) as record, closing(progress):
        rows = [record.find(each) for each in dict.fromkeys(chosen)] or record.rows(last)
        if not rows:
            raise KedgeError("no session is recorded", hint=_SET_UP)
        rows = list({row["id"]: row for row in rows}.values())
        since = account.day_before(max(row["checked_at"] for row in rows))
        accounts = []
        for number, row in enumerate(rows):
            progress(number, len(rows))
            accounts.append(record.account(row, since))
        page = render_page(accounts, record.project.root.name)
        target = edge.directory / output if output else record.project.home() / REPORT
    data = {"sessions": [each.session.id for each in accounts], "bytes": len(page)}
    if output == "-":
        return Reply({**data, "html": page.decode()}, page)
    files.write_atomic(target, page)
    return Reply({**data, "path": str(target)}, f"{target}: {count_noun(len(rows), 'session')}")
