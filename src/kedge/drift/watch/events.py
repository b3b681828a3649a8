"""Judge, record and answer the events of agents, one at a time.

Each event is one transaction, so that the hooks of parallel calls run one after another and none is
lost. Events are redacted before anything is judged or stored.
"""

from __future__ import annotations

import json

from kedge.drift import actions, course, inputs
from kedge.drift.engine import Session
from kedge.drift.watch import answers, bindings, limit_answers, messages, session_log, steps, unread
from kedge.drift.watch.answers import ADVISE, ASK, DENY, ENFORCE, NONE, OFF
from kedge.drift.watch.calls import HookCall, has_failed
from kedge.drift.watch.work_tree import WorkTree
from kedge.host import clock
from kedge.host.redact import redact
from kedge.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from typing import Any

    from kedge.drift.evidence.distance import CodeMap
    from kedge.drift.watch.bindings import SessionTask

    Event = dict[str, Any]
    Answer = dict[str, Any]

_REASONING = 600  # characters of what the agent says


class Watch:
    """Answers events of a project's sessions.

    `policy` is called at each message. `find_task` returns the task of a session, given its row and
    the time since when claims are its own; None if tasks cannot be read. `code_map` opens the
    map for a session; `agent_limits` tells whether agents record limits. With `unattended`, prompts
    come from kedge and are not the user's word. `asks` tells whether a call can be put to the user;
    by default that depends on the agent.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        root: str,
        agent: str,
        *,
        policy: Callable[[], str],
        find_task: Callable[[dict[str, Any], str], SessionTask | None],
        code_map: Callable[[str], CodeMap | None] = lambda _: None,
        agent_limits: Callable[[], bool] = lambda: True,
        unattended: bool = False,
        asks: bool | None = None,
    ) -> None:
        self.db = db
        self.root = root
        self.agent = agent
        self.policy = policy
        self.find_task = find_task
        self.checks: Sequence[str] = ()  # of the session's task
        self.code_map = code_map
        self.agent_limits = agent_limits
        self.unattended = unattended
        self.asks = answers.can_ask(agent) if asks is None else asks
        self.faults: list[str] = []
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
        policy = self.policy()
        with sessions.transaction(self.db):
            row = self._load_row(name, event, policy)
            if event.get("source") != "compact":
                changes = {"status": "active", "ended_at": None, "policy": policy}
                sessions.change(self.db, name, process=self._find_process(), **changes)
            if policy != OFF:
                self._update_binding(row, event)

    def take_prompt(self, name: str, event: Event) -> Answer | None:
        """Revise the charter with a message of the user, and deliver corrections that wait."""
        policy = self.policy()
        message = messages.describe(event, None, unattended=self.unattended)
        with sessions.transaction(self.db):
            row = self._load_row(name, event, policy)
            texts = self._take_messages(row, [message], policy)
        return answers.give_context(messages.EVENT, texts)

    def read_messages(self, name: str) -> None:
        """Read the messages that were noted and not read yet."""
        with sessions.transaction(self.db):
            self._find_row(name)

    def judge_call(self, name: str, event: Event) -> Answer | None:
        """Score a call before it runs and, by policy, ask about it or deny it."""
        call = HookCall(event)
        actions.prepare(call.tool)
        with sessions.transaction(self.db):
            row = self._load_row(name, event)
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
            row = self._load_row(name, event)
            if row["policy"] == OFF:
                return None
            step = sessions.step(self.db, name, call.id)
            if step is None:
                self._judge(name, row, call, event, late=True)
                row = self._load_row(name, event)
                step = sessions.steps(self.db, name, last=1)[0]
            claimed = step["at"] if bindings.may_change_task(call.tool, call.input) else None
            session = self._load_session(row, event, rebind=claimed)
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
            row = self._find_row(name)
            if row is None or row["policy"] == OFF:
                return None
            self._update_binding(row, event)
            result = summary.summarize(self.db, row)
            sessions.change(self.db, name, needs_review=result["needs_review"])
        if row["policy"] not in (ADVISE, ENFORCE) or event.get("stop_hook_active"):
            return None
        if self.checks:
            charters = sessions.charters(self.db, name)
            since = charters[-1]["at"] if charters else ""
            steps = sessions.steps(self.db, name)
            reminder = summary.write_reminder(row, self.checks, steps, since)
            if reminder:
                return answers.block_stop(reminder)
        if result["needs_review"] and not row["needs_review"] and self.agent == "claude":
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
            row = self._find_row(name)
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

    def _load_row(self, name: str, event: Event, policy: str | None = None) -> dict[str, Any]:
        """Return the session's row; the first event of a session creates it."""
        row = self._find_row(name)
        if row is not None:
            return row
        now = clock.now()
        return sessions.add(
            self.db,
            name,
            agent=self.agent,
            project=self.root,
            policy=policy or self.policy(),
            transcript=redact(str(event.get("transcript_path") or "")[:1000]),
            process=self._find_process(),
            started_at=now,
            checked_at=now,
        )

    def _find_row(self, name: str) -> dict[str, Any] | None:
        """Return the session's row after its messages are read, or None."""
        row = sessions.get(self.db, name)
        if row is None or not row["unread"]:
            return row
        self._take_messages(row, row["unread"], self.policy())
        return sessions.get(self.db, name)

    def _take_messages(
        self, row: dict[str, Any], new: Sequence[dict[str, Any]], policy: str
    ) -> list[str]:
        """Revise the charter with messages of the user; return the corrections that wait."""
        name, turn = row["id"], row["turn"]
        if policy == OFF:
            sessions.change(self.db, name, policy=policy, unread=[])
            return []
        session = self._load_session(row, {"cwd": new[-1]["cwd"]}, rebind="")
        texts = []
        if policy in (ADVISE, ENFORCE):
            texts = session_log.deliver(self.db, name, session, None)
        is_new_turn = row["turn"] != turn  # the session belongs to another task
        for message in new:
            revision = session.charter.revision
            said = "" if message["unattended"] else message["text"]
            if not message["unattended"]:
                session.prompt(said)
            if session.charter.revision != revision or not sessions.charters(self.db, name):
                session_log.save_charter(self.db, name, session, said, message["at"])
            is_new_turn |= session.charter.revision != revision
        more = {"turn": turn + (is_new_turn and not row["unread"])}  # unread ones were counted
        more |= {"policy": policy, "status": "active", "ended_at": None, "unread": []}
        session_log.save_session(self.db, name, session, **more)
        return texts

    def _find_process(self) -> str:
        from kedge.host.agent_process import find_process

        return find_process(self.agent)

    def _update_binding(self, row: dict[str, Any], event: Event) -> None:
        """Bind the session to the task that it works on, and store it if that changed."""
        before = row["task"], row["bound"]
        session = self._load_session(row, event, rebind="")
        if (row["task"], row["bound"]) != before:
            session_log.save_session(self.db, row["id"], session)

    def _load_session(
        self, row: dict[str, Any], event: Event, *, rebind: str | None = None
    ) -> Session:
        """Return the engine as the last event left it, bound to its task.

        The binding of a session is looked up at its first event, and with `rebind`, which is the
        time since when claims of a task are the session's own, or "".
        """
        cwd = str(event.get("cwd") or row["project"])
        tree = WorkTree(row["project"])

        def create() -> Session:
            return Session(row["project"], cwd=cwd, code_map=self.code_map(row["id"]), tree=tree)

        session, restarted = create(), not row["engine"]
        if row["engine"]:
            try:
                session.parse(json.loads(row["engine"]))
            except ValueError as error:
                self.faults.append(f"session {row['id']} starts again from its goal: {error}")
                session, restarted = create(), True
        if restarted and row["goal"]:
            session.prompt(row["goal"])
        if restarted or rebind is not None:
            self._bind(row, session, rebind or "")
        return session

    def _bind(self, row: dict[str, Any], session: Session, since: str) -> None:
        """Bind the session to the task that it works on, or end its binding."""
        found = self.find_task(row, since)
        if found is None:
            return
        self.checks = found.checks
        changes = bindings.apply_task(session, row, found)
        if changes:
            row.update(changes)
            sessions.change(self.db, row["id"], **changes)

    def _judge(
        self, name: str, row: dict[str, Any], call: HookCall, event: Event, *, late: bool = False
    ) -> None:
        """Score a call and store it as a step, with the decision and its reason."""
        session = self._load_session(row, event)
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

        stamp = take_stamp(self.root, self.faults, commits=self.commits)
        with sessions.transaction(self.db):
            session = self._load_session(self._load_row(name, event), event)
            session.add_stamp(call.id, stamp)
            session_log.save_session(self.db, name, session)

    def _stamp_again(self, name: str, call: HookCall) -> dict[str, str] | None:
        """Return the state of the working tree after a call, if it was noted before."""
        row = sessions.get(self.db, name)
        if row is None or '"stamps"' not in row["engine"]:
            return None
        from kedge.drift.watch.tree_changes import take_second_stamp

        return take_second_stamp(row["engine"], call.id, self.root, self.faults)

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
        words = redact(spoken)[-_REASONING:] or step["reasoning"]
        on_course = step["drift_score"] >= course.ON_COURSE
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
