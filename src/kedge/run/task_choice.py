"""Which task a run works on next, and which of its tasks are unfinished."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kedge.model.ids import TaskId
from kedge.model.task import Status, Task
from kedge.run.options import RunOptions
from kedge.tasks import rules

Tasks = Mapping[TaskId, Task]


def choose_task(tasks: Tasks, options: RunOptions, tried: Collection[str], run: str) -> Task | None:
    """Return the next ready task that this run has not tried; tasks it has claimed come first."""
    claimed = [
        task
        for task in tasks.values()
        if task.status is Status.IN_PROGRESS and task.assignee == run and task.id not in tried
    ]
    ready = [task for task in (*claimed, *rules.ready(tasks)) if task.id not in tried]
    if options.feature is not None:  # in the order of the document
        ready.sort(key=lambda task: list(tasks).index(task.id))
    return next((task for task in ready if is_selected(tasks, options, task)), None)


def is_selected(tasks: Tasks, options: RunOptions, task: Task) -> bool:
    """True if the options of the run include the task."""
    if options.task is not None:
        return task.id == options.task
    group = options.epic or options.feature
    if group is not None and not _is_below(tasks, task, group):
        return False
    return options.label is None or options.label in task.labels


def list_unfinished(tasks: Tasks, options: RunOptions) -> list[tuple[Task, str]]:
    """Return the selected tasks that are not done, each with the reason."""
    unfinished = []
    for task in tasks.values():
        if task.type == rules.EPIC or task.status is Status.DONE:
            continue
        if is_selected(tasks, options, task):
            waits = rules.find_obstacles(tasks, task)
            blocked = f"blocked: {task.blocked.reason}" if task.blocked else ""
            unfinished.append((task, blocked or (waits[0] if waits else task.status.value)))
    return unfinished


def _is_below(tasks: Tasks, task: Task, group: str) -> bool:
    """True if the epic is an ancestor of the task."""
    visited: set[str] = set()
    above = task.epic
    while above is not None and above not in visited:
        if above == group:
            return True
        visited.add(above)
        parent = tasks.get(above)
        above = parent.epic if parent is not None else None
    return False
