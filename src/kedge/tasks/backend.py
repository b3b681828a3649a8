"""The interface of task backends. `kedge.testing.tasks` has the suite that each must pass."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from kedge.model.ids import TaskId
from kedge.model.task import Task


@dataclass(frozen=True, slots=True)
class TaskListing:
    """All tasks of a backend, a warning for each thing it could not read, and what is odd there."""

    tasks: tuple[Task, ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # nothing is missing because of these


@dataclass(frozen=True, slots=True)
class TaskChange:
    """A task to add (`before` is None) or to replace."""

    before: Task | None
    after: Task


class Backend(Protocol):
    """Reads and writes tasks. The rules of tasks are in `rules`, not here."""

    name: str

    def lock(self) -> AbstractContextManager[None]:
        """Exclude other writers from `read` to `write`."""

    def read(self) -> TaskListing:
        """Return all tasks. Raises BrokenTasks where going on could lose or misread data."""

    def write(self, changes: Sequence[TaskChange]) -> None:
        """Write all changes, or raise and write none. Unknown fields are preserved.

        Called while the lock is held; `before` is the task that `read` returned. Raises ReadOnly
        for a change that this backend cannot store.
        """

    def new_id(self, taken: Collection[str]) -> TaskId:
        """Return an id for a new task that is not in `taken`."""
