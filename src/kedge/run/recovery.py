"""Finish the records of a run that ended in the middle of a task."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from kedge.errors import KedgeError
from kedge.handoff.snapshot import snapshots
from kedge.model.attempt import Outcome
from kedge.model.task import Status
from kedge.run import agent_commits, commits, interrupted_commit, repository_guard
from kedge.run.decision import Decision
from kedge.run.journal import Checkpoint
from kedge.run.outcomes import RunEnd, StopCode, TaskOutcome, TaskResult, stop_after
from kedge.run.run_state import RunState
from kedge.run.task_work import settle_task


def abandon(state: RunState) -> None:
    """End the run after a second interrupt or an error: record what was under way."""
    checkpoint = _finish_records(state)
    state.journal.end(StopCode.INTERRUPTED, state.usage, checkpoint)


def leave(state: RunState) -> None:
    """End the run because nobody reads its output any more.

    Its journal looks like that of a killed run: so does the journal of the run that has started
    it, if that was killed, and a resumed one takes up both.
    """
    state.emit = _ignore
    checkpoint = _finish_records(state)
    state.journal.change(spent=asdict(state.usage), at=checkpoint)


def _ignore(event: str, data: dict[str, Any]) -> None:
    """Take an event that nobody reads."""


def _finish_records(state: RunState) -> Checkpoint | None:
    """Record what was under way, and return where the run can be resumed."""
    checkpoint = state.journal.record.at
    _put_back(state)
    if checkpoint is None:
        _release_claims(state)
        return None
    _record_interrupted(state, checkpoint)
    _take_back_commits(state, checkpoint)
    return checkpoint.between_calls()


def end_after(state: RunState, error: KedgeError) -> RunEnd:
    """End a run that an error ended, with what is known of it; record it as far as that works."""
    checkpoint, results = state.journal.record.at, state.journal.record.results
    try:
        abandon(state)
    except KedgeError as second:
        state.warn(f"the run could not be recorded to its end: {second.message}")
    if checkpoint is not None and all(one["task"] != checkpoint.task for one in results):
        row = TaskResult(checkpoint.task, TaskOutcome.LEFT, error.message)
        results = (*results, asdict(row))
    return RunEnd(stop_after(error), results, (), asdict(state.usage))


def recover(state: RunState) -> None:
    """Record what a killed run had under way, before the run is resumed."""
    interrupted_commit.clear_scratch(state.project)
    checkpoint = state.journal.record.at
    if checkpoint is None:
        return
    if checkpoint.proven:
        interrupted_commit.complete_index(state.project, checkpoint.head)
    if checkpoint.began_at:
        _record_interrupted(state, checkpoint)
    if _is_finished(state, checkpoint):  # the run was killed before it could say so
        task = state.board().get(checkpoint.task)
        settle_task(state, task, TaskResult(task.id, TaskOutcome.DONE, checkpoint.proven))
        return
    now = commits.find_head(state.project)
    if now != checkpoint.head:  # by the user, perhaps: these commits are nobody's to take back
        state.warn(
            f"HEAD has moved since the run was interrupted, from "
            f"{(checkpoint.commit or 'no commit')[:12]} to {(now.commit or 'no commit')[:12]}; "
            "the run goes on from there"
        )
        checkpoint = replace(checkpoint, commit=now.commit, branch=now.branch)
    state.journal.change(at=checkpoint.between_calls())


def _put_back(state: RunState) -> None:
    """Put back what the interrupted agent has changed in the repository."""
    if state.baseline is None:
        return
    try:
        report = repository_guard.check(state.project, state.baseline)
    except KedgeError as error:
        state.warn(error.message)
        return
    if report:
        names = ", ".join((*report.put_back, *report.refused))
        state.warn(f"the agent changed, and kedge put back where it could: {names}")


def _take_back_commits(state: RunState, checkpoint: Checkpoint) -> None:
    """Take what the interrupted attempt has committed off the branch."""
    if _is_finished(state, checkpoint):
        return
    try:
        taken = agent_commits.take_back(state.project, checkpoint.task, checkpoint.head)
    except KedgeError as error:
        state.warn(f"what the attempt has committed stays: {error.message}")
        return
    if taken is not None:
        state.emit("uncommitted", {"task": checkpoint.task, **asdict(taken)})


def _record_interrupted(state: RunState, checkpoint: Checkpoint) -> None:
    """Record the interrupted call, and close or reopen the task."""
    task, began = checkpoint.task, checkpoint.began_at
    is_recorded = not began or state.attempts.has_since(task, began)
    if not is_recorded:
        decision = Decision(Outcome.INTERRUPTED, "the run ended in the middle of it")
        tree = checkpoint.tree or None
        state.attempts.record(task, checkpoint.role, decision, started_at=began, start_tree=tree)
    board = state.board()
    status = board.get(task).status
    by_hand = status is Status.DONE and is_recorded and not checkpoint.proven
    if _is_finished(state, checkpoint):
        if status is not Status.DONE:
            board.close(task, checkpoint.proven)
    elif status is not Status.OPEN and not by_hand:
        board.reopen(task)  # one that was closed for a commit which was never made, too


def _is_finished(state: RunState, checkpoint: Checkpoint) -> bool:
    """True if the task was proven done and all of its changes are in git, where they should be."""
    if not checkpoint.proven or not state.options.commit:
        return bool(checkpoint.proven)
    tree = snapshots.read_tree(state.project)
    paths = commits.list_changed(state.project, checkpoint.start, tree)
    return bool(paths) and not commits.list_uncommitted(state.project, paths)


def _release_claims(state: RunState) -> None:
    """Reopen tasks that were claimed and not begun."""
    board = state.board()
    for task in board.tasks().values():
        if task.status is Status.IN_PROGRESS and task.assignee == state.id:
            board.reopen(task.id)
