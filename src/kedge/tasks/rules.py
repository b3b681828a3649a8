"""The rules of tasks, as functions of values: what is ready, what may follow, what follows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kedge.errors import DependencyCycle, InvalidValue, TaskNotFound, WrongState
from kedge.model.ids import TaskId
from kedge.model.task import Block, Status, Task, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Tasks = Mapping[TaskId, Task]
EPIC = "epic"
EPIC_DONE = "all its tasks are done"

_DIGITS = re.compile(r"(\d+)")


def order(task: Task) -> tuple[str, list[tuple[int, str]]]:
    """Oldest first; the same moment in the natural order of ids (T2 before T10)."""
    parts = _DIGITS.split(task.id)
    natural = [(int(part), "") if part.isdigit() else (0, part) for part in parts]
    return task.created_at or "", natural


def find(tasks: Tasks, task_id: str) -> Task:
    task = tasks.get(TaskId(task_id))
    if task is None:
        raise TaskNotFound(f"no task {task_id!r}", hint=_nearest(task_id, tasks))
    return task


def children(tasks: Tasks, epic: str) -> list[Task]:
    return [task for task in tasks.values() if task.epic == epic]


def waiting_for(tasks: Tasks, task: Task) -> list[str]:
    """Why a task that is open cannot be started; empty when it can."""
    reasons = []
    for holder in (task, *_above(tasks, task)):
        through = "" if holder is task else f"its epic {holder.id} "
        for other in holder.depends_on:
            needed = tasks.get(other)
            state = "does not exist" if needed is None else f"is {needed.status.value}"
            if needed is None or needed.status is not Status.DONE:
                reasons.append(f"{through}waits for {other}, which {state}")
        if holder is not task and holder.status in (Status.BLOCKED, Status.FAILED):
            reasons.append(f"{through}is {holder.status.value}")
    return reasons


def ready(tasks: Tasks) -> list[Task]:
    """Tasks that can be started, most urgent first, then in the order in which they are given.

    Epics are done through their tasks.
    """
    found = [
        task
        for task in tasks.values()
        if task.status is Status.OPEN and task.type != EPIC and not waiting_for(tasks, task)
    ]
    return sorted(found, key=lambda task: task.priority)


def check_links(tasks: Tasks, new: Sequence[Task]) -> None:
    """Refuse epics and dependencies that do not exist or close a circle.

    Links that a task had before are left alone: other tools allow what kedge would refuse.
    """
    after = {**tasks, **{task.id: task for task in new}}
    for task in new:
        before = tasks.get(task.id)
        if task.epic is not None and (before is None or before.epic != task.epic):
            epic = find(after, task.epic)
            if epic.type != EPIC:
                raise InvalidValue(
                    f"{epic.id} is a {epic.type}, not an epic",
                    hint=f"kedge task update {epic.id} --type epic",
                )
        for other in task.depends_on:
            if before is None or other not in before.depends_on:
                find(after, other)
    path = _circle(after, [task.id for task in new])
    if path:
        raise DependencyCycle(
            "that would close a circle: " + " → ".join(path),
            hint="a task cannot wait for itself, nor for the epic that it is part of",
        )


def check_type(tasks: Tasks, task: Task) -> None:
    """Refuse to turn an epic that has tasks into something else."""
    below = children(tasks, task.id)
    if task.type != EPIC and below:
        raise WrongState(
            f"{task.id} is the epic of {_some([child.id for child in below])}",
            hint="move these tasks to another epic first",
        )


def claim(tasks: Tasks, task: Task, who: str, now: str, *, again: bool) -> Task:
    if task.status is Status.IN_PROGRESS and task.assignee == who:
        if again:
            return task
        raise WrongState(
            f"{task.id} is claimed by {who} already",
            hint="two agents of one user need names: kedge task claim ID --as NAME",
        )
    if task.status is Status.IN_PROGRESS:
        raise WrongState(
            f"{task.id} is claimed by {task.assignee or 'somebody'}",
            hint=f"kedge task ready lists others; kedge task reopen {task.id} releases it",
        )
    if task.type == EPIC:
        raise WrongState(
            f"{task.id} is an epic",
            hint=f"claim one of its tasks: kedge task list --epic {task.id}",
        )
    if task.status is not Status.OPEN:
        raise WrongState(f"{task.id} is {task.status.value}", hint=f"kedge task reopen {task.id}")
    reasons = waiting_for(tasks, task)
    if reasons:
        raise WrongState(f"{task.id} is not ready: it {reasons[0]}", hint="kedge task ready")
    return changed(task, status=Status.IN_PROGRESS, assignee=who, started_at=now)


def close(tasks: Tasks, task: Task, reason: str | None, now: str, *, failed: bool = False) -> Task:
    target = Status.FAILED if failed else Status.DONE
    if task.status is target:
        return task if reason is None else changed(task, close_reason=reason)
    if task.finished:
        raise WrongState(f"{task.id} is {task.status.value}", hint=f"kedge task reopen {task.id}")
    unfinished = [t.id for t in children(tasks, task.id) if t.status is not Status.DONE]
    if unfinished and not failed:
        raise WrongState(
            f"{task.id} has tasks that are not done: {_some(unfinished)}",
            hint="an epic closes when its last task does",
        )
    return changed(task, status=target, close_reason=reason, closed_at=now, blocked=None)


def block(task: Task, why: Block) -> Task:
    if task.finished:
        raise WrongState(f"{task.id} is {task.status.value}", hint=f"kedge task reopen {task.id}")
    return changed(task, status=Status.BLOCKED, blocked=why)


def reopen(task: Task) -> Task:
    if task.status is Status.OPEN:
        return task
    return changed(task, **_OPEN)


def settle(tasks: Tasks, epics: Iterable[str | None], now: str) -> list[Task]:
    """The epics that a change closes or opens again, from the nearest up."""
    current = dict(tasks)
    out: dict[TaskId, Task] = {}
    queue = [epic for epic in epics if epic]
    seen: set[str] = set()
    while queue:
        epic = current.get(TaskId(queue.pop(0)))
        if epic is None or epic.id in seen or epic.type != EPIC:
            continue
        seen.add(epic.id)
        below = children(current, epic.id)
        all_done = bool(below) and all(task.status is Status.DONE for task in below)
        after = epic
        if all_done and not epic.finished:
            after = changed(
                epic, status=Status.DONE, close_reason=EPIC_DONE, closed_at=now, blocked=None
            )
        elif epic.status is Status.DONE and below and not all_done:
            after = changed(epic, **_OPEN)
        if after is not epic:
            current[epic.id] = out[epic.id] = after
            if epic.epic:
                queue.append(epic.epic)
    return list(out.values())


_OPEN: dict[str, Any] = {
    "status": Status.OPEN,
    "blocked": None,
    "assignee": None,
    "started_at": None,
    "close_reason": None,
    "closed_at": None,
}


def _circle(tasks: Tasks, starts: Iterable[TaskId]) -> list[str]:
    """A circle of waiting that the tasks lead into, or an empty list."""
    below: dict[str, list[TaskId]] = {}
    for one in tasks.values():
        if one.epic:
            below.setdefault(one.epic, []).append(one.id)

    def waits(task: Task) -> Iterator[TaskId]:
        """An epic waits for its tasks, and a task for what its epics wait for."""
        yield from task.depends_on
        yield from below.get(task.id, ())
        for epic in _above(tasks, task):
            yield from epic.depends_on

    done: set[TaskId] = set()
    for start in starts:
        path: dict[TaskId, Iterator[TaskId]] = {}
        there: TaskId | None = start
        while there is not None or path:
            if there in path:
                steps = list(path)
                return [*steps[steps.index(there) :], there]
            if there is not None and there in tasks and there not in done:
                path[there] = waits(tasks[there])
            last = next(reversed(path), None)
            if last is None:
                break
            there = next(path[last], None)
            if there is None:
                done.add(last)
                del path[last]
    return []


def _above(tasks: Tasks, task: Task) -> list[Task]:
    """The epics that the task is part of, nearest first."""
    found: list[Task] = []
    while task.epic and (epic := tasks.get(task.epic)) is not None and epic not in found:
        found.append(epic)
        task = epic
    return found


def _some(ids: list[TaskId], most: int = 5) -> str:
    more = f" and {len(ids) - most} more" if len(ids) > most else ""
    return ", ".join(ids[:most]) + more


def _nearest(task_id: str, tasks: Tasks) -> str:
    from difflib import get_close_matches

    close = get_close_matches(task_id, list(tasks), n=1)
    return f"did you mean {close[0]!r}?" if close else "kedge task list shows all ids"
