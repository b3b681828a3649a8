"""Where an agent works: the project, its settings, its tasks and its git, each read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol
else:
    Protocol = object


class Lessons(Protocol):
    """What was learned and matters for a task, as far as there is room for it."""

    @property
    def text(self) -> str: ...
    @property
    def whole(self) -> bool: ...
    @property
    def warnings(self) -> Sequence[str]: ...


# The knowledge bank is another room's: whoever puts the two together says how it is asked.
Recall = Callable[[Project, Settings, Task, int], Lessons]


class Workplace:
    """What there is to say about the work. What cannot be read raises KedgeError when asked for."""

    def __init__(
        self,
        project: Project,
        settings: Settings,
        task_id: str | None = None,
        *,
        alone: bool = False,
        recall: Recall | None = None,
    ) -> None:
        self.project = project
        self.alone = alone  # whether nobody can be asked, as in a loop
        self.recall = recall
        self.settings = settings
        self._task_id = task_id
        self.warnings: list[str] = []

    @cached_property
    def backend(self) -> Backend:
        return choose.backend(self.project, self.settings.tasks)

    @cached_property
    def tasks(self) -> dict[TaskId, Task]:
        board = Board(self.backend)
        found = board.tasks()
        self.warnings += board.warnings
        return found

    @cached_property
    def task(self) -> Task | None:
        """The task that was named; else the one in progress, when there is but one of mine."""
        if self._task_id is not None:
            return rules.find(self.tasks, self._task_id)
        begun = [task for task in self.tasks.values() if task.status is Status.IN_PROGRESS]
        me = self.settings.tasks.actor
        mine = [task for task in begun if me and task.assignee == me]
        if len(begun) > 1 and len(mine) != 1:
            ids = ", ".join(task.id for task in begun[:5])
            raise TaskError(f"{len(begun)} tasks are in progress: {ids}", hint="name one of them")
        return next(iter(mine or begun), None)

    @cached_property
    def known_task(self) -> Task | None:
        """The task, for what can be said without it, too."""
        try:
            return self.task
        except KedgeError:
            return None

    @property
    def epic(self) -> Task | None:
        task = self.task
        return self.tasks.get(task.epic) if task is not None and task.epic else None

    def attempts(self, task: Task) -> list[Attempt]:
        found, warnings = Ledger(self.project).read(task.id)
        self.warnings += warnings
        return found

    def git(self, *args: str) -> str:
        """What git prints, with what is no text made visible."""
        repo = self.project.repo
        if repo is None:
            raise KedgeError("not in a git repository")
        return repo.git(*args).decode("utf-8", "replace")

    @cached_property
    def map_data(self) -> dict[str, Any]:
        """The map of no task in particular: from the cache, unless the code has changed."""
        from contextlib import closing

        from kedge.context import mapfile
        from kedge.repomap.cache import Cache
        from kedge.repomap.progress import no_tick

        with closing(Cache(self.project.home())) as cache:
            return mapfile.make(self.project, self.settings, cache, no_tick).data
