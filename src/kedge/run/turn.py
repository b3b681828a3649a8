"""One role's turn at a task: begin, call the agent, look at what it left, decide, record."""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import replace
from functools import lru_cache

from kedge.agents import hooks
from kedge.agents.run.events import Answered, Called, Denied, Event, Said, Started, Used, Waiting
from kedge.agents.run.order import Order, Permissions
from kedge.context import anchor, hooking
from kedge.context.workplace import Workplace
from kedge.drift import ending
from kedge.errors import HandoffRefused, KedgeError, ProgramError, SecretFound
from kedge.handoff import snapshots, steps
from kedge.handoff.context import Context
from kedge.handoff.desk import Desk
from kedge.host import clock
from kedge.host.project import Project
from kedge.host.redact import redact
from kedge.host.text import shortened
from kedge.model.attempt import Outcome
from kedge.model.task import Status, Task
from kedge.run import prompts, reports, reviewing
from kedge.run.decide import Decision, Proof, decide, early
from kedge.run.proof import prove
from kedge.run.spent import TIME
from kedge.run.visit import Visit, attend
from kedge.run.wanted import IMPLEMENTER
from kedge.settings import Settings
from kedge.store import sessions, sqlite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.run.bench import Bench

_ON_COURSE = (10, "NORMAL")
_ALLOWED = ("build", "test", "lint", "format", "typecheck")  # kinds of detected commands


