"""What a task backend must do. `kedge.testing.tasks` has the suite that each must pass."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from kedge.model.ids import TaskId
from kedge.model.task import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


@dataclass(frozen=True, slots=True)
class Listing:
    """All tasks of a backend, and what it could not read, one line each."""

    tasks: tuple[Task, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A task to be added (`before` is None) or replaced."""

    before: Task | None
    after: Task


class Backend(Protocol):
    """Where tasks are kept. The rules of tasks are in `rules`, not here."""

    name: str

    def lock(self) -> AbstractContextManager[None]:
        """Keep other writers out from `read` to `write`."""

    def read(self) -> Listing:
        """All tasks. Raises BrokenTasks where going on could lose or misread something."""

    def write(self, changes: Sequence[Change]) -> None:
        """Keep all the changes or, raising, none; what kedge does not know stays as it is.

        Called while the lock is held, with `before` as `read` gave it. Raises ReadOnly for what
        this backend cannot keep.
        """

    def new_id(self, taken: Collection[str]) -> TaskId:
        """An id for a new task that is not taken."""
