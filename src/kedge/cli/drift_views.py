"""`kedge drift status`, `explain` and `report`: what was recorded of agents' sessions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from kedge.cli import drift_sheet, syntax
from kedge.cli.edge import Edge, Reply
from kedge.drift import account
from kedge.errors import FileError, KedgeError
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.host.redact import redact
from kedge.host.text import shortened
from kedge.store import sessions, sqlite
from kedge.store.migrations import migrate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REPORT = "drift.html"  # among what is never in git
_LAST = "last"
_NONE = "no session is being watched"
_SET_UP = "kedge init sets the hooks up, kedge doctor says whether they run"
_SHOWN = 5  # candidates, in a hint
_SAID = 200  # characters of an error


@contextmanager
def recorded(here: Edge) -> Iterator[Record]:
    """What is in the project's database. Where there is none, looking makes none."""
    project = here.project()
    path = project.home() / sqlite.FILE
    if path.exists():
        db, warnings = sqlite.connect(path.parent)
        here.warn(*warnings)
    else:
        db = sqlite3.connect(":memory:", isolation_level=None)
        migrate(db)
    try:
        yield Record(project, db)
    except sqlite3.Error as error:
        raise FileError(f"cannot read {path}: {error}", hint="kedge doctor") from error
    finally:
        db.close()


