"""`kedge drift status`, `explain` and `report`: recorded sessions of agents."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import click

from kedge.cli import drift_view
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.cli.session_records import SessionRecords, explain_none, open_records
from kedge.drift.report import account
from kedge.drift.report.page import render_page
from kedge.errors import KedgeError
from kedge.host import clock, files
from kedge.host.redact import redact
from kedge.host.text import count_noun, shorten
from kedge.store import sessions

REPORT = "drift.html"  # in the database's directory, outside git
_ERROR_LENGTH = 200  # characters


@click.command(cls=KedgeCommand)
@click.option("--all", "every", is_flag=True, help="Include finished and abandoned sessions.")
@click.option("--follow", is_flag=True, help="Show changes as they happen, until Ctrl-C.")
def status(edge: Edge, every: bool, follow: bool) -> Reply:
    """Show the sessions that are watched."""
    from kedge.context.unwatched import find_unwatched

    if follow:
        from kedge.cli import drift_follow

        drift_follow.follow(edge, every=every)
    with open_records(edge) as record:
        shown, known = record.describe(every=every)
        _warn_of_errors(edge, record.db)
        for one in find_unwatched(record.project):
            edge.warn(f"{one.describe()}: {one.hint}")
    if not shown:
        edge.warn(explain_none(record.project, known))
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
            raise record.no_session()
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