class Turn:
    def __init__(self, bench: Bench, desk: Desk, task: Task, role: str) -> None:
        self.bench = bench
        self.desk = desk
        self.task = task
        self.role = role
        self.session = str(uuid.uuid4())
        self._seen = _ON_COURSE
        self.before = ""

    def take(self, last: Decision | None) -> Decision:
        """The whole turn; what came of it is in the ledger when this returns."""
        began = clock.now()
        try:
            self._begin(began)
        except HandoffRefused as error:
            refused = Decision(Outcome.BLOCKED, error.message, fatal=True)
            self._record(refused, None, None, began)
            return refused
        try:
            visit = self._visit(last)
        except ProgramError as error:
            missing = Decision(Outcome.AGENT_ERROR, error.message, fatal=True)
            self._record(missing, None, None, began)
            return missing
        proof, decision = None, early(visit.finished, visit.stopped)
        try:
            if decision is None:
                decision, proof = self._judged(visit)
            decision = self._left(decision, proof)
        except KedgeError as error:  # what the agent did to the repository, or to kedge's files
            why = f"what it left cannot be looked at: {error.message}"
            if decision is None or decision.done:
                decision = Decision(Outcome.AGENT_ERROR, why, fatal=True)
            else:
                self.bench.tell("warning", {"text": why})
        decision = _without_secrets(decision)
        self._record(decision, visit, proof, began)
        return decision

    def _judged(self, visit: Visit) -> tuple[Decision, Proof | None]:
        """What the visit of an agent that came to its own end is worth."""
        task = self.bench.board().get(self.task.id)
        if task.status is Status.BLOCKED and task.blocked is not None:
            return Decision(Outcome.BLOCKED, task.blocked.reason), None
        if self.role != IMPLEMENTER:
            return self._reviewed(visit), None
        if reports.is_due(self.bench, self.task):  # the log is part of the tree that is shown
            number = sum(self.bench.used(self.task)) + 1
            at = self.bench.journal.state.at
            start = at.start if at is not None else self.before
            text, after = visit.finished.text, self.desk.look()
            reports.keep(self.bench, self.task, text, number, start, after)
        self.bench.checking = True
        try:
            proof = self._prove()
        except KeyboardInterrupt:  # a second one would end the run at once
            return Decision(Outcome.INTERRUPTED, "the run was interrupted"), None
        finally:
            self.bench.checking = False
        over = self.bench.over()
        if over and over[0] == TIME and any(one.get("timed_out") for one in proof.checks):
            return Decision(Outcome.TIME_LIMIT, over[1]), proof
        return decide(visit.finished, proof), proof

    def _left(self, decision: Decision, proof: Proof | None) -> Decision:
        """Keep the tree that is left. Done is only what was shown on this very tree."""
        try:
            context = self.desk.snapshot(self.role, done=True)
        except SecretFound as error:
            avoid = (*decision.avoid, "leaving a key or a password in a file")
            if decision.done:
                return Decision(Outcome.FAILED_CHECKS, error.message, avoid=avoid)
            return replace(decision, avoid=avoid)
        kept = context.agent(self.role).snapshot
        if decision.done and proof is not None and kept is not None and kept.tree != proof.after:
            return Decision(Outcome.FAILED_CHECKS, "files were changed after the checks had run")
        return decision

    def _begin(self, began: str) -> None:
        context = self.desk.begin(self.role, self.task, accept_stale=True, session=self.session)
        self.before = self._compared(context) or self.desk.look()
        journal = self.bench.journal
        if journal.state.at is not None:
            at = replace(
                journal.state.at,
                role=self.role,
                session=self.session,
                began_at=began,
                tree=self.before,
            )
            journal.change(at=at)

    def _compared(self, context: Context) -> str | None:
        """The tree, where this very beginning has found it to be what was left before."""
        begun = context.agent(self.role).session_id == self.session  # it does not just go on
        last = steps.expected(context)
        return last[1].tree if begun and last is not None else None

    def _visit(self, last: Decision | None) -> Visit:
        bench = self.bench
        bench.spent = replace(bench.now(), iterations=bench.spent.iterations + 1)
        bench.journal.change(spent=bench.spent)  # a call that is killed was made
        number = bench.spent.iterations
        place = self._place()
        if self.role == IMPLEMENTER:
            due = bench.wanted.reanchor and anchor.is_due(place, number)
            text, warnings = prompts.implementer(place, self.task, self.session, last, anchored=due)
            for one in warnings:
                bench.tell("warning", {"text": one})
            if reports.is_due(bench, self.task):
                text += f"\n{reports.ASKED}\n"
        else:
            text = prompts.reviewing(self.desk, self.role, reviewing.before(bench, self.task))
        told = {"task": self.task.id, "role": self.role, "iteration": number}
        bench.tell("iteration", {**told, "attempt": sum(bench.used(self.task)) + 1})
        visit = attend(
            bench.adapter,
            self._order(text, prompts.behaviour(place), place),
            bench.limits,
            bench.now(),
            self._tell,
            bench.attend,
        )
        bench.child = None
        bench.spent = bench.now().with_use(visit.finished.used)
        return visit

    def _place(self) -> Workplace:
        """Where the agent works, with the map of the run's start where there is one."""
        place = self.bench.place(self.task)
        with contextlib.suppress(KedgeError):  # who asks for it will be told why
            place.map_data = _map(place.project, place.settings, self.bench.run)
        return place

    def _order(self, text: str, system: str, place: Workplace) -> Order:
        bench = self.bench
        context = self.desk.store.folder(self.task.id) / "context.json"
        return Order(
            program=bench.wanted.program,
            prompt=text,
            directory=bench.project.root,
            system=system,
            model=bench.wanted.model,
            permissions=Permissions(self._commands(place), bench.wanted.full_access),
            hooks=self._hooks(),
            session=self.session,
            max_cost=self._money(),
            environment={
                "KEDGE_TASK": self.task.id,
                "KEDGE_RUN": bench.run,
                "KEDGE_ROLE": self.role,
                "KEDGE_TASKS_BACKEND": bench.settings.tasks.backend,
                "TASK_CONTEXT_PATH": str(context),
            },
        )

    def _commands(self, place: Workplace) -> tuple[str, ...]:
        """What the agent may run without being asked: the task's checks, and the project's own."""
        frozen = self.desk.read().immutable["validation_baseline"]["commands"]
        try:
            found = place.map_data["commands"]
            own = [one["command"] for one in found if one["kind"] in _ALLOWED]
        except KedgeError as error:
            text = f"the project's commands are not known: {error.message}"
            self.bench.tell("warning", {"text": text})
            own = []
        return tuple(dict.fromkeys((*frozen, *self.task.checks, *own)))

    def _money(self) -> float | None:
        """What is left of the budget, for agents that keep to one."""
        limit = self.bench.limits.money
        return None if limit is None else max(0.01, round(limit - self.bench.spent.cost, 6))

    def _hooks(self) -> tuple[hooks.Hook, ...]:
        """Kedge's hooks for this call, unless the project has them already."""
        if self.role != IMPLEMENTER:
            return ()
        for agent in hooking.AGENTS:
            if agent.NAME == self.bench.adapter.NAME:
                whole = agent.NAME in hooking.complete(self.bench.project)
                return () if whole else hooks.calling(hooking.commands(agent)[0])
        return ()

    def _tell(self, event: Event) -> None:
        """What the agent does, for whoever watches: a key that it says or uses is not shown."""
        told: dict[str, Any] = {"task": self.task.id, "role": self.role}
        if isinstance(event, Started):
            self.session = event.session or self.session  # not every agent takes one that is given
            told |= {"session": event.session, "model": event.model}
            self.bench.tell("started", told)
        elif isinstance(event, Said):
            self.bench.tell("said", told | {"text": shortened(redact(event.text), 500)})
        elif isinstance(event, Called):
            told |= {"tool": event.tool, "summary": redact(event.summary)}
            self.bench.tell("call", told)
        elif isinstance(event, Answered):
            self._look()
        elif isinstance(event, Denied):
            told |= {"tool": event.tool, "reason": redact(event.reason)}
            self.bench.tell("denied", told)
        elif isinstance(event, Waiting):
            told |= {"seconds": event.seconds, "reason": redact(event.reason)}
            self.bench.tell("retry", told)
        elif isinstance(event, Used):
            spent = self.bench.spent.with_use(event)
            self.bench.tell("used", told | {"tokens": spent.tokens, "cost": round(spent.cost, 6)})

    def _prove(self) -> Proof:
        at = self.bench.journal.state.at
        start = at.start if at is not None else self.before

        def tell(command: str) -> None:
            self.bench.tell("check", {"task": self.task.id, "command": command})

        self.desk.settings = self._hurried()
        return prove(self.desk, self.task, start, self.before, tell)

    def _hurried(self) -> Settings:
        """The settings, with no more time for a check than the run has left."""
        settings, limit = self.bench.settings, self.bench.limits.seconds
        if limit is None:
            return settings
        left = max(1.0, limit - self.bench.now().seconds)
        timeout = min(settings.context.check_timeout, left)
        return settings._replace(context=settings.context._replace(check_timeout=timeout))

    def _reviewed(self, visit: Visit) -> Decision:
        """A review; what a reviewer changed is taken back, and kept aside."""
        if self.desk.look() != self.before:
            keep = f"refs/kedge/set-aside/{self.task.id[:30]}-{self.role}"
            done = snapshots.restore(self.bench.project, self.before, keep)
            for ref in done.refs:
                self.bench.tell("aside", {"task": self.task.id, "role": self.role, "ref": ref})
        return reviewing.decide(self.bench, self.desk, self.task, self.role, visit.finished.text)

    def _record(
        self, decision: Decision, visit: Visit | None, proof: Proof | None, began: str
    ) -> None:
        used = visit.finished.used if visit is not None else None
        checks = proof.checks if proof is not None else ()
        kept = ("command", "exit_code", "passed", "seconds", "tree", "log_digest")
        self.bench.attempt(
            self.task.id,
            self.role,
            decision,
            model=(visit.finished.model if visit else None) or self.bench.wanted.model,
            started_at=began,
            tokens_in=used.tokens_in if used is not None else None,
            tokens_out=used.tokens_out if used is not None else None,
            cost_usd=used.cost if used is not None else None,
            start_tree=self.before or None,
            end_tree=proof.after if proof is not None else None,
            files=proof.files[:200] if proof is not None else (),
            checks=tuple({key: one.get(key) for key in kept} for one in checks),
            drift=self._drift(),
        )

    def _drift(self) -> dict[str, Any] | None:
        """Where the session strayed, if it was watched and did."""
        try:
            with contextlib.closing(sqlite.connect(self.bench.project.home())[0]) as db:
                row = sessions.get(db, self.session)
                found = ending.account(db, row) if row is not None else None
        except KedgeError as error:
            self.bench.tell("warning", {"text": error.message})
            return None
        if found is None or not found["alarms"]:
            return None
        return {key: found[key] for key in ("alarms", "worst", "score", "needs_review", "why")}

    def _look(self) -> None:
        """Tell how the session stands, where that has changed, as its hooks have it."""
        try:
            with contextlib.closing(sqlite.connect(self.bench.project.home())[0]) as db:
                row = sessions.get(db, self.session)
        except KedgeError:
            return  # the end of the turn says so
        seen = (round(row["score"]), row["course"]) if row is not None else _ON_COURSE
        if seen != self._seen:
            self._seen = seen
            told = {"task": self.task.id, "role": self.role, "score": seen[0], "course": seen[1]}
            self.bench.tell("drift", told)


def _without_secrets(decision: Decision) -> Decision:
    """It goes to the terminal, into tasks and into the next prompt."""
    return replace(
        decision,
        reason=redact(decision.reason),
        tried=tuple(map(redact, decision.tried)),
        avoid=tuple(map(redact, decision.avoid)),
        detail=redact(decision.detail),
    )


@lru_cache(maxsize=16)
def _map(project: Project, settings: Settings, run: str) -> dict[str, Any]:  # noqa: ARG001 - its key
    """The map as the run found it. A map for each call would cost more than all the rest of it,
    and what an agent writes into a build file is no reason to let it run more."""
    return Workplace(project, settings).map_data
