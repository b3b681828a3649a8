"""Run tasks in their own work trees, several at once, all within one set of limits."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from queue import Empty, SimpleQueue
from typing import Any

from kedge.errors import KedgeError
from kedge.handoff import lifecycle
from kedge.host.project import Project
from kedge.model.ids import TaskId
from kedge.model.task import Block, Status, Task
from kedge.run import (
    ignored_files,
    repository_guard,
    task_choice,
    turn_guard,
    worktree_command,
    worktrees,
)
from kedge.run import journal as journals
from kedge.run.journal import Journal, RunRecord
from kedge.run.limits import RunUsage, find_reached_limit, parse_usage
from kedge.run.outcomes import (
    INTERRUPTED,
    NOTHING_READY,
    ONLY_ONE_TASK,
    RunEnd,
    StopCode,
    StopReason,
    TaskOutcome,
    stop_after,
)
from kedge.run.repository_guard import Baseline
from kedge.run.run_state import Emit
from kedge.run.worktree_run import LineQueue, WorktreeRun
from kedge.run.worktrees import WorktreeRefused
from kedge.settings import Settings
from kedge.tasks import choose
from kedge.tasks.board import Board

# Signals that tell a run of one task that a limit of the whole run is reached.
STOP_AT_ONCE, START_NOTHING_MORE = signal.SIGUSR1, signal.SIGUSR2
_SIGNALS = {
    StopCode.INTERRUPTED: signal.SIGINT,
    StopCode.BUDGET: STOP_AT_ONCE,
    StopCode.FAILURES: START_NOTHING_MORE,
}  # each run knows its own limits of time and iterations
_TICK = 0.2
_HURRY = 20.0  # seconds from a second interrupt until all runs are killed
_SUMS = ("iterations", "tokens_in", "tokens_out", "cost", "unpriced")
_SETTLED = (Status.DONE, Status.FAILED, Status.BLOCKED)
_OWN_EVENTS = ("run", "summary", "result")  # reported here, not passed on


class ParallelRun:
    """A run that starts a run in a work tree for each task, up to `width` at once.

    `emit` gets the events of all of them, each with its task.
    """

    def __init__(
        self, project: Project, settings: Settings, journal: Journal, width: int, emit: Emit
    ) -> None:
        self.project = project
        self.settings = settings
        self.journal = journal
        self.width = width
        self.emit = emit
        self.options = journal.options
        self.limits = self.options.limits
        self._ended_usage = journal.usage  # of runs that have ended
        self._failures = 0
        self._started = time.monotonic() - self._ended_usage.seconds
        self._runs: dict[TaskId, WorktreeRun] = {}
        self._lines: LineQueue = SimpleQueue()
        self._tried: set[str] = {one["task"] for one in journal.record.results}
        self._begun = 0
        self._interrupts = 0
        self._kill_time = float("inf")
        self._baseline: Baseline | None = None

    def run(self) -> RunEnd:
        """Keep `width` tasks at work until none is ready or a limit is reached."""
        changes = worktrees.list_changes(self.project)
        if any(not path.startswith(".kedge/") for path in changes):
            text = "work starts from HEAD: your uncommitted changes are not in it"
            self.emit("warning", {"text": text})
        self._baseline = turn_guard.open_baseline(self.project, self.journal)
        worktrees.clear_remains(self.project)
        self._collect_results()
        try:
            while True:
                stop = self.find_stop()
                if stop is None:
                    self._start_runs()
                else:
                    self._signal_runs(stop.code)
                if not self._runs:
                    return self._end(stop or self._nothing_left())
                self._handle_line()
        finally:
            for run in self._runs.values():
                run.close()

    def find_stop(self) -> StopReason | None:
        """Return why the run goes no further; None if it goes on."""
        return INTERRUPTED if self._interrupts else find_reached_limit(self.limits, self.usage)

    @property
    def usage(self) -> RunUsage:
        """What all runs have used together, up to this moment."""
        return self._sum([self._ended_usage, *(run.usage for run in self._runs.values())])

    def _sum(self, parts: Iterable[RunUsage]) -> RunUsage:
        seconds = time.monotonic() - self._started
        total = RunUsage(seconds=seconds, failures=self._failures)
        for one in parts:
            sums = {name: getattr(total, name) + getattr(one, name) for name in _SUMS}
            total = replace(total, **sums)
        return total

    def interrupt(self) -> None:
        """Interrupt every run, so that it ends its agent and finishes its records.

        A second call gives them a deadline; a third ends everything at once.
        """
        self._interrupts += 1
        if self._interrupts > 2:
            raise KeyboardInterrupt
        if self._interrupts == 2:
            self._kill_time = time.monotonic() + _HURRY
        for run in list(self._runs.values()):
            run.signal(signal.SIGINT, again=True)

    def abandon(self) -> None:
        """Record the end of the run after an error or a third interrupt."""
        self.journal.end(StopCode.INTERRUPTED, self.usage, None)

    def end_after(self, error: KedgeError) -> RunEnd:
        """End the run after an error, with what is known of it; record it if that works."""
        with contextlib.suppress(KedgeError):
            self.abandon()
        usage = asdict(self.usage)
        return RunEnd(stop_after(error), self.journal.record.results, (), usage)

    # starting runs

    def _start_runs(self) -> None:
        while len(self._runs) < self.width and not (self.options.once and self._begun):
            if self.limits.iterations is not None and self._share_iterations() < 1:
                return
            task = self._choose_task()
            if task is None:
                return
            self._begun += 1
            try:
                self._start(task)
            except WorktreeRefused as error:
                self._refuse(task, error)

    def _choose_task(self) -> Task | None:
        """Return the next task; tasks that a killed run was working on come first."""
        tasks = self._board().tasks()
        taken = {*self._tried, *self._runs}
        for task in tasks.values():
            closed = task.status is Status.DONE  # maybe before the run could say so
            begun = (task.status is Status.IN_PROGRESS or closed) and task.id not in taken
            selected = begun and task_choice.is_selected(tasks, self.options, task)
            if selected and self._find_interrupted(task):
                return task
        return task_choice.choose_task(tasks, self.options, taken, self.journal.record.id)

    def _find_interrupted(self, task: Task) -> tuple[Project, RunRecord] | None:
        """Return the task's work tree and the run in it that did not end."""
        try:
            worktree = worktrees.find_worktree(self.project, task.id)
        except WorktreeRefused:
            return None
        if worktree is None:
            return None
        records = [
            one
            for one in journals.list_interrupted(worktree)
            if one.wanted.get("task") == task.id and _find_row(one, task) is None
        ]
        return (worktree, records[-1]) if records else None

    def _start(self, task: Task) -> None:
        main, before = self.project, RunUsage()
        if interrupted := self._find_interrupted(task):
            worktree, record = interrupted  # unchanged: the record says on which tree it started
            before = Journal(worktree, record).usage
            arguments = [f"--resume={record.id}"]
        else:
            self._put_back(task.id)  # the user's hooks and filters run in what follows
            dependencies = worktrees.list_dependencies(self._board().tasks(), task)
            worktree = worktrees.open_worktree(main, task.id, dependencies)
            for text in lifecycle.archive(worktree, task.id):  # an earlier run's; the work stays
                self.emit("warning", {"task": task.id, "text": text})
            arguments = worktree_command.start_arguments(self.options, main.root, task.id)
        limited = self.limits.iterations is not None
        iterations = before.iterations + self._share_iterations() if limited else 0
        limits = worktree_command.limit_arguments(self.limits, self.usage, before, iterations)
        if worktree.repo is not None:
            ignored_files.note_before_run(worktree.repo)
        argv = [*worktree_command.KEDGE_RUN, *arguments, *limits]
        # What an agent at work has changed by this moment is not what the next one starts from.
        noted = f"{self.journal.record.baseline}:{self.journal.baseline_path}"
        env = {**os.environ, **worktree_command.make_environment(main, self.settings)}
        env[repository_guard.VARIABLE] = noted
        self._runs[task.id] = WorktreeRun(
            task, worktree, argv, env, before, iterations, self._lines
        )

    def _share_iterations(self) -> int:
        """Return the iterations of the next run: an equal share of those that are left.

        Money and tokens are limited by their sum; an agent call cannot be taken back.
        """
        granted = sum(run.iterations for run in self._runs.values())
        left = (self.limits.iterations or 0) - self._ended_usage.iterations - granted
        return -(-left // (self.width - len(self._runs)))

    # runs at work

    def _handle_line(self) -> None:
        """Wait a moment for output of a run, and handle it."""
        if time.monotonic() >= self._kill_time:
            for run in list(self._runs.values()):
                self._settle(run)
            return
        try:
            run, line = self._lines.get(timeout=_TICK)
        except Empty:
            return
        if run.task.id not in self._runs:
            return
        if line is None:
            self._settle(run)
        elif event := run.parse_event(line):
            self._handle_event(run, event)

    def _handle_event(self, run: WorktreeRun, event: dict[str, Any]) -> None:
        kind = event.pop("event")
        event.pop("at", None)
        if kind == "decision":
            done = event.get("outcome") == "done"
            self._failures = 0 if done else self._failures + 1
        if kind not in _OWN_EVENTS:
            self.emit(kind, {**event, "task": run.task.id})

    def _signal_runs(self, code: StopCode) -> None:
        number = _SIGNALS.get(code)
        if number is not None:
            for run in list(self._runs.values()):
                run.signal(number)

    # results

    def _settle(self, run: WorktreeRun) -> None:
        """Record the result of a run that has ended, and remove its work tree."""
        row = run.find_result(run.close())
        if run.worktree.repo is not None:
            with contextlib.suppress(KedgeError):  # without the note, everything there stays
                ignored_files.note_after_run(run.worktree.repo)
        self._put_back(run.task.id)
        done = row["state"] == TaskOutcome.DONE
        self._ended_usage = self._sum([self._ended_usage, run.usage])
        del self._runs[run.task.id]
        if row.get("fatal"):
            self._failures = self.limits.failures
        row |= {"branch": worktrees.branch(run.task.id) if done else None}
        left = self._remove_worktree(run.task, run.worktree, done=done)
        self._add_result({**row, "worktree": left})

    def _put_back(self, task: str) -> None:
        """Put back what an agent changed if its run could not."""
        assert self._baseline is not None  # noqa: S101 - the run has begun
        report = repository_guard.check(self.project, self._baseline)
        if report:
            names = ", ".join((*report.put_back, *report.refused))
            self.emit("warning", {"task": task, "text": f"an agent changed {names}"})

    def _remove_worktree(self, task: Task, worktree: Project, *, done: bool) -> str | None:
        """Remove the work tree of a task; return its path if it stays."""
        try:
            if self._find_interrupted(task):
                why: str | None = "its run did not end"
            else:
                why = worktrees.remove_worktree(self.project, worktree, task.id, done=done)
        except KedgeError as error:
            why = error.message
        if why is None:
            return None
        path = f".kedge/{worktrees.FOLDER}/{task.id}"
        self.emit("kept", {"task": task.id, "worktree": path, "why": why})
        return path

    def _refuse(self, task: Task, error: WorktreeRefused) -> None:
        """Record the result of a task that cannot be started in a work tree."""
        if error.block is not None:
            self._board().block(task.id, Block(error.block, error.message))
        state = TaskOutcome.BLOCKED if error.block is not None else TaskOutcome.LEFT
        why = f"{error.message} ({error.hint})" if error.hint else error.message
        row = {"task": task.id, "state": state, "reason": why, "fatal": False}
        self._add_result({**row, "branch": None, "worktree": None})

    def _add_result(self, row: dict[str, Any]) -> None:
        self._tried.add(row["task"])
        rows = (*self.journal.record.results, row)
        usage = asdict(replace(self._ended_usage, failures=0))
        self.journal.change(results=rows, spent=usage)
        self.emit("result", row)

    def _collect_results(self) -> None:
        """Record the results of runs that ended after this one was killed."""
        for task in self._board().tasks().values():
            if task.status not in _SETTLED or task.id in self._tried:
                continue
            with contextlib.suppress(WorktreeRefused):
                worktree = worktrees.find_worktree(self.project, task.id)
                if row := self._find_result(task):
                    done = task.status is Status.DONE
                    row |= {"branch": worktrees.branch(task.id) if done else None}
                    left = None
                    if worktree is not None:  # it was not removed before the run was killed
                        left = self._remove_worktree(task, worktree, done=done)
                    self._add_result({**row, "worktree": left})

    def _find_result(self, task: Task) -> dict[str, Any] | None:
        """Return what became of the task in a run that this one had started and that is gone."""
        root, since = worktrees.locate(self.project, task.id), self.journal.record.started_at
        for record in journals.list_gone(self.project, root, since=since):
            row = _find_row(record, task)
            if row is not None and row["state"] == task.status.value:
                self._ended_usage = self._sum([self._ended_usage, parse_usage(record.spent)])
                return row
        return None

    def _nothing_left(self) -> StopReason:
        return ONLY_ONE_TASK if self.options.once and self._begun else NOTHING_READY

    def _end(self, stop: StopReason) -> RunEnd:
        unfinished = task_choice.list_unfinished(self._board().tasks(), self.options)
        remaining = tuple(
            {"task": one.id, "title": one.title, "why": why} for one, why in unfinished
        )
        usage, results = self.usage, self.journal.record.results
        done = [one["task"] for one in results if one["state"] == TaskOutcome.DONE]
        merge = tuple(worktrees.list_branches_to_merge(self.project, done))
        self.journal.end(stop.code, usage, None)
        return RunEnd(stop, results, remaining, asdict(usage), merge)

    def _board(self) -> Board:
        return Board(choose.open_backend(self.project, self.settings.tasks))


def _find_row(record: RunRecord, task: Task) -> dict[str, Any] | None:
    """Return what a run has recorded of a task that it has settled."""
    rows = [one for one in record.results if one.get("task") == task.id]
    return next((dict(one) for one in rows if one.get("state") != TaskOutcome.LEFT), None)