class Record:
    """The sessions of a project, as they are in the database."""

    def __init__(self, project: Project, db: sqlite3.Connection) -> None:
        self.project = project
        self.db = db
        self.short = account.shortened(sessions.named(db, ""))

    def rows(self, last: int = 1000) -> list[dict[str, Any]]:
        """The project's sessions, the latest first."""
        return sessions.sessions(self.db, project=str(self.project.root), last=last)

    def find(self, given: str) -> dict[str, Any]:
        """The session of this id, of the only one that begins so, or the `last` one."""
        if given == _LAST:
            rows = self.rows(1)
            if not rows:
                raise KedgeError("no session is recorded", hint=_SET_UP)
            return rows[0]
        known = given.encode("utf-8", "replace").decode()  # half a character is in no id
        row = sessions.get(self.db, known)
        names = [] if row or not known else sessions.named(self.db, known)
        if len(names) == 1:
            row = sessions.get(self.db, names[0])
        if row is None:
            raise self._refused(given, names)
        return row

    def standing(self, row: dict[str, Any], since: str) -> account.Standing:
        return account.standing(row, since, self.short.get(row["id"], ""))

    def account(self, row: dict[str, Any], since: str) -> account.Account:
        name = row["id"]
        return account.account(
            self.standing(row, since),
            row,
            sessions.charters(self.db, name),
            sessions.steps(self.db, name),
            sessions.events(self.db, name),
        )

    def last_correction(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """What the agent of a session was told last."""
        for event in reversed(sessions.events(self.db, row["id"])):
            step = sessions.step(self.db, row["id"], event["step"])
            if step is not None and step["correction_given"]:
                told = account.step(step)
                return {
                    "step": told.position,
                    "level": event["level"],
                    "at": told.at,
                    "text": told.correction,
                }
        return None

    def _refused(self, given: str, names: list[str]) -> KedgeError:
        said = f"{len(names)} sessions begin with" if names else "no session begins with"
        near = names or [row["id"] for row in self.rows(_SHOWN)]
        shown = ", ".join(self.short[each] for each in near[:_SHOWN])
        more = f" and {len(near) - _SHOWN} more" if len(near) > _SHOWN else ""
        hint = f"{'they' if names else 'the latest'} are: {shown}{more}" if near else _SET_UP
        return KedgeError(f"{said} {given[:80]!r}", hint=hint, data={"candidates": near})


@syntax.command("Show the sessions that are watched.")
@syntax.option("--all", "every", is_flag=True, help="Finished and abandoned ones, too.")
def status(here: Edge, every: bool) -> Reply:
    since = account.day_before(clock.now())
    with recorded(here) as record:
        rows = record.rows()
        found = [(record.standing(row, since), row) for row in rows]
        if not every:
            found = [each for each in found if each[0].status == account.ACTIVE]
        shown = [
            {**account.data(head), "last_correction": record.last_correction(row)}
            for head, row in found
        ]
        _tell_errors(here, record.db)
    if not shown:
        left = f"--all shows {len(rows)} that ended or fell silent" if rows else _SET_UP
        here.warn(f"{_NONE}: {left}")
    return Reply(shown, lambda: drift_sheet.listing(shown))


def _tell_errors(here: Edge, db: sqlite3.Connection) -> None:
    errors = sessions.errors(db)
    if errors:
        last = errors[-1]
        what = "1 guard error" if len(errors) == 1 else f"{len(errors)} guard errors"
        said = shortened(redact(f"{last['event']}: {last['error']}"), _SAID)
        here.warn(f"{what} recorded, the last at {last['at']} in {said} (kedge doctor)")


@syntax.command("Say how a session went, or why a step of it was judged as it was.")
@syntax.argument("session", metavar="SESSION[:STEP]")
def explain(here: Edge, session: str) -> Reply:
    with recorded(here) as record:
        row, step = _chosen(record, session)
        found = record.account(row, account.day_before(clock.now()))
    if step is None:
        return Reply(lambda: drift_sheet.data(found), lambda: drift_sheet.sheet(found))
    one = _step(found, step)
    return Reply(lambda: drift_sheet.step_data(found, one), lambda: drift_sheet.step(found, one))


def _chosen(record: Record, given: str) -> tuple[dict[str, Any], str | None]:
    """The session, and the step that is asked for. An id may have a colon in it."""
    name, colon, step = given.rpartition(":")
    if not colon or sessions.named(record.db, given.encode("utf-8", "replace").decode()):
        return record.find(given), None
    return record.find(name), step


def _step(found: account.Account, given: str) -> account.Step:
    """The step at this position, or of this tool call."""
    for each in found.steps:
        if given in (str(each.position), each.id):
            return each
    count = len(found.steps)
    hint = f"it has steps 1 to {found.steps[-1].position}" if count else "it has no steps yet"
    raise KedgeError(f"session {found.session.short} has no step {given[:80]!r}", hint=hint)


@syntax.command("Write a page about sessions, to look at in a browser.")
@syntax.option(
    "--output",
    metavar="FILE.html",
    help="Where to write, - for standard output; else beside the database, which is not in git.",
)
@syntax.option(
    "--session", "chosen", metavar="ID", multiple=True, help="Only this session; repeatable."
)
@syntax.option(
    "--last", type=syntax.IntRange(1, 200), default=20, show_default=True, help="So many sessions."
)
def report(here: Edge, output: str | None, chosen: tuple[str, ...], last: int) -> Reply:
    from kedge.drift.page.report import render

    progress = here.progress("reading sessions")
    with recorded(here) as record, closing(progress):
        rows = [record.find(each) for each in dict.fromkeys(chosen)] or record.rows(last)
        if not rows:
            raise KedgeError("no session is recorded", hint=_SET_UP)
        rows = list({row["id"]: row for row in rows}.values())
        since = account.day_before(max(row["checked_at"] for row in rows))
        accounts = []
        for number, row in enumerate(rows):
            progress(number, len(rows))
            accounts.append(record.account(row, since))
        page = render(accounts, record.project.root.name)
        target = here.directory / output if output else record.project.home() / REPORT
    data = {"sessions": [each.session.id for each in accounts], "bytes": len(page)}
    if output == "-":
        return Reply({**data, "html": page.decode()}, page)
    files.write_atomic(target, page)
    count = "1 session" if len(rows) == 1 else f"{len(rows)} sessions"
    return Reply({**data, "path": str(target)}, f"{target}: {count}")
