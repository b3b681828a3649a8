"""Agents' events, one at a time: each is judged, kept, and answered.

An event is one transaction, so that the hooks of parallel calls come one after another and none
is lost. What an event says is redacted before anything of it is judged or kept.
"""

from __future__ import annotations

import json
import os

from kedge.drift import answers, books, course, recording
from kedge.drift.actions import normalise
from kedge.drift.answers import ADVISE, DENY, ENFORCE, NONE, OFF
from kedge.drift.calls import Call, replaced
from kedge.drift.engine import Session
from kedge.host import clock
from kedge.host.redact import redact
from kedge.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from typing import Any

    from kedge.drift.charter import Charter
    from kedge.drift.distance import Neighbours
    from kedge.drift.scoring import Verdict

    Event = dict[str, Any]
    Answer = dict[str, Any]

_LONGEST = 100  # characters of an id
_SAID = 600  # and of what the agent says


class Watch:
    """The record of a project's sessions, and what is known of the one that an event is from.

    `policy` is asked for at each message, `charter` and `checks` of the task where there is one:
    they read files. `unattended` says that prompts are kedge's own and no user's word.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        root: str,
        agent: str,
        *,
        policy: Callable[[], str],
        charter: Callable[[], Charter | None],
        checks: Callable[[], Sequence[str]] = tuple,
        neighbours: Callable[[], Neighbours | None] = lambda: None,
        unattended: bool = False,
    ) -> None:
        self.db = db
        self.root = root
        self.agent = agent
        self.policy = policy
        self.charter = charter
        self.checks = checks
        self.neighbours = neighbours
        self.unattended = unattended
        self.faults: list[str] = []

    def answer(self, event: Event) -> Answer | None:
        """The answer to an event; nothing where there is nothing to say."""
        handler = _HANDLERS.get(str(event.get("hook_event_name")))
        name = event.get("session_id")
        if handler is None or not isinstance(name, str) or not name:
            return None
        return handler(self, name[:_LONGEST], event)

    # the events

    def began(self, name: str, event: Event) -> None:
        """A session starts, goes on, or was compacted."""
        policy = self.policy()
        with sessions.writing(self.db):
            row = self._row(name, event, policy)
            if event.get("source") != "compact":
                sessions.change(self.db, name, status="active", ended_at=None, policy=policy)
            if not row["engine"] and row["task"]:
                books.keep(self.db, name, self._session(row, event))

    def asked(self, name: str, event: Event) -> Answer | None:
        """The user speaks: the charter is opened or revised, and what waits to be said is said."""
        policy = self.policy()
        text = redact(str(event.get("prompt") or ""))
        with sessions.writing(self.db):
            row = self._row(name, event, policy)
            if policy == OFF:
                sessions.change(self.db, name, policy=policy)
                return None
            session = self._session(row, event)
            revision = session.charter.revision
            told = self._due(name, session, None) if policy in (ADVISE, ENFORCE) else []
            if not self.unattended:
                session.prompt(text)
            if session.charter.revision != revision or not row["engine"]:
                books.keep_charter(self.db, name, session, text)
            books.keep(self.db, name, session, policy=policy, status="active", ended_at=None)
        return answers.context("UserPromptSubmit", told)

    def before(self, name: str, event: Event) -> Answer | None:
        """A call is about to be made: it is scored and, by policy, asked about or denied."""
        call = Call(event)
        with sessions.writing(self.db):
            row = self._row(name, event)
            known = sessions.step(self.db, name, call.id)
            if row["policy"] == OFF:
                return None
            if known is None:
                what, reason = self._judge(name, row, call, event)
            else:
                what, reason = known["decision"], known["correction_given"]
        return None if what == NONE else answers.before(what, reason)

    def after(self, name: str, event: Event) -> Answer | None:
        """A call was made: its result is kept, and a correction may be due."""
        call = Call(event)
        said = str(event.get("hook_event_name"))
        with sessions.writing(self.db):
            row = self._row(name, event)
            if row["policy"] == OFF:
                return None
            step = sessions.step(self.db, name, call.id)
            if step is None:
                self._judge(name, row, call, event, late=True)
                row = self._row(name, event)
                step = sessions.steps(self.db, name, last=1)[0]
            session = self._session(row, event)
            ok = call.ok and not _failed(event, call.id)
            session.result(call.id, ok)
            told = []
            if row["policy"] in (ADVISE, ENFORCE):
                told = self._due(name, session, call.subagent)
            books.keep(self.db, name, session)
            self._explain(name, step, ok, event)
        return answers.context(said, told)

    def stopped(self, name: str, event: Event) -> Answer | None:
        """The agent has had its say: what needs review is flagged, and what is missing is said."""
        from kedge.drift import ending

        with sessions.writing(self.db):
            row = sessions.get(self.db, name)
            if row is None or row["policy"] == OFF:
                return None
            found = ending.account(self.db, row)
            sessions.change(self.db, name, needs_review=found["needs_review"])
        if row["policy"] not in (ADVISE, ENFORCE) or event.get("stop_hook_active"):
            return None
        if row["task"]:
            missing = ending.missing(row, self.checks(), sessions.steps(self.db, name))
            if missing:
                return answers.go_on(missing)
        if found["needs_review"] and not row["needs_review"] and self.agent == "claude":
            return answers.notice(ending.notice(name, found))
        return None

    def kept(self, name: str, _: Event) -> None:
        """Nothing is said: a subagent ended, or the conversation will be compacted."""
        with sessions.writing(self.db):
            if sessions.get(self.db, name) is not None:
                sessions.change(self.db, name, checked_at=clock.now())

    def ended(self, name: str, _: Event) -> None:
        """The session is over: what it came to is kept."""
        from kedge.drift import ending

        with sessions.writing(self.db):
            row = sessions.get(self.db, name)
            if row is not None:
                found = ending.account(self.db, row)
                sessions.change(
                    self.db,
                    name,
                    status="completed",
                    ended_at=clock.now(),
                    summary=found,
                    needs_review=found["needs_review"],
                )

    # what they share

    def _row(self, name: str, event: Event, policy: str | None = None) -> dict[str, Any]:
        """The session's row; the first event that is heard of a session makes it."""
        row = sessions.get(self.db, name)
        if row is not None:
            return row
        charter = self.charter()
        now = clock.now()
        return sessions.add(
            self.db,
            name,
            agent=self.agent,
            project=self.root,
            task=charter.task if charter is not None else None,
            policy=policy or self.policy(),
            transcript=str(event.get("transcript_path") or "")[:1000],
            started_at=now,
            checked_at=now,
        )

    def _session(self, row: dict[str, Any], event: Event) -> Session:
        """The engine, as the last event left it."""
        cwd = str(event.get("cwd") or row["project"])

        def exists(path: str) -> bool:
            return os.path.lexists(f"{row['project']}/{path}")

        def engine(charter: Charter | None = None) -> Session:
            near = self.neighbours()
            return Session(
                row["project"], cwd=cwd, charter_=charter, neighbours=near, exists=exists
            )

        session = engine()
        if row["engine"]:
            try:
                session.parse(json.loads(row["engine"]))
                return session
            except ValueError as error:
                self.faults.append(f"session {row['id']} starts anew: {error}")
        charter = self.charter() if row["task"] else None
        session = engine(charter)
        if charter is None and row["goal"]:
            session.prompt(row["goal"])
        return session

    def _judge(
        self, name: str, row: dict[str, Any], call: Call, event: Event, *, late: bool = False
    ) -> tuple[str, str]:
        """Score a call and keep it; what becomes of it, and why."""
        session = self._session(row, event)
        tool, given = replaced(call, session.root or "/", session.cwd or "/")
        action = normalise(
            tool, given, root=session.root or "/", cwd=session.cwd or "/", id=call.id
        )
        was, escalation = session.course.state, session.course.escalation
        state = session.state
        verdict = session.judge(action)
        level = _level(verdict, escalation)
        what = NONE if late else answers.decision(row["policy"], self.agent, verdict, level)
        step = recording.step(session, action, verdict)
        recalled = (
            books.recalled(self.db, name, session, step, call.id) if verdict.score < 8 else []
        )
        reason = ""
        if what != NONE:
            reason = _reason(session, call.id, level, verdict, books.earlier(name, recalled))
            session.state = state if what == DENY else session.state  # what is denied is not done
        step |= {"id": call.id, "subagent": call.subagent, "position": row["steps"] + 1}
        step |= {"recalled": recalled, "decision": what, "correction_given": reason}
        books.keep_step(self.db, name, step)
        if verdict.score < 8:
            sessions.add_event(
                self.db,
                name,
                step=call.id,
                at=clock.now(),
                score=verdict.score,
                level=level,
                before=was,
                after=session.course.state,
                escalation=session.course.escalation,
                evidence=step["rules"],
            )
        books.keep(self.db, name, session, steps=step["position"])
        return what, reason

    def _due(self, name: str, session: Session, subagent: str | None) -> list[str]:
        """The corrections to give now: to the one that acted, or in the end to whoever listens."""
        steps = {}
        for each in session.course.pending:
            step = sessions.step(self.db, name, each.action)
            if step is not None and (subagent is None or step["subagent"] == subagent):
                steps[each.action] = step
        if not steps:
            return []
        earlier = [
            text for step in steps.values() for text in books.earlier(name, step["recalled"])
        ]
        told = session.due(tuple(steps), earlier)
        for one in told:
            sessions.change_step(self.db, name, one.action, correction_given=one.text)
        return [one.text for one in told]

    def _explain(self, name: str, step: dict[str, Any], ok: bool, event: Event) -> None:
        """Keep a call's result, and the agent's own words about it."""
        from kedge.drift.transcript import reasoning

        words = redact(reasoning(str(event.get("transcript_path") or ""), step["id"]))[-_SAID:]
        said = words or step["reasoning"]
        key = step["is_key_decision"] or (step["changes"] and recording.decides(said))
        sessions.change_step(self.db, name, step["id"], ok=ok, reasoning=said, is_key_decision=key)


