"""Replay a past session: takes the events of a transcript, returns what kedge would have said.

An action is judged by what came before it, as it would have been then. Subagents are judged by what
the user asked of the session. Events that a session copied from another are read but not counted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kedge.agents.transcripts.events import (
    Compacted,
    PromptMessage,
    SessionFacts,
    ToolCall,
    ToolResult,
)
from kedge.drift import summary
from kedge.drift.course import LEVELS
from kedge.drift.past_session import PastSession

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kedge.agents.transcripts.events import Event
    from kedge.drift.evidence.distance import CodeMap
    from kedge.drift.scoring import Penalty, Verdict


@dataclass(frozen=True, slots=True)
class Alarm:
    """An action that kedge would have commented on.

    `step` counts the calls of the session from 1. `correction` is empty if the user's message had
    used up its corrections.
    """

    step: int
    action: str
    at: str
    tool: str
    agent_id: str
    score: int
    level: str
    rules: tuple[Penalty, ...]
    goal: str
    correction: str

    def data(self) -> dict[str, Any]:
        return {**asdict(self), "rules": [rule._asdict() for rule in self.rules]}


def replay(
    events: Iterable[Event],
    root: str | None = None,
    *,
    code_map: CodeMap | None = None,
    counted: set[str] | None = None,
) -> Replay:
    """Replay a session; `counted` holds the calls of earlier ones, and gets those of this one.

    `code_map` is the map of the project that it worked in. What its working tree was like then is
    not known.
    """
    session = PastSession(root, code_map=code_map)
    result = Replay(session, set() if counted is None else counted)
    for event in events:
        result.take(event)
    return result


class Replay:
    """How a session went, as far as its events were taken.

    `goal` is the first goal; `steps` counts all calls, `copied` those of the session before it.
    """

    def __init__(self, session: PastSession, counted: set[str]) -> None:
        self.past = session
        self.session = session.engine
        self.counted = counted
        self.facts = SessionFacts("")
        self.goal = self.started = self.ended = ""
        self.prompts = self.steps = self.copied = self.modifying = self.compactions = 0
        self.agents: set[str] = set()
        self.alarms: list[Alarm] = []
        self.results: dict[str, bool] = {}  # results of the actions with an alarm

    @property
    def actions(self) -> int:
        return self.steps - self.copied

    @property
    def why(self) -> list[str]:
        """Why the session needs review, by the rules for watched sessions."""
        alarms = [
            {"level": each.level, "step": each.action, "evidence": each.rules}
            for each in self.alarms
        ]
        steps = [{"id": each, "ok": ok, "decision": "none"} for each, ok in self.results.items()]
        return summary.find_review_reasons({"course": self.session.course.state}, alarms, steps)

    def data(self, least: str = "nudge") -> dict[str, Any]:
        """Return the replay as JSON values, with the alarms of this level and above."""
        facts, course = self.facts, self.session.course
        levels = LEVELS[LEVELS.index(least) :]
        why = self.why
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
            "subagents": len(self.agents),
            "copied": self.copied,
            "compactions": self.compactions,
            "alarms": [alarm.data() for alarm in self.alarms if alarm.level in levels],
            "course": {"score": round(course.score, 1), "state": course.state},
            "needs_review": bool(why),
            "why": why,
        }

    def take(self, event: Event) -> None:
        if isinstance(event, SessionFacts):
            if not event.subagent or not self.facts.session:
                self.facts = event
            return
        self.started = self.started or event.at
        self.ended = max(self.ended, event.at)
        if isinstance(event, ToolCall):
            self._take_call(event)
        elif isinstance(event, ToolResult):
            self.past.result(event.id, event.ok)
            if event.id in self.results:
                self.results[event.id] = event.ok
        elif isinstance(event, Compacted):
            self.compactions += 1
        elif not event.machine:
            self._take_prompt(event)

    def _take_prompt(self, prompt: PromptMessage) -> None:
        before = self.session.charter.revision
        self.past.prompt(prompt.text)
        self.prompts += self.session.charter.revision > before
        self.goal = self.goal or self.session.charter.goal

    def _take_call(self, call: ToolCall) -> None:
        session = self.session
        session.cwd = call.cwd or session.cwd
        self.steps += 1
        changes = session.memory.modified
        verdict = self.past.call(call.id, call.tool, call.input)
        alarm = verdict.level != LEVELS[0]
        corrections = session.deliver() if alarm else []
        if call.id and call.id in self.counted:
            self.copied += 1
            return
        self.counted.add(call.id)
        self.modifying += session.memory.modified > changes
        if call.agent_id:
            self.agents.add(call.agent_id)
        if alarm:
            self.alarms.append(
                self._make_alarm(call, verdict, corrections[0].text if corrections else "")
            )
            self.results[call.id] = True

    def _make_alarm(self, call: ToolCall, verdict: Verdict, correction: str) -> Alarm:
        return Alarm(
            self.steps,
            call.id,
            call.at,
            call.tool,
            call.agent_id,
            verdict.score,
            verdict.level,
            verdict.rules,
            self.session.charter.goal,
            correction,
        )
