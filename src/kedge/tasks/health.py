"""One line on the state of tasks and attempts, for the map."""

from __future__ import annotations

from collections import Counter

from kedge.errors import KedgeError
from kedge.host.project import Project
from kedge.model.task import Status
from kedge.settings import TaskSettings
from kedge.tasks import choose, rules
from kedge.tasks.board import Board
from kedge.tasks.ledger import Ledger

_STATES = {
    Status.IN_PROGRESS: "in progress",
    Status.BLOCKED: "blocked",
    Status.FAILED: "failed",
    Status.DONE: "done",
}


def describe_health(project: Project, settings: TaskSettings) -> tuple[str | None, list[str]]:
    """Return the counts of tasks by state and attempts by outcome, and warnings.

    The line is None without tasks, and also when they cannot be read: a map does not need them.
    """
    try:
        return _count(project, settings), []
    except KedgeError as error:
        return None, [f"the map does not cover tasks: {error.message}"]


def _count(project: Project, settings: TaskSettings) -> str | None:
    tasks = Board(choose.open_backend(project, settings)).tasks()
    if not tasks:
        return None
    states = Counter(task.status for task in tasks.values())
    counts = {"ready": len(rules.ready(tasks))}
    counts |= {word: states[state] for state, word in _STATES.items()}
    line = "tasks: " + ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    if not any(counts.values()):
        line = f"tasks: {len(tasks)}, none ready"
    ledger = Ledger(project)
    outcomes = Counter(one.outcome.value for task in tasks for one in ledger.read(task)[0])
    if outcomes:
        ends = ", ".join(f"{count} {word}" for word, count in sorted(outcomes.items()))
        line += f"; attempts: {ends}"
    return line
