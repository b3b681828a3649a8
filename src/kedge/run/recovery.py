"""Finish the records of a run that ended in the middle of a task."""

from __future__ import annotations

from kedge.handoff.snapshot import snapshots
from kedge.model.attempt import Outcome
from kedge.model.task import Status
from kedge.run import commits
from kedge.run.decision import Decision
from kedge.run.journal import Checkpoint
from kedge.run.outcomes import StopCode
from kedge.run.run_state import RunState


def abandon(state: RunState) -> None:
    """End the run after a second interrupt or an error: record what was under way."""
    checkpoint = state.journal.record.at
    if checkpoint is not None:
        _record_interrupted(state, checkpoint)
        checkpoint = checkpoint.between_calls()
    else:
        _release_claims(state)
    state.journal.end(StopCode.INTERRUPTED, state.usage, checkpoint)


def recover(state: RunState) -> None:
    """Record what a killed run had under way, before the run is resumed."""
    checkpoint = state.journal.record.at
    if checkpoint is not None and checkpoint.began_at:
        _record_interrupted(state, checkpoint)
        state.journal.change(at=checkpoint.between_calls())


def _record_interrupted(state: RunState, checkpoint: Checkpoint) -> None:
    """Record the interrupted call, and close or reopen the task."""
    task, began = checkpoint.task, checkpoint.began_at
    if began and not state.attempts.has_since(task, began):
        decision = Decision(Outcome.INTERRUPTED, "the run ended in the middle of it")
        tree = checkpoint.tree or None
        state.attempts.record(task, checkpoint.role, decision, started_at=began, start_tree=tree)
    board = state.board()
    status = board.get(task).status
    if status is not Status.DONE and _is_committed(state, checkpoint):
        board.close(task, checkpoint.proven)
    elif status not in (Status.OPEN, Status.DONE):
        board.reopen(task)


def _is_committed(state: RunState, checkpoint: Checkpoint) -> bool:
    """True if the task was proven done and all of its changes are in git."""
    if not checkpoint.proven:
        return False
    tree = snapshots.read_tree(state.project)
    paths = commits.list_changed(state.project, checkpoint.start, tree)
    return bool(paths) and not commits.list_uncommitted(state.project, paths)


def _release_claims(state: RunState) -> None:
    """Reopen tasks that were claimed and not begun."""
    board = state.board()
    for task in board.tasks().values():
        if task.status is Status.IN_PROGRESS and task.assignee == state.id:
            board.reopen(task.id)
