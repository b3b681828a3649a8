"""Tasks in work trees of their own, several at once: for each a run of its own, all within one
set of limits."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from queue import Empty, SimpleQueue

from kedge.errors import KedgeError
from kedge.handoff import lifecycle
from kedge.host.project import Project
from kedge.model.ids import TaskId
from kedge.model.task import Block, Status, Task
from kedge.run import choosing, errand, journal, worktrees
from kedge.run import spent as spending
from kedge.run.bench import Ending, Tell
from kedge.run.decide import INTERRUPTED
from kedge.run.journal import ENDED, Journal, State
from kedge.run.lane import Heard, Lane
from kedge.run.spent import Spent
from kedge.settings import Settings
from kedge.tasks import choose
from kedge.tasks.board import Board

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AT_ONCE, NO_FURTHER = signal.SIGUSR1, signal.SIGUSR2  # what a run is told whose limits are shared
_HALTS = {
    INTERRUPTED: signal.SIGINT,
    spending.BUDGET: AT_ONCE,
    spending.FAILURES: NO_FURTHER,
}  # of time and calls each run knows how much it has
_TICK = 0.2
_HURRY = 20.0  # seconds between a second interrupt and the end of what has not ended
_SUMS = ("iterations", "tokens_in", "tokens_out", "cost", "unpriced")
_OWN = ("run", "summary", "result")  # events that are told here, not passed on


class Fleet:
    """The runs of a run. `tell` hears of all that happens in them, each event with its task."""

    def __init__(
        self, project: Project, settings: Settings, journal: Journal, width: int, tell: Tell
    ) -> None:
        self.project = project
        self.settings = settings
        self.journal = journal
        self.width = width
        self.tell = tell
        self.wanted = journal.wanted
        self.limits = self.wanted.limits
        self._ended = journal.spent  # by runs that have ended
        self._failures = 0
        self._since = time.monotonic() - self._ended.seconds
        self._lanes: dict[TaskId, Lane] = {}
        self._heard: Heard = SimpleQueue()
        self._tried: set[str] = {one["task"] for one in journal.state.results}
        self._begun = 0
        self._interrupts = 0
        self._end_by = float("inf")

    def run(self) -> Ending:
        """Keep as many tasks at work as may be, until nothing is ready or a limit is reached."""
        open_ = [path for _, path in worktrees.changes(self.project) if path[:7] != ".kedge/"]
        if open_:
            self.tell("warning", {"text": "work begins from HEAD: what you have open is not in it"})
        try:
            while True:
                over = self.over()
                if over is None:
                    self._fill()
                else:
                    self._halt(over[0])
                if not self._lanes:
                    return self._end(*(over or self._nothing_left()))
                self._listen()
        finally:
            for lane in self._lanes.values():
                lane.close()

    def over(self) -> tuple[str, str] | None:
        """Why the run goes no further; None where it does."""
        if self._interrupts:
            return INTERRUPTED, "the run was interrupted"
        return spending.reached(self.limits, self.now())

    def now(self) -> Spent:
        """What all runs have used together."""
        return self._sum([self._ended, *(lane.spent for lane in self._lanes.values())])

    def _sum(self, parts: Iterable[Spent]) -> Spent:
        seconds = time.monotonic() - self._since
        whole = Spent(seconds=seconds, failures=self._failures)
        for one in parts:
            sums = {name: getattr(whole, name) + getattr(one, name) for name in _SUMS}
            whole = replace(whole, **sums)
        return whole

    def interrupt(self) -> None:
        """Each run ends its agent and finishes its record; a second time, all end at once."""
        self._interrupts += 1
        if self._interrupts > 2:
            raise KeyboardInterrupt
        if self._interrupts == 2:
            self._end_by = time.monotonic() + _HURRY
        for lane in list(self._lanes.values()):
            lane.signal(signal.SIGINT, again=True)

    def abandon(self) -> None:
        """The run ends by a fault, or by more interrupts than it can wait for."""
        used = asdict(self.now())
        self.journal.change(status=ENDED, why=INTERRUPTED, at=None, spent=used)

    # tasks

    def _fill(self) -> None:
        while len(self._lanes) < self.width and not (self.wanted.once and self._begun):
            if self.limits.iterations is not None and self._calls() < 1:
                return
            task = self._following()
            if task is None:
                return
            self._begun += 1
            try:
                self._begin(task)
            except worktrees.Refused as error:
                self._refused(task, error)

    def _following(self) -> Task | None:
        """The next task; what a run that was killed has left in the midst comes first."""
        tasks = self._board().tasks()
        taken = {*self._tried, *self._lanes}
        for task in tasks.values():
            begun = task.status is Status.IN_PROGRESS and task.id not in taken
            if begun and choosing.is_meant(tasks, self.wanted, task) and self._left(task):
                return task
        return choosing.following(tasks, self.wanted, taken, self.journal.state.id)

    def _left(self, task: Task) -> tuple[Project, State] | None:
        """The work tree of a task and the run there that did not come to its end."""
        try:
            there = worktrees.existing(self.project, task.id)
        except worktrees.Refused:
            return None
        if there is None:
            return None
        runs = [one for one in journal.unfinished(there) if one.wanted.get("task") == task.id]
        return (there, runs[-1]) if runs else None

    def _begin(self, task: Task) -> None:
        main, before = self.project, Spent()
        if left := self._left(task):  # as it is: its record says on which tree it began
            there, state = left
            before = Journal(there, state).spent
            asked = errand.again(state.id)
        else:
            builds_on = worktrees.needed(self._board().tasks(), task)
            there = worktrees.opened(main, task.id, builds_on)
            for one in lifecycle.archive(there, task.id):  # of an earlier run: the work stays
                self.tell("warning", {"task": task.id, "text": one})
            asked = errand.first(self.wanted, main.root, task.id)
        calls = before.iterations + self._calls() if self.limits.iterations else 0
        argv = [*errand.KEDGE, *asked, *errand.within(self.limits, self.now(), before, calls)]
        env = {**os.environ, **errand.shared(main, self.settings)}
        self._lanes[task.id] = Lane(task, there, argv, env, before, calls, self._heard)

    def _calls(self) -> int:
        """How many calls of agents the next run may make: so many that all that run have some.

        Money and tokens are stopped by their sum; a call that was made is not undone.
        """
        promised = sum(lane.calls for lane in self._lanes.values())
        left = (self.limits.iterations or 0) - self._ended.iterations - promised
        return -(-left // (self.width - len(self._lanes)))

    # while they run

    def _listen(self) -> None:
        """Hear what there is to hear, for a moment."""
        if time.monotonic() >= self._end_by:
            for lane in list(self._lanes.values()):
                self._settle(lane)
            return
        try:
            lane, line = self._heard.get(timeout=_TICK)
        except Empty:
            return
        if lane.task.id not in self._lanes:
            return
        if line is None:
            self._settle(lane)
        elif event := lane.event(line):
            self._note(lane, event)

    def _note(self, lane: Lane, event: dict[str, Any]) -> None:
        kind = event.pop("event")
        event.pop("at", None)
        if kind == "decision":
            done = event.get("outcome") == "done"
            self._failures = 0 if done else self._failures + 1
        if kind not in _OWN:
            self.tell(kind, {**event, "task": lane.task.id})

    def _halt(self, why: str) -> None:
        number = _HALTS.get(why)
        if number is not None:
            for lane in list(self._lanes.values()):
                lane.signal(number)

    def _settle(self, lane: Lane) -> None:
        """A task's run has ended: keep what it came to, and put its work tree away."""
        row = lane.result(lane.close())
        done = row["state"] == "done"
        self._ended = self._sum([self._ended, lane.spent])
        del self._lanes[lane.task.id]
        if row.get("fatal"):
            self._failures = self.limits.failures
        row |= {"branch": worktrees.branch(lane.task.id) if done else None}
        self._keep({**row, "worktree": self._kept(lane, done=done)})

    def _kept(self, lane: Lane, *, done: bool) -> str | None:
        """The work tree, if it stays."""
        task = lane.task.id
        try:
            if self._left(lane.task):
                why: str | None = "its run did not come to its end"
            else:
                why = worktrees.put_away(self.project, lane.there, task, done=done)
        except KedgeError as error:
            why = error.message
        if why is None:
            return None
        shown = f".kedge/{worktrees.FOLDER}/{task}"
        self.tell("kept", {"task": task, "worktree": shown, "why": why})
        return shown

    def _refused(self, task: Task, error: worktrees.Refused) -> None:
        if error.block is not None:
            self._board().block(task.id, Block(error.block, error.message))
        state = "blocked" if error.block is not None else "left"
        why = f"{error.message} ({error.hint})" if error.hint else error.message
        row = {"task": task.id, "state": state, "reason": why, "fatal": False}
        self._keep({**row, "branch": None, "worktree": None})

    def _keep(self, row: dict[str, Any]) -> None:
        self._tried.add(row["task"])
        rows = (*self.journal.state.results, row)
        self.journal.change(results=rows, spent=replace(self._ended, failures=0))
        self.tell("result", row)

    def _nothing_left(self) -> tuple[str, str]:
        if self.wanted.once and self._begun:
            return "once", "one task was asked for"
        return "nothing-ready", "no task is ready"

    def _end(self, why: str, said: str) -> Ending:
        left = choosing.left(self._board().tasks(), self.wanted)
        rows = tuple({"task": one.id, "title": one.title, "why": reason} for one, reason in left)
        used = asdict(self.now())
        results = self.journal.state.results
        done = [one["task"] for one in results if one["state"] == "done"]
        merge = tuple(worktrees.to_merge(self.project, done))
        self.journal.change(status=ENDED, why=why, at=None, spent=used)
        return Ending(why, said, results, rows, used, merge)

    def _board(self) -> Board:
        return Board(choose.backend(self.project, self.settings.tasks))
