"""Which task is next."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kedge.model.ids import TaskId
from kedge.model.task import Status, Task
from kedge.run.wanted import Wanted
from kedge.tasks import rules

Tasks = Mapping[TaskId, Task]


def following(tasks: Tasks, wanted: Wanted, tried: Collection[str], who: str) -> Task | None:
    """The next task that is ready and was not tried in this run; one of its own comes first."""
    mine = [
        task
        for task in tasks.values()
        if task.status is Status.IN_PROGRESS and task.assignee == who and task.id not in tried
    ]
    ready = [task for task in (*mine, *rules.ready(tasks)) if task.id not in tried]
    if wanted.feature is not None:  # in the order of the document
        ready.sort(key=lambda task: list(tasks).index(task.id))
    return next((task for task in ready if is_meant(tasks, wanted, task)), None)


def is_meant(tasks: Tasks, wanted: Wanted, task: Task) -> bool:
    """Whether a run is about a task."""
    if wanted.task is not None:
        return task.id == wanted.task
    group = wanted.epic or wanted.feature
    if group is not None and not _below(tasks, task, group):
        return False
    return wanted.label is None or wanted.label in task.labels


def left(tasks: Tasks, wanted: Wanted) -> list[tuple[Task, str]]:
    """What is meant and not done, each with why."""
    found = []
    for task in tasks.values():
        if task.type == rules.EPIC or task.status is Status.DONE:
            continue
        if is_meant(tasks, wanted, task):
            waits = rules.waiting_for(tasks, task)
            blocked = f"blocked: {task.blocked.reason}" if task.blocked else ""
            found.append((task, blocked or (waits[0] if waits else task.status.value)))
    return found


def _below(tasks: Tasks, task: Task, group: str) -> bool:
    """Whether an epic is above a task, at any height."""
    seen: set[str] = set()
    above = task.epic
    while above is not None and above not in seen:
        if above == group:
            return True
        seen.add(above)
        parent = tasks.get(above)
        above = parent.epic if parent is not None else None
    return False
