"""Judge, record and answer the events of agents, one at a time.

Each event is one transaction, so that the hooks of parallel calls run one after another and none is
lost. Events are redacted before anything is judged or stored.
"""

from __future__ import annotations

from kedge.drift import actions, course, inputs
from kedge.drift.watch import answers, bindings, limit_answers, messages, session_log, steps, unread
from kedge.drift.watch.answers import ADVISE, ASK, DENY, ENFORCE, NONE, OFF
from kedge.drift.watch.calls import HookCall, has_failed
from kedge.host import clock
from kedge.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kedge.drift.engine import Session
    from kedge.drift.watch.session_loader import SessionLoader

    Event = dict[str, Any]
    Answer = dict[str, Any]


class Watch:
    """Answers events of a project's sessions.

    `agent_limits` tells whether agents record limits. `asks` tells whether a call can be put to the
    user; by default that depends on the agent.
    """

    def __init__(
        self,
        loader: SessionLoader,
        *,
        agent_limits: Callable[[], bool] = lambda: True,
        asks: bool | None = None,
    ) -> None:
        self.loader = loader
        self.db = loader.db
        self.agent_limits = agent_limits
        self.asks = answers.can_ask(loader.agent) if asks is None else asks
        self.compares = self.commits = False  # the judged call may change any file; may commit

    def answer(self, event: Event) -> Answer | None:
        """Return the answer to an event, or None if there is nothing to say."""
        handler = _HANDLERS.get(str(event.get("hook_event_name")))
        name = event.get("session_id")
        if handler is None or not isinstance(name, str) or not name:
            return None
        return handler(self, name[: messages.LONGEST], event)

    def start_session(self, name: str, event: Event) -> None:
        """Handle a session that starts, resumes, or was compacted."""
        policy = self.loader.policy()
        with sessions.transaction(self.db):
            row = self.loader.load_row(name, event, policy)
            if event.get("source") != "compact":
                changes = {"status": "active", "ended_at": None, "policy": policy}
                sessions.change(self.db, name, process=self.loader.find_process(), **changes)
            if policy != OFF:
                self.loader.update_binding(row, event)

    def take_prompt(self, name: str, event: Event) -> Answer | None:
        """Revise the charter with a message of the user, and deliver corrections that wait."""
        policy = self.loader.policy()
        message = messages.describe(event, None, unattended=self.loader.unattended)
        with sessions.transaction(self.db):
            row = self.loader.load_row(name, event, policy)
            texts = self.loader.take_messages(row, [message], policy)
        return answers.give_context(messages.EVENT, texts)

    def judge_call(self, name: str, event: Event) -> Answer | None:
        """Score a call before it runs and, by policy, ask about it or deny it."""
        call = HookCall(event)
        actions.prepare(call.tool)
        with sessions.transaction(self.db):
            row = self.loader.load_row(name, event)
            known = sessions.step(self.db, name, call.id)
            if row["policy"] == OFF:
                return None
            if known is None:
                self._judge(name, row, call, event)
                known = sessions.step(self.db, name, call.id)
        decision = known["decision"] if known is not None else NONE
        if self.compares and decision != DENY:
            self._stamp_tree(name, call, event)
        if known is None or decision not in (ASK, DENY):
            return None
        user = limit_answers.address_user(known)
        return answers.answer_call(decision, known["correction_given"], user)

    def take_result(self, name: str, event: Event) -> Answer | None:
        """Record the result of a call, and deliver its correction."""
        call = HookCall(event)
        if call.alike:
            call.id = sessions.find_call(self.db, name, call.alike) or call.id
        kind = str(event.get("hook_event_name"))
        stamp = self._stamp_again(name, call)
        with sessions.transaction(self.db):
            row = self.loader.load_row(name, event)
            if row["policy"] == OFF:
                return None
            step = sessions.step(self.db, name, call.id)
            if step is None:
                self._judge(name, row, call, event, late=True)
                row = self.loader.load_row(name, event)
                step = sessions.steps(self.db, name, last=1)[0]
            claimed = step["at"] if bindings.may_change_task(call.tool, call.input) else None
            session = self.loader.load_session(row, event, rebind=claimed)
            ok = call.ok and not has_failed(event, call.id)
            session.result(call.id, ok)
            notice = limit_answers.take_agreement(self.db, name, session, step)
            if stamp is not None:
                self._judge_changes(name, session, call, step, stamp)
            texts = []
            if row["policy"] in (ADVISE, ENFORCE):
                texts = session_log.deliver(self.db, name, session, call.subagent)
                texts += limit_answers.remind_once(session, step, self.agent_limits)
            session_log.save_session(self.db, name, session)
            self._save_result(name, step, ok, event)
        return answers.give_context(kind, texts, notice)

    def stop_turn(self, name: str, event: Event) -> Answer | None:
        """Flag a session that needs review when the agent stops, and name missing checks."""
        from kedge.drift import summary

        with sessions.transaction(self.db):
            row = self.loader.find_row(name)
            if row is None or row["policy"] == OFF:
                return None
            self.loader.update_binding(row, event)
            result = summary.summarize(self.db, row)
            sessions.change(self.db, name, needs_review=result["needs_review"])
        if row["policy"] not in (ADVISE, ENFORCE) or event.get("stop_hook_active"):
            return None
        if self.loader.checks:
            charters = sessions.charters(self.db, name)
            since = charters[-1]["at"] if charters else ""
            steps = sessions.steps(self.db, name)
            reminder = summary.write_reminder(row, self.loader.checks, steps, since)
            if reminder:
                return answers.block_stop(reminder)
        if result["needs_review"] and not row["needs_review"] and self.loader.agent == "claude":
            return answers.notify_user(summary.write_notice(name, result))
        return None

    def touch_session(self, name: str, _: Event) -> None:
        """Note that the session is alive: a subagent ended, or a compaction begins."""
        with sessions.transaction(self.db):
            if sessions.get(self.db, name) is not None:
                sessions.change(self.db, name, checked_at=clock.now())

    def end_session(self, name: str, _: Event) -> None:
        """Store the summary of a session that is over."""
        from kedge.drift import summary

        with sessions.transaction(self.db):
            row = self.loader.find_row(name)
            if row is not None:
                result = summary.summarize(self.db, row)
                sessions.change(
                    self.db,
                    name,
                    status="completed",
                    ended_at=clock.now(),
                    summary=result,
                    needs_review=result["needs_review"],
                )

    def _judge(
        self, name: str, row: dict[str, Any], call: HookCall, event: Event, *, late: bool = False
    ) -> None:
        """Score a call and store it as a step, with the decision and its reason."""
        session = self.loader.load_session(row, event)
        if late:  # what was there before the call is not known any more
            session.exists = session.tree = session.read = None
        action = inputs.read_call(session, call.tool, call.input, call.id)
        self.compares = not late and not session.is_blind and steps.is_unpredictable(action)
        self.commits = any(act.verb == "am" for act in action.effects.vcs)
        before = session.course
        remembered = session.memory
        verdict = session.judge(action)
        level = answers.choose_level(verdict, before.escalation)
        decision = NONE if late else answers.decide(row["policy"], self.asks, verdict, level)
        step = steps.describe_step(session, action, verdict)
        recalled = (
            session_log.recall_steps(self.db, name, session, step, call.id)
            if verdict.score < 8
            else []
        )
        reason = ""
        asked: list[list[str]] = []
        if decision == NONE and row["policy"] == ENFORCE and action.effects.too_large and not late:
            decision, reason = answers.choose_question(self.asks), unread.TO_AGENT
        elif decision != NONE:
            earlier = session_log.describe_steps(name, recalled)
            asked = limit_answers.list_asked(session, action, verdict)
            reason = limit_answers.address_agent(
                session, call.id, decision, level, verdict, earlier, asked
            )
            if decision == DENY:  # a call that is denied is not done
                session.memory = remembered
        else:
            session.record_breach(action, verdict)
        step |= {"id": call.id, "subagent": call.subagent, "position": row["steps"] + 1}
        step |= {"recalled": recalled, "decision": decision, "correction_given": reason}
        step["asked"] = asked
        session_log.save_step(self.db, name, step)
        if verdict.score < 8:
            session_log.save_event(self.db, name, session, call.id, verdict, level, before.state)
        session_log.save_session(self.db, name, session, steps=step["position"])
        limit_answers.record_limits(self.db, name, session, action, self.agent_limits)

    def _stamp_tree(self, name: str, call: HookCall, event: Event) -> None:
        """Note the state of the working tree before a call whose effects are not known."""
        from kedge.drift.watch.tree_changes import take_stamp

        stamp = take_stamp(self.loader.root, self.loader.faults, commits=self.commits)
        with sessions.transaction(self.db):
            session = self.loader.load_session(self.loader.load_row(name, event), event)
            session.add_stamp(call.id, stamp)
            session_log.save_session(self.db, name, session)

    def _stamp_again(self, name: str, call: HookCall) -> dict[str, str] | None:
        """Return the state of the working tree after a call, if it was noted before."""
        row = sessions.get(self.db, name)
        if row is None or '"stamps"' not in row["engine"]:
            return None
        from kedge.drift.watch.tree_changes import take_second_stamp

        return take_second_stamp(row["engine"], call.id, self.loader.root, self.loader.faults)

    def _judge_changes(
        self,
        name: str,
        session: Session,
        call: HookCall,
        step: dict[str, Any],
        stamp: dict[str, str],
    ) -> None:
        """Judge what a call changed beyond what was known, as a part of its step."""
        from kedge.drift.watch.tree_changes import judge_changes

        state = session.course.state
        action = inputs.read_call(session, call.tool, call.input, call.id)
        judged = judge_changes(session, action, stamp)
        if judged is None:
            return
        action, verdict = judged
        session_log.extend_step(self.db, name, step, steps.describe_step(session, action, verdict))
        if verdict.score < 8:
            session_log.save_event(self.db, name, session, call.id, verdict, verdict.level, state)

    def _save_result(self, name: str, step: dict[str, Any], ok: bool, event: Event) -> None:
        """Store a call's result, and the agent's own words about it."""
        from kedge.drift.watch.transcript_tail import find_reasoning

        spoken = str(event.get("reasoning") or "")  # from the proxy, which reads no transcript
        spoken = spoken or find_reasoning(str(event.get("transcript_path") or ""), step["id"])
        words = session_log.shorten_reasoning(spoken) or step["reasoning"]
        on_course = step["is_validated"] and step["drift_score"] >= course.ON_COURSE
        key = step["is_key_decision"] or (on_course and step["changes"] and steps.is_choice(words))
        sessions.change_step(self.db, name, step["id"], ok=ok, reasoning=words, is_key_decision=key)


_HANDLERS: dict[str, Callable[[Watch, str, Event], Answer | None]] = {
    "SessionStart": Watch.start_session,
    "UserPromptSubmit": Watch.take_prompt,
    "PreToolUse": Watch.judge_call,
    "PostToolUse": Watch.take_result,
    "PostToolUseFailure": Watch.take_result,
    "Stop": Watch.stop_turn,
    "SubagentStop": Watch.touch_session,
    "PreCompact": Watch.touch_session,
    "SessionEnd": Watch.end_session,
}
