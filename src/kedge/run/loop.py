"""The loop."""

from __future__ import annotations

from kedge.errors import HandoffRefused, KedgeError
from kedge.model.attempt import FREE, Outcome
from kedge.model.task import Task
from kedge.run.bench import Bench, Ending, Result
from kedge.run.decide import Decision
from kedge.run.wanted import IMPLEMENTER


def run(bench: Bench) -> Ending:
    """Work on what is ready until nothing is, or a limit ends the run."""
    while True:
        over, task = bench.over(), bench.following()
        if over and (task is not None or bench.cut_short):
            return bench.end(*over)
        if task is None:
            return bench.end("nothing-ready", "no task is ready")
        try:
            result = work(bench, task)
        except KedgeError as error:  # of this task: the others can be worked on
            result = Result(task.id, "left", error.message)
        bench.settle(task, result)
        if bench.wanted.once and not bench.over():
            return bench.end("once", "one task was asked for")


def work(bench: Bench, task: Task) -> Result:
    """Attempts at a task, until it is shown to be done or there is nothing left to try."""
    try:
        desk = bench.begin(task)
    except HandoffRefused as error:
        return Result(task.id, "blocked", error.message)
    last: Decision | None = None
    while True:
        for role in bench.wanted.roles:
            last = bench.turn(desk, task, role, last)
            if not last.done:
                break
        if last is not None and last.done:
            last = bench.committed(desk, task, last)
            if last.done:
                return Result(task.id, "done", last.reason)
        assert last is not None  # noqa: S101 - there is a role
        if bench.over() or last.outcome in _ENDS or last.fatal:
            return Result(task.id, _ENDS.get(last.outcome, "left"), last.reason, last.fatal)
        attempts, rounds = bench.used(task)
        if attempts >= bench.limits.attempts or rounds >= bench.limits.rounds:
            return _exhausted(bench, task, last, attempts, rounds)
        if last.outcome in FREE:
            bench.wait(last)


_ENDS = {
    Outcome.STUCK: "blocked",
    Outcome.BLOCKED: "blocked",
    Outcome.BUDGET: "left",
    Outcome.INTERRUPTED: "left",
}


def _exhausted(bench: Bench, task: Task, last: Decision, attempts: int, rounds: int) -> Result:
    """Reviewers who are not content after all rounds are for a person to hear."""
    if attempts >= bench.limits.attempts:
        count = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        return Result(task.id, "failed", f"{count} did not work; last: {last.reason}")
    who = [role for role in bench.wanted.roles if role != IMPLEMENTER]
    return Result(
        task.id, "blocked", f"{' and '.join(who)} refused it {rounds} times: {last.reason}"
    )
