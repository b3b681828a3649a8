"""The state of one run: its options and limits, its journal, what it used, and why it stops."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, TypeAlias

from kedge.agents.launch.adapter import Adapter
from kedge.agents.launch.events import Usage
from kedge.host.project import Project
from kedge.host.running import Child
from kedge.model.attempt import Outcome
from kedge.model.task import Task
from kedge.run import task_choice
from kedge.run.attempts import RunAttempts
from kedge.run.decision import Decision
from kedge.run.journal import Checkpoint, Journal
from kedge.run.limits import RunUsage, find_reached_limit
from kedge.run.outcomes import (
    INTERRUPTED,
    RunEnd,
    StopCode,
    StopReason,
    TaskOutcome,
    TaskResult,
)
from kedge.run.repository_guard import Baseline
from kedge.settings import Settings
from kedge.tasks import choose
from kedge.tasks.board import Board

_BACKOFF = 60.0  # seconds to wait for a provider that does not say how long
_LONGEST_WAIT = 6 * 3600.0
_TICK = 0.2
_SHARED_LIMIT = StopReason(StopCode.BUDGET, "a limit that it shares with other tasks is reached")

Emit: TypeAlias = "Callable[[str, dict[str, Any]], None]"


class RunState:
    """One run in this process. `emit` is called with the name and the data of each event."""

    def __init__(
        self, project: Project, settings: Settings, journal: Journal, adapter: Adapter, emit: Emit
    ) -> None:
        self.project = project
        self.settings = settings
        self.journal = journal
        self.adapter = adapter
        self.emit = emit
        self.id = journal.record.id
        self.options = journal.options
        self.limits = self.options.limits
        self.attempts = RunAttempts(project, settings, self.options, self.id)
        self.baseline: Baseline | None = None  # what is guarded in the repository
        self.child: Child | None = None  # the agent that runs
        self.is_checking = False  # a check runs, which only an exception ends
        self.unfinished: Checkpoint | None = None  # the task whose changes are still in the tree
        self._usage = journal.usage
        self._started = time.monotonic() - self._usage.seconds
        self._tried: set[str] = {one["task"] for one in journal.record.results}
        self._interrupted = False
        self._halted = False
        self._fatal = ""  # why no agent can work here

    def warn(self, text: str) -> None:
        self.emit("warning", {"text": text})

    def board(self) -> Board:
        return Board(choose.open_backend(self.project, self.settings.tasks))

    # usage

    @property
    def usage(self) -> RunUsage:
        """What the run has used, up to this moment."""
        return replace(self._usage, seconds=time.monotonic() - self._started)

    def count_iteration(self) -> int:
        """Count a call of an agent, on disk before it is made, and return its number."""
        self._usage = replace(self.usage, iterations=self._usage.iterations + 1)
        self.journal.save_usage(self._usage)
        return self._usage.iterations

    def add_usage(self, used: Usage | None) -> None:
        """Add what a call of an agent used; None if it did not say."""
        self._usage = self.usage.add(used)

    def count_failure(self, decision: Decision) -> None:
        """Count failures in a row: success ends the row, a rate limit does not count."""
        failed = decision.outcome is not Outcome.RATE_LIMIT
        failures = 0 if decision.done else self._usage.failures + failed
        self._usage = replace(self.usage, failures=failures)
        self.journal.save_usage(self._usage)

    # stopping

    def interrupt(self) -> None:
        """End the agent, and then the run. A second call ends the run at once."""
        again = self._interrupted or self.is_checking
        self._interrupted = True
        if again:
            raise KeyboardInterrupt
        if self.child is not None:
            self.child.stop(StopCode.INTERRUPTED)

    def follow(self, child: Child | None) -> None:
        """Take the agent that runs, so that it can be stopped; None when it has ended."""
        self.child = child
        if child is not None and self._interrupted:  # while the agent was being started
            child.stop(StopCode.INTERRUPTED)

    def halt(self, *, at_once: bool) -> None:
        """Start nothing more, because a limit that is shared with other runs is reached."""
        self._halted = True
        if at_once and self.child is not None:
            self.child.stop(StopCode.BUDGET)

    def find_stop(self) -> StopReason | None:
        """Return why the run goes no further; None if it goes on."""
        if self._interrupted:
            return INTERRUPTED
        if self._halted:
            return _SHARED_LIMIT
        if self._fatal:
            text = f"another attempt could not do better: {self._fatal}"
            return StopReason(StopCode.AGENT_ERROR, text)
        return find_reached_limit(self.limits, self.usage)

    @property
    def is_cut_short(self) -> bool:
        """True if the run was interrupted, or left a task unfinished."""
        states = [one["state"] for one in self.journal.record.results]
        return self._interrupted or TaskOutcome.LEFT in states

    def wait(self, decision: Decision) -> None:
        """After a rate limit, wait until it resets, the run's time is over or it is interrupted."""
        if decision.outcome is not Outcome.RATE_LIMIT:
            return
        until = decision.wait_until
        seconds = _BACKOFF if until is None else max(0.0, until - time.time())
        deadline = time.monotonic() + min(seconds, _LONGEST_WAIT)
        self.emit("waiting", {"seconds": round(seconds, 1), "reason": decision.reason})
        while time.monotonic() < deadline and not self.find_stop():
            time.sleep(_TICK)

    # tasks

    def choose_task(self) -> Task | None:
        """Return the next task. The first time, record the checks that all tasks have."""
        tasks = self.board().tasks()
        if not self.journal.record.checks:
            checks = {one.id: list(one.checks) for one in tasks.values()}
            self.journal.change(checks=checks or {"": []})
        return task_choice.choose_task(tasks, self.options, self._tried, self.id)

    def add_result(self, result: TaskResult) -> None:
        """Record what became of a task."""
        record = self.journal.record
        self._tried.add(result.task)
        self._fatal = result.reason if result.fatal else self._fatal
        done, left = result.state is TaskOutcome.DONE, result.state is TaskOutcome.LEFT
        self.unfinished = None if done else record.at
        resume = record.at.between_calls() if record.at is not None and left else None
        rows = (*record.results, asdict(result))
        self.journal.change(results=rows, at=resume, spent=asdict(self.usage))
        self.emit("result", asdict(result))

    def end(self, stop: StopReason) -> RunEnd:
        """Record the end of the run, and return all that it came to."""
        tasks = task_choice.list_unfinished(self.board().tasks(), self.options)
        remaining = tuple({"task": one.id, "title": one.title, "why": why} for one, why in tasks)
        usage = self.usage
        self.journal.end(stop.code, usage, self.journal.record.at)
        return RunEnd(stop, self.journal.record.results, remaining, asdict(usage))