_HANDLERS: dict[str, Callable[[Watch, str, Event], Answer | None]] = {
    "SessionStart": Watch.began,
    "UserPromptSubmit": Watch.asked,
    "PreToolUse": Watch.before,
    "PostToolUse": Watch.after,
    "PostToolUseFailure": Watch.after,
    "Stop": Watch.stopped,
    "SubagentStop": Watch.kept,
    "PreCompact": Watch.kept,
    "SessionEnd": Watch.ended,
}


def _failed(event: Event, call: str) -> bool:
    """For agents that do not tell a hook how a call ended."""
    if not isinstance(event.get("tool_response"), str):
        return False
    from kedge.drift.transcript import failed

    return failed(str(event.get("transcript_path") or ""), call)


def _level(verdict: Verdict, escalation: int) -> str:
    soft = bool(verdict.rules) and verdict.rules[0].rule == "topic"
    return course.level(verdict.score, escalation, soft=soft)


def _reason(
    session: Session, call: str, level: str, verdict: Verdict, earlier: Sequence[str]
) -> str:
    """Why a call does not go through; that is its correction, which is then given."""
    from kedge.drift.corrections import build

    told = session.due((call,), earlier)
    if told:
        return told[0].text
    return build(level, session.charter.goal, verdict.rules, earlier).text
