"""The board: every operation on tasks, over any backend, one writer at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from kedge.errors import TaskExists
from kedge.host.clock import now
from kedge.host.secrets import refuse
from kedge.model.ids import TaskId
from kedge.model.task import Block, Task, changed, checked
from kedge.tasks import rules
from kedge.tasks.backend import Backend, Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Result:
    """A task after an operation, what it was before, and the epics that followed it."""

    task: Task
    before: Task | None
    followed: tuple[Task, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """The tasks that an import added, and those that were there already."""

    added: tuple[Task, ...]
    skipped: tuple[TaskId, ...]
    warnings: tuple[str, ...]


class Board:
    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.warnings: tuple[str, ...] = ()

    def tasks(self) -> dict[TaskId, Task]:
        """All tasks by id, oldest first. What could not be read is in `warnings`."""
        listing = self.backend.read()
        self.warnings = listing.warnings
        return {task.id: task for task in sorted(listing.tasks, key=rules.order)}

    def get(self, task_id: str) -> Task:
        return rules.find(self.tasks(), task_id)

    def ready(self) -> list[Task]:
        return rules.ready(self.tasks())

    def add(self, draft: Task, *, allow: Collection[str] = ()) -> Result:
        """Add a task; an empty id asks for a new one. `allow` names findings of secrets."""

        def work(tasks: dict[TaskId, Task]) -> Result:
            if draft.id in tasks:
                raise TaskExists(
                    f"there is a task {draft.id!r} already", hint=f"kedge task show {draft.id}"
                )
            stamp = now()
            task_id = draft.id or self.backend.new_id(tasks)
            task = checked(replace(draft, id=task_id, created_at=stamp, updated_at=stamp))
            rules.check_links(tasks, [task])
            return self._keep(tasks, None, task, allow)

        return self._locked(work)

    def update(
        self, task_id: str, change: Callable[[Task], Task], *, allow: Collection[str] = ()
    ) -> Result:
        """Replace what `change` replaces. Links are checked, epics follow."""

        def work(tasks: dict[TaskId, Task]) -> Result:
            before = rules.find(tasks, task_id)
            after = checked(change(before))
            rules.check_links(tasks, [after])
            rules.check_type(tasks, after)
            return self._keep(tasks, before, after, allow)

        return self._locked(work)

    def claim(self, task_id: str, who: str, *, again: bool = True) -> Result:
        """Claim a task. `again` says whether the same name may claim what it has already."""
        return self._step(
            task_id, lambda tasks, task: rules.claim(tasks, task, who, now(), again=again)
        )

    def close(
        self,
        task_id: str,
        reason: str | None = None,
        *,
        failed: bool = False,
        allow: Collection[str] = (),
    ) -> Result:
        return self._step(
            task_id,
            lambda tasks, task: rules.close(tasks, task, reason, now(), failed=failed),
            allow,
        )

    def block(self, task_id: str, why: Block, *, allow: Collection[str] = ()) -> Result:
        return self._step(task_id, lambda _, task: rules.block(task, why), allow)

    def reopen(self, task_id: str) -> Result:
        return self._step(task_id, lambda _, task: rules.reopen(task))

    def depend(self, task_id: str, on: Iterable[str], drop: Iterable[str]) -> Result:
        gone = set(drop)

        def change(task: Task) -> Task:
            kept = [other for other in task.depends_on if other not in gone]
            return changed(task, depends_on=tuple(dict.fromkeys([*kept, *map(TaskId, on)])))

        return self.update(task_id, change)

    def import_tasks(self, drafts: Sequence[Task], *, allow: Collection[str] = ()) -> Imported:
        """Add all tasks that are not there yet, in their order, or none.

        An id that is there already is skipped; a link to a task that is nowhere is dropped with
        a warning; an empty id gets a new one.
        """
        for draft in drafts:
            refuse_secrets(None, draft, allow)

        def work(tasks: dict[TaskId, Task]) -> Imported:
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
                linked, lost = _without_lost_links(draft, known)
                warnings += lost
                added[task_id] = checked(
                    replace(linked, id=task_id, created_at=stamp, updated_at=stamp)
                )
            rules.check_links(tasks, list(added.values()))
            after = {**tasks, **added}
            epics = rules.settle(after, [task.epic for task in added.values()], now())
            final = {**added, **{epic.id: epic for epic in epics}}
            if final:
                self.backend.write([Change(tasks.get(i), task) for i, task in final.items()])
            return Imported(
                tuple(final[i] for i in added), tuple(skipped), (*self.warnings, *warnings)
            )

        return self._locked(work)

    def _step(
        self,
        task_id: str,
        step: Callable[[dict[TaskId, Task], Task], Task],
        allow: Collection[str] = (),
    ) -> Result:
        def work(tasks: dict[TaskId, Task]) -> Result:
            before = rules.find(tasks, task_id)
            return self._keep(tasks, before, step(tasks, before), allow)

        return self._locked(work)

    def _keep(
        self,
        tasks: dict[TaskId, Task],
        before: Task | None,
        after: Task,
        allow: Collection[str] = (),
    ) -> Result:
        refuse_secrets(before, after, allow)
        stamp = now()
        if after != before:
            after = replace(after, updated_at=stamp)
        epics = rules.settle(
            {**tasks, after.id: after},
            [before.epic if before else None, after.epic],
            stamp,
        )
        followed = tuple(replace(epic, updated_at=stamp) for epic in epics)
        saved = {after.id: after, **{epic.id: epic for epic in followed}}
        changes = [Change(tasks.get(i), task) for i, task in saved.items() if task != tasks.get(i)]
        if changes:
            self.backend.write(changes)
        others = tuple(epic for epic in followed if epic.id != after.id)
        return Result(saved[after.id], before, others, self.warnings)

    def _locked(self, work: Callable[[dict[TaskId, Task]], T]) -> T:
        with self.backend.lock():
            return work(self.tasks())


def refuse_secrets(before: Task | None, after: Task, allow: Collection[str]) -> None:
    """Tasks go into git: what looks like a secret goes in only when its finding is allowed.

    What was there before is not asked about again.
    """
    old = before.data() if before else {}
    for name, value in after.data().items():
        if value != old.get(name):
            refuse(name, value, allow)


def _without_lost_links(draft: Task, known: dict[TaskId, Any]) -> tuple[Task, list[str]]:
    lost = [other for other in draft.depends_on if other not in known]
    warnings = [f"{draft.id} depends on {other}, which is nowhere: dropped" for other in lost]
    epic = draft.epic
    if epic is not None and epic not in known:
        warnings.append(f"{draft.id} is part of {epic}, which is nowhere: dropped")
        epic = None
    kept = tuple(other for other in draft.depends_on if other in known)
    return replace(draft, depends_on=kept, epic=epic), warnings
