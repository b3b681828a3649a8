"""What a person can do in the dashboard. Each act is recorded with its actor."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from kedge import config
from kedge.drift.watch import limit_records
from kedge.errors import InvalidValue, KedgeError
from kedge.host import clock, user
from kedge.host.agent_session import is_user
from kedge.host.redact import redact
from kedge.host.text import shorten
from kedge.model.ids import task_id
from kedge.store import acts, sessions, sqlite

if TYPE_CHECKING:
    from kedge.host.project import Project
    from kedge.store.acts import ActRecord
    from kedge.web.source import Source

_MOST = 20  # acts that a page shows
_LONGEST = 300  # characters of a note
Form = Mapping[str, str]


def can_act() -> bool:
    """True unless an agent started the server: then its pages are only read."""
    return is_user(os.environ)


def perform(project: Project, kind: str, form: Form) -> str:
    """Do what a form asks for and record it; return a sentence about it.

    Raises KedgeError where the same command would.
    """
    act = _ACTS.get(kind)
    if act is None:
        raise InvalidValue(f"there is no act {kind[:20]!r}")
    if not can_act():
        raise KedgeError(
            "an agent started this server, so its pages are only read",
            hint="start kedge serve in a terminal of your own",
        )
    actor = config.load(project).settings.tasks.actor or user.user_name()
    target, text = act(project, form, actor)
    note = shorten(redact(form.get("note", "")), _LONGEST)
    with closing(sqlite.connect(project.home())[0]) as db:
        acts.add(db, acts.ActRecord(clock.now(), actor, kind, target, note))
    return text


def list_acts(source: Source, kind: str = "") -> list[ActRecord]:
    """Return the last acts, of one kind or of all."""
    return [one for one in acts.read_last(source.db, _MOST) if kind in ("", one.kind)]


def _lift(project: Project, form: Form, _: str) -> tuple[str, str]:
    """Lift a limit of a session."""
    session, limit = _take(form, "session"), _take(form, "limit")
    with (
        closing(sqlite.connect(project.home())[0]) as db,
        sessions.transaction(db),
    ):
        if sessions.get(db, session) is None:
            raise InvalidValue(f"there is no session {session[:40]!r}")
        found = limit_records.find_by_id(limit_records.list_limits(db, session), limit)
        if len(found) != 1:
            raise InvalidValue("this limit is not in force any more")
        limit_records.lift(db, session, found[0]["id"])
    return f"{session}:{limit}", f"lifted: “{shorten(found[0]['quote'], 80)}”"


def _resolve(project: Project, form: Form, actor: str) -> tuple[str, str]:
    """Resolve the drift of a handoff: accept the tree, or restore the snapshot."""
    from kedge.handoff.operations import HandoffOperations

    task, note, how = _take(form, "task"), _take(form, "note"), _take(form, "how")
    if how not in ("accept", "revert"):
        raise InvalidValue("drift is accepted or reverted")
    handoff = HandoffOperations(project, config.load(project).settings, task_id(task), actor)
    event = form.get("event", "")
    if all(one.id != event for one in handoff.read().open_drift):
        raise InvalidValue("this drift is resolved already")
    handoff.resolve(note, accept=how == "accept")
    done = "accepted" if how == "accept" else "reverted"
    return task, ". ".join([f"the drift of {task} is {done}", *handoff.warnings])


def _retire(project: Project, form: Form, actor: str) -> tuple[str, str]:
    """Retire a lesson, with the reason."""
    from kedge.knowledge.bank import operations
    from kedge.knowledge.bank.bank import Bank

    named, reason = _take(form, "lesson"), _take(form, "note")
    bank = Bank(project, config.load(project).settings)
    done = operations.retire(bank, named, f"{reason} ({actor})")
    return done.entry.name, f"retired: {shorten(done.entry.name, 80)}"


def _stop(project: Project, form: Form, _: str) -> tuple[str, str]:
    """Interrupt a run, as Ctrl-C does: it records where it was and can be resumed."""
    from kedge.run import journal

    name = _take(form, "run")
    record = next((one for one in journal.list_runs(project) if one.id == name), None)
    if record is None or not journal.is_running(project, record):
        raise InvalidValue("this run is not at work any more")
    with contextlib.suppress(ProcessLookupError):
        os.kill(record.pid, signal.SIGINT)
    return name, f"{name} is being stopped; kedge run --resume goes on with it"


def _take(form: Form, name: str) -> str:
    value = form.get(name, "").strip()
    if not value:
        raise InvalidValue(f"{name} is missing", hint="fill in the form")
    return value


_ACTS: Mapping[str, Callable[[Project, Form, str], tuple[str, str]]] = {
    "lift": _lift,
    "resolve": _resolve,
    "retire": _retire,
    "stop": _stop,
}
