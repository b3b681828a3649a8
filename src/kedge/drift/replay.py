"""A past session, replayed: events of a transcript go in, what kedge would have said comes out.

An action is judged from what came before it, as it would have been then. Subagents are judged by
what the user asked of the session. What a session has copied from another is heard and not counted.
"""

from __future__ import annotations

from kedge.agents.transcripts.events import Call, Compacted, Facts, Prompt, Result
from kedge.drift import ending
from kedge.drift.course import LEVELS
from kedge.drift.engine import Session
from kedge.host.record import NamedTuple
from kedge.host.redact import redact, redact_value, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kedge.agents.transcripts.events import Event
    from kedge.drift.distance import Neighbours
    from kedge.drift.scoring import Rule, Verdict

_LONGEST = 1 << 16  # characters of a prompt
_TELLING = 6  # characters of a secret


class Alarm(NamedTuple):
    """An action that kedge would have said something about.

    `step` is its place among the calls of the session, from 1. `correction` is empty where enough
    had been said since the user spoke.
    """

    step: int
    action: str
    at: str
    tool: str
    agent_id: str
    score: int
    level: str
    rules: tuple[Rule, ...]
    goal: str
    correction: str

    def data(self) -> dict[str, Any]:
        return {**self._asdict(), "rules": [rule._asdict() for rule in self.rules]}


class Replayed(NamedTuple):
    """A session as it went: `actions` are its own, `copied` those of the session that it goes on
    with, `why` says what makes it need a review. `goal` is the first one."""

    facts: Facts
    goal: str
    started: str
    ended: str
    prompts: int
    actions: int
    modifying: int
    subagents: int
    copied: int
    compactions: int
    alarms: tuple[Alarm, ...]
    score: float
    state: str
    why: tuple[str, ...]

    def data(self, least: str = "nudge") -> dict[str, Any]:
        """As JSON values, with the alarms of this level and above."""
        facts = self.facts
        return {
            "session": facts.session,
            "agent": facts.agent,
            "goal": self.goal,
            "cwd": facts.cwd,
            "model": facts.model,
            "version": facts.version,
            "started": self.started,
            "ended": self.ended,
            "prompts": self.prompts,
            "actions": self.actions,
            "modifying": self.modifying,
            "subagents": self.subagents,
            "copied": self.copied,
            "compactions": self.compactions,
            "alarms": [alarm.data() for alarm in self.alarms if _reaches(alarm.level, least)],
            "course": {"score": self.score, "state": self.state},
            "needs_review": bool(self.why),
            "why": list(self.why),
        }


def replay(
    events: Iterable[Event],
    root: str | None = None,
    *,
    neighbours: Neighbours | None = None,
    counted: set[str] | None = None,
) -> Replayed:
    """How a session went. `counted` has the calls of sessions before it, and gets those of this."""
    run = _Run(Session(root, neighbours=neighbours), set() if counted is None else counted)
    for event in events:
        run.take(event)
    return run.replayed()


class _Run:
    """A session while it is replayed."""

    def __init__(self, session: Session, counted: set[str]) -> None:
        self.session = session
        self.counted = counted
        self.facts = Facts("")
        self.goal = self.started = self.ended = ""
        self.prompts = self.steps = self.copied = self.modifying = self.compactions = 0
        self.agents: set[str] = set()
        self.alarms: list[Alarm] = []
        self.results: dict[str, bool] = {}  # of the actions with an alarm

    def take(self, event: Event) -> None:
        if isinstance(event, Facts):
            if not event.subagent or not self.facts.session:
                self.facts = event
            return
        self.started = self.started or event.at
        self.ended = max(self.ended, event.at)
        if isinstance(event, Call):
            self._called(event)
        elif isinstance(event, Result):
            self.session.result(event.id, event.ok)
            if event.id in self.results:
                self.results[event.id] = event.ok
        elif isinstance(event, Compacted):
            self.compactions += 1
        elif not event.machine:
            self._asked(event)

    def _asked(self, prompt: Prompt) -> None:
        before = self.session.charter.revision
        self.session.prompt(redact(prompt.text[:_LONGEST]))
        self.prompts += self.session.charter.revision > before
        self.goal = self.goal or self.session.charter.goal

    def _called(self, call: Call) -> None:
        session = self.session
        session.cwd = call.cwd or session.cwd
        self.steps += 1
        changes = session.state.modified
        verdict = session.action(call.id, call.tool, call.input)
        alarm = verdict.level != LEVELS[0]
        told = session.due() if alarm else []
        if call.id and call.id in self.counted:
            self.copied += 1
            return
        self.counted.add(call.id)
        self.modifying += session.state.modified > changes
        if call.agent_id:
            self.agents.add(call.agent_id)
        if alarm:
            self.alarms.append(self._alarm(call, verdict, told[0].text if told else ""))
            self.results[call.id] = True

    def _alarm(self, call: Call, verdict: Verdict, correction: str) -> Alarm:
        found = _secrets(call.input)
        return Alarm(
            self.steps,
            call.id,
            call.at,
            call.tool,
            call.agent_id,
            verdict.score,
            verdict.level,
            tuple(rule._replace(evidence=_without(rule.evidence, found)) for rule in verdict.rules),
            self.session.charter.goal,
            _without(correction, found),
        )

    def replayed(self) -> Replayed:
        course = self.session.course
        return Replayed(
            self.facts,
            self.goal,
            self.started,
            self.ended,
            self.prompts,
            self.steps - self.copied,
            self.modifying,
            len(self.agents),
            self.copied,
            self.compactions,
            tuple(self.alarms),
            round(course.score, 1),
            course.state,
            tuple(self._why()),
        )

    def _why(self) -> list[str]:
        """What makes the session need a review, by the rule of sessions that were watched."""
        alarms = [
            {"level": each.level, "step": each.action, "evidence": each.rules}
            for each in self.alarms
        ]
        steps = [{"id": each, "ok": ok, "decision": "none"} for each, ok in self.results.items()]
        return ending.reasons({"course": self.session.course.state}, alarms, steps)


def _secrets(given: object) -> list[str]:
    """The secrets in the input of a call."""
    found: list[str] = []
    todo = [(given, redact_value(given))]
    while todo:
        raw, clean = todo.pop()
        if isinstance(raw, str) and raw != clean:
            found += [raw[one.start : one.end] for one in scan(raw)] or [raw]
        elif isinstance(raw, dict) and isinstance(clean, dict):
            todo += zip(raw.values(), clean.values(), strict=True)
        elif isinstance(raw, list) and isinstance(clean, list):
            todo += zip(raw, clean, strict=True)
    return found


def _without(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets, and without the beginning of one where it was cut off."""
    for secret in secrets:
        for end in range(len(secret), min(_TELLING, len(secret)) - 1, -1):
            if secret[:end] in text:
                text = text.replace(secret[:end], "[redacted]")
                break
    return text


def _reaches(level: str, least: str) -> bool:
    return LEVELS.index(level) >= LEVELS.index(least)
