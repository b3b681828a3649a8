"""Every operation on tasks, over any backend, one writer at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from kedge.errors import TaskExists
from kedge.host.clock import now
from kedge.host.secrets import refuse
from kedge.model.ids import TaskId
from kedge.model.task import Block, Task, replace_fields, validate
from kedge.tasks import rules
from kedge.tasks.backend import Backend, TaskChange, TaskListing

if TYPE_CHECKING:
    T = TypeVar("T")


_MOST_WARNINGS = 3


@dataclass(frozen=True, slots=True)
class BoardChange:
    """A task after an operation and before it, and the epics that changed with it."""

    task: Task
    before: Task | None
    followed: tuple[Task, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The tasks that an import added, and the ids of those that existed already."""

    added: tuple[Task, ...]
    skipped: tuple[TaskId, ...]
    warnings: tuple[str, ...]


class Board:
    """A backend's tasks under the rules of `rules`."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._listing = TaskListing(())

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that is wrong in the task files."""
        return self._listing.warnings + self._listing.notes

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be read, or where that is much one line that says how to list it."""
        warnings = self._listing.warnings
        if len(warnings) <= _MOST_WARNINGS:
            return warnings
        count = len(warnings)
        return (f"{count} problems in the task files: `kedge task list --problems` lists them",)

    def tasks(self) -> dict[TaskId, Task]:
        """Return all tasks by id, oldest first. Updates `problems`."""
        self._listing = self.backend.read()
        return {task.id: task for task in sorted(self._listing.tasks, key=rules.sort_key)}

    def get(self, task_id: str) -> Task:
        return rules.find(self.tasks(), task_id)

    def ready(self) -> list[Task]:
        return rules.ready(self.tasks())

    def add(self, draft: Task, *, allow: Collection[str] = ()) -> BoardChange:
        """Add a task, with a new id if it has none. `allow` lists ids of secrets to let through."""

        def work(tasks: dict[TaskId, Task]) -> BoardChange:
            if draft.id in tasks:
                raise TaskExists(
                    f"task {draft.id!r} exists already", hint=f"kedge task show {draft.id}"
                )
            stamp = now()
            task_id = draft.id or self.backend.new_id(tasks)
            task = validate(replace(draft, id=task_id, created_at=stamp, updated_at=stamp))
            rules.check_links(tasks, [task])
            return self._save(tasks, None, task, allow)

        return self._run_locked(work)

    def update(
        self, task_id: str, change: Callable[[Task], Task], *, allow: Collection[str] = ()
    ) -> BoardChange:
        """Replace a task by `change(task)`, check its links, and close or reopen its epics."""

        def work(tasks: dict[TaskId, Task]) -> BoardChange:
            before = rules.find(tasks, task_id)
            after = validate(change(before))
            rules.check_links(tasks, [after])
            rules.check_type(tasks, after)
            return self._save(tasks, before, after, allow)

        return self._run_locked(work)

    def claim(self, task_id: str, who: str, *, again: bool = True) -> BoardChange:
        """Claim a task. `again` allows the same name to claim its own task a second time."""
        return self._step(
            task_id, lambda tasks, task: rules.claim(tasks, task, who, now(), again=again)
        )

    def close(
        self,
        task_id: str,
        reason: str | None = None,
        *,
        failed: bool = False,
        unproven: bool = False,
        allow: Collection[str] = (),
    ) -> BoardChange:
        def step(tasks: dict[TaskId, Task], task: Task) -> Task:
            return rules.close(tasks, task, reason, now(), failed=failed, unproven=unproven)

        return self._step(task_id, step, allow)

    def block(self, task_id: str, why: Block, *, allow: Collection[str] = ()) -> BoardChange:
        return self._step(task_id, lambda _, task: rules.block(task, why), allow)

    def reopen(self, task_id: str) -> BoardChange:
        return self._step(task_id, lambda _, task: rules.reopen(task))

    def depend(self, task_id: str, on: Iterable[str], drop: Iterable[str]) -> BoardChange:
        """Add the dependencies `on` to a task and remove those in `drop`."""
        dropped = set(drop)

        def change(task: Task) -> Task:
            kept = [other for other in task.depends_on if other not in dropped]
            return replace_fields(task, depends_on=tuple(dict.fromkeys([*kept, *map(TaskId, on)])))

        return self.update(task_id, change)

    def import_tasks(self, drafts: Sequence[Task], *, allow: Collection[str] = ()) -> ImportResult:
        """Add all tasks that do not exist yet, in their order, or raise and add none.

        Existing ids are skipped; a link to an unknown task is dropped with a warning; an empty id
        is replaced by a new one.
        """
        for draft in drafts:
            refuse_secrets(None, draft, allow)

        def work(tasks: dict[TaskId, Task]) -> ImportResult:
            known = {**tasks, **{draft.id: draft for draft in drafts if draft.id}}
            added: dict[TaskId, Task] = {}
            skipped: list[TaskId] = []
            warnings: list[str] = []
            for index, draft in enumerate(drafts):
                if draft.id in tasks or draft.id in added:
                    skipped.append(draft.id)
                    continue
                stamp = now(plus_us=index)
                task_id = draft.id or self.backend.new_id([*tasks, *added])
                linked, lost = _drop_lost_links(draft, known)
                warnings += lost
                added[task_id] = validate(
                    replace(linked, id=task_id, created_at=stamp, updated_at=stamp)
                )
            rules.check_links(tasks, list(added.values()))
            after = {**tasks, **added}
            epics = rules.settle_epics(after, [task.epic for task in added.values()], now())
            final = {**added, **{epic.id: epic for epic in epics}}
            if final:
                self.backend.write([TaskChange(tasks.get(i), task) for i, task in final.items()])
            return ImportResult(
                tuple(final[i] for i in added), tuple(skipped), (*self.warnings, *warnings)
            )

        return self._run_locked(work)

    def _step(
        self,
        task_id: str,
        step: Callable[[dict[TaskId, Task], Task], Task],
        allow: Collection[str] = (),
    ) -> BoardChange:
        def work(tasks: dict[TaskId, Task]) -> BoardChange:
            before = rules.find(tasks, task_id)
            return self._save(tasks, before, step(tasks, before), allow)

        return self._run_locked(work)

    def _save(
        self,
        tasks: dict[TaskId, Task],
        before: Task | None,
        after: Task,
        allow: Collection[str] = (),
    ) -> BoardChange:
        refuse_secrets(before, after, allow)
        stamp = now()
        if after != before:
            after = replace(after, updated_at=stamp)
        epics = rules.settle_epics(
            {**tasks, after.id: after},
            [before.epic if before else None, after.epic],
            stamp,
        )
        followed = tuple(replace(epic, updated_at=stamp) for epic in epics)
        saved = {after.id: after, **{epic.id: epic for epic in followed}}
        changes = [
            TaskChange(tasks.get(i), task) for i, task in saved.items() if task != tasks.get(i)
        ]
        if changes:
            self.backend.write(changes)
        others = tuple(epic for epic in followed if epic.id != after.id)
        return BoardChange(saved[after.id], before, others, self.warnings)

    def _run_locked(self, work: Callable[[dict[TaskId, Task]], T]) -> T:
        with self.backend.lock():
            return work(self.tasks())


def refuse_secrets(before: Task | None, after: Task, allow: Collection[str]) -> None:
    """Raise SecretFound if a changed field holds a secret whose id is not in `allow`.

    Tasks go into git. Unchanged fields are not scanned again.
    """
    old = before.data() if before else {}
    for name, value in after.data().items():
        if value != old.get(name):
            refuse(name, value, allow)


def _drop_lost_links(draft: Task, known: dict[TaskId, Any]) -> tuple[Task, list[str]]:
    lost = [other for other in draft.depends_on if other not in known]
    warnings = [
        f"{draft.id} depends on {other}, which does not exist: dropped the dependency"
        for other in lost
    ]
    epic = draft.epic
    if epic is not None and epic not in known:
        warnings.append(f"{draft.id} is part of {epic}, which does not exist: dropped the epic")
        epic = None
    kept = tuple(other for other in draft.depends_on if other in known)
    return replace(draft, depends_on=kept, epic=epic), warnings
