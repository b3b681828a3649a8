"""Watch an agent's session: report what it does, and how far it drifts, as events of the run."""

from __future__ import annotations

import contextlib
from typing import Any

from kedge.agents.launch.events import (
    Event,
    Message,
    Output,
    RetryWait,
    Started,
    ToolDenied,
    ToolFinished,
    ToolStarted,
    Usage,
)
from kedge.drift import summary
from kedge.errors import KedgeError
from kedge.host.redact import redact
from kedge.host.text import shorten
from kedge.model.task import Task
from kedge.run.run_state import RunState
from kedge.store import sessions, sqlite

_ON_COURSE = (10, "NORMAL")  # score and course of a session that did not stray
_MOST_OUTPUT = 2000  # lines of a call
_MOST_DENIED = 5  # different refusals that the next attempt is told of
_DRIFT_FIELDS = ("alarms", "worst", "score", "needs_review", "why")


class SessionWatch:
    """Watches the session of one role's turn. Secrets are left out of what it reports."""

    def __init__(self, state: RunState, task: Task, role: str, session: str) -> None:
        self._state = state
        self._about = {"task": task.id, "role": role}
        self._session = session
        self._course = _ON_COURSE
        self._lines = 0
        self._denied: dict[str, None] = {}

    @property
    def denied(self) -> tuple[str, ...]:
        """The tool calls that were refused, each with the reason."""
        return tuple(self._denied)

    def report(self, event: Event) -> None:
        """Report an event of the agent."""
        if isinstance(event, Started):
            self._session = event.session or self._session  # not every agent takes a given id
            self._emit("started", session=event.session, model=event.model)
        elif isinstance(event, Message):
            self._emit("said", text=shorten(redact(event.text), 500))
        elif isinstance(event, Output):
            self._report_output(event.text)
        elif isinstance(event, ToolStarted):
            self._emit("call", tool=event.tool, summary=redact(event.summary))
        elif isinstance(event, ToolFinished):
            self._report_course()
        elif isinstance(event, ToolDenied):
            reason = redact(event.reason)
            self._emit("denied", tool=event.tool, reason=reason)
            if len(self._denied) < _MOST_DENIED:
                self._denied[shorten(f"{event.tool}: {reason}", 300)] = None
        elif isinstance(event, RetryWait):
            self._emit("retry", seconds=event.seconds, reason=redact(event.reason))
        elif isinstance(event, Usage):
            usage = self._state.usage.add(event)
            self._emit("used", tokens=usage.tokens, cost=round(usage.cost, 6))

    def _report_output(self, text: str) -> None:
        """Report a line that a program printed; of very many only the first ones."""
        self._lines += 1
        if self._lines <= _MOST_OUTPUT:
            self._emit("output", text=shorten(redact(text), 500))
        elif self._lines == _MOST_OUTPUT + 1:
            self._emit("output", text="… more output is not shown")

    def summarize_drift(self) -> dict[str, Any] | None:
        """Sum up where the session strayed; None if it did not, or was not watched by hooks."""
        try:
            with contextlib.closing(sqlite.connect(self._state.project.home())[0]) as db:
                row = sessions.get(db, self._session)
                drift = summary.summarize(db, row) if row is not None else None
        except KedgeError as error:
            self._state.warn(error.message)
            return None
        if drift is None or not drift["alarms"]:
            return None
        return {key: drift[key] for key in _DRIFT_FIELDS}

    def _report_course(self) -> None:
        """Report the score and course that hooks recorded for the session, when they change."""
        try:
            with contextlib.closing(sqlite.connect(self._state.project.home())[0]) as db:
                row = sessions.get(db, self._session)
        except KedgeError:
            return  # `summarize_drift` warns of it at the end of the turn
        course = (round(row["score"]), row["course"]) if row is not None else _ON_COURSE
        if course != self._course:
            self._course = course
            self._emit("drift", score=course[0], course=course[1])

    def _emit(self, event: str, **data: Any) -> None:
        self._state.emit(event, {**self._about, **data})
