"""How the work stands, in one line."""

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


def health(project: Project, settings: TaskSettings) -> tuple[str | None, list[str]]:
    """Tasks by state and attempts by how they ended, or None without tasks; and warnings."""
    try:
        return _health(project, settings), []
    except KedgeError as error:  # a map does not need tasks
        return None, [f"the map says nothing of tasks: {error.message}"]


def _health(project: Project, settings: TaskSettings) -> str | None:
    tasks = Board(choose.backend(project, settings)).tasks()
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
