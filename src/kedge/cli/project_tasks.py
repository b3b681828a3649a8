"""The board of the current project, and the ledger of what commands close or block there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kedge import config
from kedge.cli.edge import Edge
from kedge.errors import KedgeError
from kedge.host import user
from kedge.model.ids import TaskId
from kedge.model.task import Task
from kedge.tasks import choose
from kedge.tasks.board import Board, BoardChange


class ProjectTasks:
    """The board of the current project, and the settings in force."""

    def __init__(self, edge: Edge) -> None:
        self.project = edge.project()
        loaded = config.load(self.project, edge.settings)
        edge.warn(*loaded.warnings)
        self.all_settings = loaded.settings
        self.settings = loaded.settings.tasks
        self.board = Board(choose.open_backend(self.project, self.settings))
        self.edge = edge
        edge.note(f"tasks are kept by the {self.board.backend.name} backend")

    @property
    def actor(self) -> str:
        """The configured name, or the name of the operating system's user."""
        return self.settings.actor or user.user_name()

    def read(self) -> dict[TaskId, Task]:
        """Return all tasks, and warn about those that cannot be read."""
        tasks = self.board.tasks()
        choice = choose.describe_choice(self.project, self.settings)
        self.edge.warn(*self.board.warnings, *([choice] if choice else ()))
        return tasks


def record_attempt(
    project_tasks: ProjectTasks,
    result: BoardChange,
    tried: Sequence[str],
    avoid: Sequence[str],
    checks: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Append the attempt that ended to the ledger. A failure is a warning: the task has changed."""
    from kedge.tasks.ledger import Ledger, attempt_of

    ledger = Ledger(project_tasks.project, lock_timeout=project_tasks.settings.lock_timeout)
    before = result.before
    try:
        attempt = attempt_of(
            before,
            result.task,
            tried,
            avoid,
            actor=project_tasks.actor,
            checks=checks,
            unrecorded=before is not None and ledger.lacks(before),
        )
        if attempt is not None:
            ledger.append(attempt)
    except KedgeError as error:
        project_tasks.edge.warn(f"the attempt was not recorded in the ledger: {error.message}")
