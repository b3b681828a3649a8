"""One role's turn at a task: prompt, call the agent, prove, decide, record."""

from __future__ import annotations

import uuid
from dataclasses import asdict, replace

from kedge.agents.launch.events import Finished, Reason
from kedge.context.workspace import Workspace
from kedge.errors import HandoffRefused, KedgeError, ProgramError, SecretFound
from kedge.handoff.operations import HandoffOperations
from kedge.handoff.proof import summarise_check
from kedge.host import clock, orphans
from kedge.model.attempt import Outcome
from kedge.model.task import BlockType, Status, Task
from kedge.run import agent_commits, agent_setup, commits, prompts, reports, reviews
from kedge.run.agent_call import AgentCall, call_agent
from kedge.run.decision import Decision, Proof, decide, decide_without_proof
from kedge.run.journal import Checkpoint
from kedge.run.options import IMPLEMENTER
from kedge.run.outcomes import INTERRUPTED, StopCode
from kedge.run.proof import prove
from kedge.run.run_state import RunState
from kedge.run.session_watch import SessionWatch
from kedge.run.turn_guard import TurnGuard

_MOST_FILES = 200  # in a record


class RoleTurn:
    """One call of the agent in a role, and what comes of it. `begin` is where the task started."""

    def __init__(
        self,
        state: RunState,
        handoff: HandoffOperations,
        task: Task,
        role: str,
        begin: Checkpoint,
        hidden: dict[str, str],
    ) -> None:
        self._state = state
        self._handoff = handoff
        self._task = task
        self._role = role
        self._start = begin.start
        self._hidden = hidden  # files that no commit will hold
        self._head = self._turn_head = begin.head
        self._before = ""  # the tree before this turn
        self._began = clock.now()
        self._session = str(uuid.uuid4())
        self._watch = SessionWatch(state, task, role, self._session)
        self._guard: TurnGuard | None = None
        self._changed: dict[str, None] = {}  # by the agent, and put back

    def take(self, last: Decision | None) -> Decision:
        """Take the turn. Its attempt is in the ledger when this returns.

        `last` is the decision of the turn before, for the prompt.
        """
        try:
            self._begin()
        except HandoffRefused as error:
            return self._record(_refuse_handoff(error))
        self._note_call()
        try:
            call = self._call(last)
        except ProgramError as error:
            return self._record(Decision(Outcome.AGENT_ERROR, error.message, fatal=True))
        proof, decision = None, decide_without_proof(call.finished, call.stopped)
        try:
            if call.left:
                decision = _refuse_processes(call.left)
            decision = self._put_back() or decision
            if decision is None:
                decision, proof = self._judge(call)
                decision = self._put_back() or decision  # checks run the agent's code
            decision = self._keep_tree(decision, proof)
        except KedgeError as error:  # the agent damaged the repository, or kedge's files
            why = f"kedge cannot inspect what the agent left: {error.message}"
            if decision is None or decision.done:
                decision = Decision(Outcome.AGENT_ERROR, why, fatal=True)
            else:
                self._state.warn(why)
        self._take_back_commits(decision)
        decision = decision.add_denials(self._watch.denied).add_put_back(self._changed)
        return self._record(decision.redact(), call, proof)

    def prove_again(self) -> Decision:
        """Prove what an earlier turn left and recorded as done, without calling the agent.

        Only a proof that fails is recorded: the ledger has the success already.
        """
        try:
            self._begin()
            decision, proof = self._decide_by_proof(Finished(Reason.COMPLETED))
            decision = self._keep_tree(self._put_back() or decision, proof)
        except HandoffRefused as error:
            return self._record(_refuse_handoff(error))
        if decision.done:
            return decision.redact()
        self._take_back_commits(decision)
        return self._record(decision.add_put_back(self._changed).redact(), proof=proof)

    def _put_back(self) -> Decision | None:
        """Put back what an agent must not change; return a refusal if that is not possible."""
        assert self._guard is not None  # noqa: S101 - the turn has begun
        report = self._guard.check()
        for path in report.put_back:
            self._changed.setdefault(path)
        if report.put_back:
            kept = f"; the changed versions are in {report.aside}" if report.aside else ""
            names = ", ".join(report.put_back)
            self._state.warn(f"{self._task.id}: put back what the agent changed: {names}{kept}")
        if not report.refused:
            return None
        names = ", ".join(report.refused)
        return Decision(
            Outcome.AGENT_ERROR,
            f"it changed what decides which programs git runs: {names}",
            fatal=True,
        )

    def _take_back_commits(self, decision: Decision) -> None:
        """Take what must not stay off the branch, and say how to get it.

        That is what an unsuccessful attempt has committed, and whatever a reviewer has.
        """
        if decision.done and self._role == IMPLEMENTER:
            return
        began = self._turn_head if decision.done else self._head
        try:
            taken = agent_commits.take_back(self._state.project, self._task.id, began)
        except KedgeError as error:
            self._state.warn(f"what the attempt has committed stays: {error.message}")
            return
        if taken is not None:
            self._state.emit("uncommitted", {"task": self._task.id, **asdict(taken)})

    def _begin(self) -> None:
        """Hand the task over to this role, and note what an agent must not change."""
        context = self._handoff.begin(
            self._role, self._task, accept_stale=True, session=self._session
        )
        # A fresh `begin` has read the tree, to compare it with the last snapshot.
        is_fresh = context.agent(self._role).session_id == self._session
        verified = self._handoff.verified_tree if is_fresh else None
        self._before = verified or self._handoff.read_tree()
        self._turn_head = commits.find_head(self._state.project)
        assert self._state.baseline is not None  # noqa: S101 - the run has noted it at its start
        self._guard = TurnGuard(
            self._state.board(), self._handoff, self._task, self._state.baseline
        )

    def _note_call(self) -> None:
        """Note the call in the journal, so that a resumed run knows that it was under way."""
        journal = self._state.journal
        if journal.record.at is not None:
            checkpoint = replace(
                journal.record.at,
                role=self._role,
                session=self._session,
                began_at=self._began,
                tree=self._before,
            )
            journal.change(at=checkpoint)

    def _call(self, last: Decision | None) -> AgentCall:
        """Build the prompt and call the agent."""
        state, task, role = self._state, self._task, self._role
        iteration = state.count_iteration()
        workspace = agent_setup.open_mapped_workspace(state, task)
        prompt = self._build_prompt(workspace, iteration, last)
        attempt = state.attempts.count(task.id).next_number
        about = {"task": task.id, "role": role}
        state.emit("iteration", {**about, "iteration": iteration, "attempt": attempt})
        invocation = agent_setup.build_invocation(
            state, self._handoff, task, role, self._session, workspace, prompt
        )
        call = call_agent(
            state.adapter, invocation, state.limits, state.usage, self._watch.report, state.follow
        )
        state.follow(None)
        state.add_usage(call.finished.used)
        return call

    def _build_prompt(self, workspace: Workspace, iteration: int, last: Decision | None) -> str:
        """Return the prompt of this turn's role; warnings about it are passed on."""
        state, task = self._state, self._task
        if self._role != IMPLEMENTER:
            past = reviews.summarize(state, task)
            return prompts.build_review_prompt(self._handoff, self._role, past)
        anchor_at = iteration if state.options.reanchor else None
        prompt, warnings = prompts.build_implementer_prompt(
            workspace, task, self._session, last, anchor_at
        )
        for warning in warnings:
            state.warn(warning)
        return f"{prompt}\n{reports.INSTRUCTIONS}\n" if reports.is_due(state, task) else prompt

    def _judge(self, call: AgentCall) -> tuple[Decision, Proof | None]:
        """Decide about an agent that ended normally: block, review, or prove its work."""
        state, task = self._state, self._task
        current = state.board().get(task.id)
        if current.status is Status.BLOCKED and current.blocked is not None:
            why = current.blocked
            return Decision(Outcome.BLOCKED, why.reason, block=why.type), None
        text = call.finished.text
        if self._role != IMPLEMENTER:
            return reviews.judge(state, self._handoff, task, self._role, self._before, text), None
        if reports.is_due(state, task):  # the log is part of the tree that is proven
            number = state.attempts.count(task.id).next_number
            reports.keep(state, task, text, number, self._start, self._handoff.read_tree())
        return self._decide_by_proof(call.finished)

    def _decide_by_proof(self, finished: Finished) -> tuple[Decision, Proof | None]:
        state = self._state
        state.is_checking = True
        try:
            proof = self._prove()
        except KeyboardInterrupt:  # a second one ends the run at once
            return Decision(Outcome.INTERRUPTED, INTERRUPTED.text), None
        finally:
            state.is_checking = False
        stop = state.find_stop()
        timed_out = any(one.get("timed_out") for one in proof.checks)
        if stop and stop.code is StopCode.TIME and timed_out:
            return Decision(Outcome.TIME_LIMIT, stop.text), proof
        return decide(finished, proof), proof

    def _prove(self) -> Proof:
        state, limit = self._state, self._state.limits.seconds
        seconds_left = None if limit is None else max(1.0, limit - state.usage.seconds)

        def report(command: str) -> None:
            state.emit("check", {"task": self._task.id, "command": command})

        with orphans.contain():  # checks run the agent's code
            return prove(
                self._handoff,
                self._task,
                self._start,
                self._before,
                report,
                hidden=self._hidden,
                seconds_left=seconds_left,
            )

    def _keep_tree(self, decision: Decision, proof: Proof | None) -> Decision:
        """Keep the tree that is left. The task is done only if that very tree was proven."""
        try:
            context = self._handoff.snapshot(self._role, done=True)
        except SecretFound as error:
            avoid = (*decision.avoid, "leaving a key or a password in a file")
            if decision.done:
                return Decision(Outcome.FAILED_CHECKS, error.message, avoid=avoid)
            return replace(decision, avoid=avoid)
        kept = context.agent(self._role).snapshot
        if decision.done and proof is not None and kept is not None and kept.tree != proof.after:
            return Decision(Outcome.FAILED_CHECKS, "files were changed after the checks had run")
        return decision

    def _record(
        self, decision: Decision, call: AgentCall | None = None, proof: Proof | None = None
    ) -> Decision:
        """Record the attempt, and return its decision."""
        finished = call.finished if call is not None else None
        used = finished.used if finished is not None else None
        checks = proof.checks if proof is not None else ()
        self._state.attempts.record(
            self._task.id,
            self._role,
            decision,
            model=(finished.model if finished else None) or self._state.options.model,
            started_at=self._began,
            tokens_in=used.tokens_in if used is not None else None,
            tokens_out=used.tokens_out if used is not None else None,
            cost_usd=used.cost if used is not None else None,
            start_tree=self._before or None,
            end_tree=proof.after if proof is not None else None,
            files=proof.files[:_MOST_FILES] if proof is not None else (),
            checks=tuple(map(summarise_check, checks)),
            drift=self._watch.summarize_drift(),
        )
        return decision


def _refuse_handoff(error: HandoffRefused) -> Decision:
    return Decision(Outcome.BLOCKED, error.message, fatal=True, block=BlockType.EXTERNAL)


def _refuse_processes(pids: tuple[int, ...]) -> Decision:
    """Refuse to judge a tree in which a process of the agent still works."""
    names = ", ".join(map(str, pids))
    why = f"processes of the agent could not be ended: {names}"
    return Decision(Outcome.AGENT_ERROR, why, fatal=True)
