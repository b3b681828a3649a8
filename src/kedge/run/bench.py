"""Where a run does its work: tasks, contexts, agents, the ledger and the journal, in one place."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from kedge.agents.run.adapter import Adapter
from kedge.context.workplace import Workplace
from kedge.drift.course import LEVELS
from kedge.errors import GitError, HandoffRefused
from kedge.handoff import lifecycle, snapshots
from kedge.handoff.desk import Desk
from kedge.host import clock
from kedge.host.project import Project
from kedge.host.redact import redact
from kedge.host.running import Child
from kedge.host.text import clean, shortened
from kedge.knowledge import remind
from kedge.model.attempt import FREE, Attempt, Outcome
from kedge.model.ids import TaskId
from kedge.model.task import Block, BlockType, Status, Task
from kedge.run import choosing, commits, spent, worktrees
from kedge.run.decide import INTERRUPTED, Decision
from kedge.run.journal import ENDED, LEFT, At, Journal, between_calls
from kedge.run.turn import Turn
from kedge.settings import Settings
from kedge.tasks import choose
from kedge.tasks.board import Board
from kedge.tasks.ledger import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

_BACKOFF = 60.0  # seconds to wait for a provider that does not say how long
_LONGEST_WAIT = 6 * 3600.0
_TICK = 0.2
HOPELESS = "agent-error"

Tell: TypeAlias = "Callable[[str, dict[str, Any]], None]"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a task: done, failed, blocked, or left as it was."""

    task: str
    state: str
    reason: str
    fatal: bool = False
    drift: dict[str, Any] | None = None  # where its sessions strayed: alarms, the worst level


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a run ended, and all that it came to."""

    why: str
    said: str
    results: tuple[dict[str, Any], ...]
    left: tuple[dict[str, Any], ...]
    spent: dict[str, Any]
    merge: tuple[str, ...] = ()  # branches that have what was done in work trees


class Bench:
    """`tell` hears of everything that happens; `interrupted` is set by whoever ends the run."""

    def __init__(
        self, project: Project, settings: Settings, journal: Journal, adapter: Adapter, tell: Tell
    ) -> None:
        self.project = project
        self.settings = settings
        self.journal = journal
        self.adapter = adapter
        self.tell = tell
        self.wanted = journal.wanted
        self.limits = self.wanted.limits
        self.spent = journal.spent
        self.interrupted = False
        self.checking = False  # a check runs, which only an exception ends
        self.hopeless = ""  # why no agent can work here
        self.halted = False
        self.child: Child | None = None
        self._tried: set[str] = {one["task"] for one in journal.state.results}
        self._aside: At | None = None
        self._since = time.monotonic() - self.spent.seconds

    @property
    def cut_short(self) -> bool:
        """Whether something was begun and left."""
        return self.interrupted or any(one["state"] == LEFT for one in self.journal.state.results)

    @property
    def run(self) -> str:
        return self.journal.state.id

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.project, lock_timeout=self.settings.tasks.lock_timeout)

    def board(self) -> Board:
        return Board(choose.backend(self.project, self.settings.tasks))

    def place(self, task: Task) -> Workplace:
        return Workplace(self.project, self.settings, task.id, alone=True, recall=remind.for_task)

    # limits

    def interrupt(self) -> None:
        """End the agent, and then the run; a second time, end all at once."""
        if self.interrupted or self.checking:
            self.interrupted = True
            raise KeyboardInterrupt
        self.interrupted = True
        if self.child is not None:
            self.child.stop(INTERRUPTED)

    def halt(self, *, at_once: bool) -> None:
        """Go no further: what this run shares with others is used up."""
        self.halted = True
        if at_once and self.child is not None:
            self.child.stop(spent.BUDGET)

    def over(self) -> tuple[str, str] | None:
        """Why the run goes no further; None where it does."""
        if self.interrupted:
            return INTERRUPTED, "the run was interrupted"
        if self.halted:
            return spent.BUDGET, "what it shares with other tasks is used up"
        if self.hopeless:
            return HOPELESS, f"no other attempt could fare better: {self.hopeless}"
        return spent.reached(self.limits, self.now())

    def now(self) -> spent.Spent:
        self.spent = replace(self.spent, seconds=time.monotonic() - self._since)
        return self.spent

    def used(self, task: Task) -> tuple[int, int]:
        """The attempts at a task in this run that count, and the rounds of reviews that failed."""
        past = [one for one in self.ledger.read(task.id)[0] if one.run == self.run]
        rejected = sum(one.outcome is Outcome.REJECTED for one in past)
        bad = [one for one in past if one.outcome not in FREE and one.outcome is not Outcome.DONE]
        return len(bad) - rejected, rejected

    def wait(self, decision: Decision) -> None:
        """Wait for a provider, until it said so, the time is over or the user interrupts."""
        if decision.outcome is not Outcome.RATE_LIMIT:
            return
        given = decision.wait_until
        seconds = _BACKOFF if given is None else max(0.0, given - time.time())
        until = time.monotonic() + min(seconds, _LONGEST_WAIT)
        self.tell("waiting", {"seconds": round(seconds, 1), "reason": decision.reason})
        while time.monotonic() < until and not self.over():
            time.sleep(_TICK)

    # a task

    def following(self) -> Task | None:
        tasks = self.board().tasks()
        if not self.journal.state.checks:
            known = {one.id: list(one.checks) for one in tasks.values()}
            self.journal.change(checks=known or {"": []})
        return choosing.following(tasks, self.wanted, self._tried, self.run)

    def _refuse_changed(self, task: Task) -> None:
        """An agent at one task may not decide how the next one is shown to be done."""
        known = self.journal.state.checks.get(task.id)
        if known is not None and known != list(task.checks):
            was = ", ".join(f"`{one}`" for one in known) or "none"
            raise HandoffRefused(
                f"its checks were changed while the run went on; they were {was}",
                hint=f"look at kedge task show {task.id}, and begin another run",
            )

    def begin(self, task: Task) -> Desk:
        """Claim a task, freeze what is asked, and keep the tree that the work begins on."""
        board = self.board()
        self._refuse_changed(task)
        board.claim(task.id, self.run)
        self._set_aside()
        desk = Desk(self.project, self.settings, task.id, self.run, brief=True)
        place = self.place(task)

        def commands() -> Any:
            return place.map_data["commands"]

        if not desk.store.exists(task.id):
            desk.init(task, commands)
        elif desk.store.read(task.id).edited or self._is_stale(desk, task):
            desk.rebuild(task, commands)
        at = self.journal.state.at
        if at is None or at.task != task.id:
            at = At(task.id, self._start(task))
            self.journal.change(at=at)
        self._warn(desk)
        checks = desk.read().immutable["validation_baseline"]["commands"]
        self.tell("task", {"task": task.id, "title": task.title, "checks": list(checks)})
        return desk

    def turn(self, desk: Desk, task: Task, role: str, last: Decision | None) -> Decision:
        """One role's turn; it is on record before anything else happens."""
        decision = Turn(self, desk, task, role).take(last)
        waits = decision.outcome is Outcome.RATE_LIMIT  # that is nobody's fault
        failures = 0 if decision.done else self.spent.failures + (not waits)
        self.spent = replace(self.now(), failures=failures)
        self.journal.change(spent=self.spent)
        self._warn(desk)
        self.tell(
            "decision",
            {
                "task": task.id,
                "role": role,
                "outcome": decision.outcome.value,
                "reason": decision.reason,
            },
        )
        return decision

    def committed(self, desk: Desk, task: Task, done: Decision) -> Decision:
        """Commit what was done; a hook of the user that refuses makes it undone."""
        if not self.wanted.commit:
            return done
        at = self.journal.state.at
        start = at.start if at is not None else ""
        shown = desk.read().snapshots[-1][1].tree  # what is committed is what was shown
        paths = commits.changed(self.project, start, shown)
        if worktrees.is_own(self.project, task.id):
            left = (path for _, path in worktrees.changes(self.project))
            paths.update(path for path in left if path.startswith(worktrees.RECORDS))
        self._warn_of_own(desk, start, paths)
        if at is not None:  # if all ends in the midst, this tells what the commit was of
            self.journal.change(at=replace(at, proven=done.reason))
        try:
            made = commits.commit(self.project, task, sorted(paths), done.reason)
        except GitError as error:
            if at is not None:
                self.journal.change(at=at)
            why = f"the commit was refused: {redact(error.message)}"
            refused = Decision(Outcome.FAILED_CHECKS, why)
            self.attempt(task.id, "implementer", refused)
            self.spent = replace(self.spent, failures=self.spent.failures + 1)
            return refused
        if made:
            self.tell("commit", {"task": task.id, "commit": made})
        return done

    def _warn_of_own(self, desk: Desk, start: str, paths: set[str]) -> None:
        """Say which files had changes of the user's before: those are part of the commit, too."""
        base = str(desk.read().git["base_tree"])
        own = {one.path for one in snapshots.compare(self.project, base, start)} & paths
        if own:
            names = ", ".join(sorted(own)[:5])
            text = f"{names} had changes already, and they are part of the commit"
            self.tell("warning", {"text": text})

    def settle(self, task: Task, result: Result) -> None:
        """Bring the task's state in line with what became of it. What its agent wrote is undone."""
        self._tried.add(task.id)
        result = replace(result, drift=self._strayed(task))
        board = self.board()
        now = board.get(task.id).status
        if now in (Status.DONE, Status.FAILED) and result.state != now.value:
            board.reopen(task.id)
        if result.state == "done":
            board.close(task.id, _said(result.reason))
            warnings = lifecycle.archive(self.project, task.id)
            for one in warnings:
                self.tell("warning", {"text": one})
        elif result.state == "failed":
            board.close(task.id, _said(result.reason), failed=True)
        elif result.state == "blocked" and now is not Status.BLOCKED:
            why = Block(BlockType.SPEC_UNCLEAR, _said(result.reason))
            board.block(task.id, why)
        elif result.state == "left" and board.get(task.id).status is Status.IN_PROGRESS:
            board.reopen(task.id)
        at = self.journal.state.at
        self._aside = at if result.state != "done" else None
        if result.fatal:
            self.hopeless = result.reason
        rows = (*self.journal.state.results, asdict(result))
        kept = between_calls(at) if at is not None and result.state == LEFT else None
        self.journal.change(results=rows, at=kept, spent=self.now())
        self.tell("result", asdict(result))

    def _strayed(self, task: Task) -> dict[str, Any] | None:
        """Where the task's attempts in this run strayed, all together."""
        past = [one for one in self.ledger.read(task.id)[0] if one.run == self.run]
        found = [one.drift for one in past if one.drift]
        if not found:
            return None
        worst = max((str(one["worst"]) for one in found), key=LEVELS.index)
        review = any(one["needs_review"] for one in found)
        alarms = sum(int(one["alarms"]) for one in found)
        return {"alarms": alarms, "worst": worst, "needs_review": review}

    def end(self, why: str, said: str) -> Ending:
        left = choosing.left(self.board().tasks(), self.wanted)
        rows = [{"task": one.id, "title": one.title, "why": reason} for one, reason in left]
        used = asdict(self.now())
        self.journal.change(status=ENDED, why=why, spent=used)
        return Ending(why, said, self.journal.state.results, tuple(rows), used)

    def attend(self, child: Child) -> None:
        """An agent runs: this is how an interruption ends it."""
        self.child = child

    def attempt(self, task: str, role: str, decision: Decision, **more: Any) -> None:
        """Put an attempt on record."""
        now = clock.now()
        about = {"model": self.wanted.model, "started_at": now, "ended_at": now, **more}
        self.ledger.append(
            Attempt(
                task=TaskId(task),
                number=0,
                run=self.run,
                role=role,
                agent=self.wanted.agent,
                outcome=decision.outcome,
                reason=decision.reason,
                tried=decision.tried,
                avoid=decision.avoid,
                **about,
            )
        )

    def _start(self, task: Task) -> str:
        """The tree that the work begins on, kept. In the task's own work tree that is HEAD's:
        what an earlier run has left there is part of the work."""
        ref = snapshots.ref_of(self.project, task.id, "start")
        if worktrees.is_own(self.project, task.id) and self.project.repo is not None:
            return snapshots.base(self.project, ref, self.project.repo.head()).tree
        return snapshots.take(self.project, ref).tree

    def _set_aside(self) -> None:
        """Put the tree back for the next task; what the last one left unfinished is kept."""
        at, self._aside = self._aside, None
        if at is None or snapshots.look(self.project) == at.start:
            return
        keep = f"refs/kedge/set-aside/{at.task[:40]}"
        done = snapshots.restore(self.project, at.start, keep)
        for ref in done.refs:
            self.tell("aside", {"task": at.task, "ref": ref})

    def _is_stale(self, desk: Desk, task: Task) -> bool:
        from kedge.handoff import gather

        context = desk.read()
        return bool(
            gather.stale(
                self.project, task, context.immutable, context.git.get("task_file_sha", "")
            )
        )

    def _warn(self, desk: Desk) -> None:
        while desk.warnings:
            self.tell("warning", {"text": desk.warnings.pop(0)})


def _said(reason: str) -> str:
    """A reason as a task may have it: in git, and so without secrets or what is no text."""
    plain = reason.encode("utf-8", "replace").decode()
    return shortened(clean(redact(plain)), 1000)
