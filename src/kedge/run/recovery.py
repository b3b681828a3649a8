"""Runs that end in the midst of a task: what they could not record, and the task's state."""

from __future__ import annotations

from dataclasses import asdict

from kedge.handoff import snapshots
from kedge.model.attempt import Outcome
from kedge.model.task import Status
from kedge.run import commits
from kedge.run.bench import Bench
from kedge.run.decide import INTERRUPTED, Decision
from kedge.run.journal import ENDED, At, between_calls


def abandon(bench: Bench) -> None:
    """A second interrupt, or a fault: what was begun is on record when this returns."""
    at = bench.journal.state.at
    if at is not None:
        _record(bench, at)
    else:
        _let_go(bench)
    kept = between_calls(at) if at is not None else None
    used = asdict(bench.now())
    bench.journal.change(status=ENDED, why=INTERRUPTED, at=kept, spent=used)


def recover(bench: Bench) -> None:
    """What a run that was killed could not record any more."""
    at = bench.journal.state.at
    if at is not None and at.began_at:
        _record(bench, at)
        bench.journal.change(at=between_calls(at))


def _record(bench: Bench, at: At) -> None:
    past = bench.ledger.read(at.task)[0]
    if at.began_at and not any(one.started_at >= at.began_at for one in past):
        ended = Decision(Outcome.INTERRUPTED, "the run was ended in the midst of it")
        more = {"started_at": at.began_at, "start_tree": at.tree or None}
        bench.attempt(at.task, at.role, ended, **more)
    board = bench.board()
    status = board.get(at.task).status
    if status is not Status.DONE and _is_committed(bench, at):
        board.close(at.task, at.proven)
    elif status not in (Status.OPEN, Status.DONE):
        board.reopen(at.task)


def _is_committed(bench: Bench, at: At) -> bool:
    """Whether what was shown to be done is in git whole."""
    if not at.proven:
        return False
    paths = commits.changed(bench.project, at.start, snapshots.look(bench.project))
    return bool(paths) and not commits.left(bench.project, paths)


def _let_go(bench: Bench) -> None:
    """Reopen what was claimed and not begun."""
    board = bench.board()
    for task in board.tasks().values():
        if task.status is Status.IN_PROGRESS and task.assignee == bench.run:
            board.reopen(task.id)
