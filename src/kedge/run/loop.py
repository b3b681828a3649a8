"""The loop of a run: task after task, and for each task attempt after attempt."""

from __future__ import annotations

from kedge.errors import KedgeError
from kedge.host.text import count_noun
from kedge.model.attempt import FREE, Outcome
from kedge.model.task import BlockType, Task
from kedge.run.attempts import AttemptCount
from kedge.run.decision import Decision
from kedge.run.options import IMPLEMENTER
from kedge.run.outcomes import NOTHING_READY, ONLY_ONE_TASK, RunEnd, TaskOutcome, TaskResult
from kedge.run.run_state import RunState
from kedge.run.task_work import TaskRefused, TaskWork, settle_task

_FINAL = {
    Outcome.STUCK: TaskOutcome.BLOCKED,
    Outcome.BLOCKED: TaskOutcome.BLOCKED,
    Outcome.BUDGET: TaskOutcome.LEFT,
    Outcome.INTERRUPTED: TaskOutcome.LEFT,
}


def run(state: RunState) -> RunEnd:
    """Work on ready tasks until none is left or a limit ends the run."""
    while True:
        stop, task = state.find_stop(), state.choose_task()
        if stop and (task is not None or state.is_cut_short):
            return state.end(stop)
        if task is None:
            return state.end(NOTHING_READY)
        try:
            result = work_on(state, task)
        except KedgeError as error:  # other tasks can still be worked on
            result = TaskResult(task.id, TaskOutcome.LEFT, error.message)
        settle_task(state, task, result)
        if state.options.once and not state.find_stop():
            return state.end(ONLY_ONE_TASK)


def work_on(state: RunState, task: Task) -> TaskResult:
    """Make attempts at the task until it is proven done or nothing is left to try."""
    try:
        work = TaskWork(state, task)
    except TaskRefused as error:
        return TaskResult(task.id, TaskOutcome.BLOCKED, error.message, block=error.block)
    if exhausted := _find_exhausted(state, task, state.attempts.find_last_decision(task.id)):
        return exhausted  # the run was killed before it could say so
    last: Decision | None = None
    while True:
        last = work.make_attempt(last)
        if last.done:
            return TaskResult(task.id, TaskOutcome.DONE, last.reason)
        if state.find_stop() or last.outcome in _FINAL or last.fatal:
            outcome = _FINAL.get(last.outcome, TaskOutcome.LEFT)
            return TaskResult(task.id, outcome, last.reason, last.fatal, last.block)
        if exhausted := _find_exhausted(state, task, last):
            return exhausted
        if last.outcome in FREE:
            state.wait(last)


def _find_exhausted(state: RunState, task: Task, last: Decision | None) -> TaskResult | None:
    """Return the result of a task that may not be tried again; `last` is its last decision."""
    if last is None:
        return None
    count, limits = state.attempts.count(task.id), state.limits
    if count.failed >= limits.attempts:
        return _fail(task, count, last)
    if count.rejected >= limits.rounds:
        return _escalate(task, count, last, state.options.roles)
    return None


def _fail(task: Task, count: AttemptCount, last: Decision) -> TaskResult:
    reason = f"{count_noun(count.failed, 'attempt')} did not work; last: {last.reason}"
    return TaskResult(task.id, TaskOutcome.FAILED, reason)


def _escalate(
    task: Task, count: AttemptCount, last: Decision, roles: tuple[str, ...]
) -> TaskResult:
    """Leave it to a person when reviewers reject the work in every round."""
    reviewers = " and ".join(role for role in roles if role != IMPLEMENTER)
    reason = f"{reviewers} refused it {count.rejected} times: {last.reason}"
    return TaskResult(task.id, TaskOutcome.BLOCKED, reason, block=BlockType.DESIGN_CONFLICT)
