"""The workspace of an agent: the project, its settings, tasks and git, each read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

from kedge.errors import KedgeError, TaskError
from kedge.host.project import Project
from kedge.model.attempt import Attempt
from kedge.model.ids import TaskId
from kedge.model.task import Status, Task
from kedge.settings import Settings
from kedge.tasks import choose, rules
from kedge.tasks.backend import Backend
from kedge.tasks.board import Board
from kedge.tasks.ledger import Ledger


class Lessons(Protocol):
    """Lessons that matter for a task, cut to a budget; `whole` if none was left out."""

    @property
    def text(self) -> str: ...
    @property
    def whole(self) -> bool: ...
    @property
    def warnings(self) -> Sequence[str]: ...


# The knowledge bank is another room: the caller that connects the two passes the function.
Recall = Callable[[Project, Settings, Task, int], Lessons]


class Workspace:
    """Reads each property on first use; one that cannot be read raises KedgeError."""

    def __init__(
        self,
        project: Project,
        settings: Settings,
        task_id: str | None = None,
        *,
        alone: bool = False,
        recall: Recall | None = None,
        guess: bool = True,
    ) -> None:
        """Without a task, `guess` takes the one in progress."""
        self.project = project
        self.alone = alone  # nobody can answer questions, as in the run loop
        self.knows_attempts = False  # the agent reads the earlier attempts at its task elsewhere
        self.recall = recall
        self.settings = settings
        self._task_id = task_id
        self._guess = guess
        self.warnings: list[str] = []

    @cached_property
    def backend(self) -> Backend:
        return choose.open_backend(self.project, self.settings.tasks)

    @cached_property
    def tasks(self) -> dict[TaskId, Task]:
        board = Board(self.backend)
        tasks = board.tasks()
        self.warnings += board.warnings
        return tasks

    @cached_property
    def task(self) -> Task | None:
        """The named task, else the only one in progress, else my only one in progress."""
        if self._task_id is not None:
            return rules.find(self.tasks, self._task_id)
        if not self._guess:
            return None
        started = [task for task in self.tasks.values() if task.status is Status.IN_PROGRESS]
        me = self.settings.tasks.actor
        mine = [task for task in started if me and task.assignee == me]
        if len(started) > 1 and len(mine) != 1:
            ids = ", ".join(task.id for task in started[:5])
            raise TaskError(f"{len(started)} tasks are in progress: {ids}", hint="name one of them")
        return next(iter(mine or started), None)

    @cached_property
    def known_task(self) -> Task | None:
        """The task; None also where it cannot be read."""
        try:
            return self.task
        except KedgeError:
            return None

    @property
    def epic(self) -> Task | None:
        task = self.task
        return self.tasks.get(task.epic) if task is not None and task.epic else None

    def attempts(self, task: Task) -> list[Attempt]:
        attempts, warnings = Ledger(self.project).read(task.id)
        self.warnings += warnings
        return attempts

    def git(self, *args: str) -> str:
        """Return what git prints; bytes that are not UTF-8 become replacement characters."""
        repo = self.project.repo
        if repo is None:
            raise KedgeError("not in a git repository")
        return repo.git(*args).decode("utf-8", "replace")

    @cached_property
    def map_data(self) -> dict[str, Any]:
        """The map of the whole project: from the cache unless the code has changed."""
        from contextlib import closing

        from kedge.context import mapfile
        from kedge.repomap.cache import Cache
        from kedge.repomap.progress import no_tick

        with closing(Cache(self.project.home())) as cache:
            return mapfile.make_map(self.project, self.settings, cache, no_tick).data
