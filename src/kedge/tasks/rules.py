"""The rules of tasks as pure functions: what is ready, what is allowed, what follows from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kedge.errors import DependencyCycle, InvalidValue, TaskNotFound, WrongState
from kedge.model.ids import TaskId
from kedge.model.task import Block, Status, Task, replace_fields

Tasks = Mapping[TaskId, Task]
EPIC = "epic"
EPIC_DONE = "all its tasks are done"
UNPROVEN = "unproven"  # the label of a task that was closed although its checks were not green

_DIGITS = re.compile(r"(\d+)")
_MOST_SUGGESTED = 3


def sort_key(task: Task) -> tuple[str, list[str | int]]:
    """Return a key that sorts oldest first, and by natural order of ids (T2 before T10)."""
    parts = _DIGITS.split(task.id)  # text and digits take turns, so that like is compared to like
    return task.created_at or "", [int(part) if part.isdigit() else part for part in parts]


def find(tasks: Tasks, task_id: str) -> Task:
    task = tasks.get(TaskId(task_id))
    if task is None:
        raise TaskNotFound(f"no task {task_id!r}", hint=_suggest(task_id, tasks))
    return task


def children(tasks: Tasks, epic: str) -> list[Task]:
    return [task for task in tasks.values() if task.epic == epic]


def find_obstacles(tasks: Tasks, task: Task) -> list[str]:
    """Return why an open task cannot start, one phrase per reason; empty when it can.

    A task also waits for the dependencies of its epics.
    """
    reasons = []
    for holder in (task, *epics_of(tasks, task)):
        subject = "" if holder is task else f"its epic {holder.id} "
        for other in holder.depends_on:
            needed = tasks.get(other)
            state = "does not exist" if needed is None else f"is {needed.status.value}"
            if needed is None or needed.status is not Status.DONE:
                reasons.append(f"{subject}waits for {other}, which {state}")
        if holder is not task and holder.status in (Status.BLOCKED, Status.FAILED):
            reasons.append(f"{subject}is {holder.status.value}")
    return reasons


def ready(tasks: Tasks) -> list[Task]:
    """Return the tasks that can start, most urgent first, otherwise in the order given.

    Epics are never ready: they are done through their tasks.
    """
    startable = [
        task
        for task in tasks.values()
        if task.status is Status.OPEN and task.type != EPIC and not find_obstacles(tasks, task)
    ]
    return sorted(startable, key=lambda task: task.priority)


def check_links(tasks: Tasks, new: Sequence[Task]) -> None:
    """Refuse new links to epics or tasks that do not exist, and dependency cycles.

    Links that a task already has are not checked: other tools allow what kedge would refuse.
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
    path = _find_cycle(after, [task.id for task in new])
    if path:
        raise DependencyCycle(
            "dependency cycle: " + " → ".join(path),
            hint="a task cannot depend on itself or on the epic that it is part of",
        )


def check_type(tasks: Tasks, task: Task) -> None:
    """Refuse to change the type of an epic that has tasks."""
    below = children(tasks, task.id)
    if task.type != EPIC and below:
        raise WrongState(
            f"{task.id} is the epic of {_list_some([child.id for child in below])}",
            hint="move these tasks to another epic first",
        )


def claim(tasks: Tasks, task: Task, who: str, now: str, *, again: bool) -> Task:
    """Return the task claimed by `who`. `again` allows claiming one's own task a second time."""
    if task.status is Status.IN_PROGRESS and task.assignee == who:
        if again:
            return task
        raise WrongState(
            f"{task.id} is already claimed by {who}",
            hint="give each agent of one user a name: kedge task claim ID --as NAME",
        )
    if task.status is Status.IN_PROGRESS:
        raise WrongState(
            f"{task.id} is claimed by {task.assignee or 'somebody'}",
            hint=f"kedge task ready lists other tasks; kedge task reopen {task.id} releases it",
        )
    if task.type == EPIC:
        raise WrongState(
            f"{task.id} is an epic",
            hint=f"claim one of its tasks: kedge task list --epic {task.id}",
        )
    if task.status is not Status.OPEN:
        raise WrongState(f"{task.id} is {task.status.value}", hint=f"kedge task reopen {task.id}")
    reasons = find_obstacles(tasks, task)
    if reasons:
        raise WrongState(f"{task.id} is not ready: it {reasons[0]}", hint="kedge task ready")
    return replace_fields(task, status=Status.IN_PROGRESS, assignee=who, started_at=now)


def close(
    tasks: Tasks,
    task: Task,
    reason: str | None,
    now: str,
    *,
    failed: bool = False,
    unproven: bool = False,
) -> Task:
    """Return the task as done or failed. Only the reason of a closed task can still change.

    A task that is done and `unproven` has a label that says so.
    """
    target = Status.FAILED if failed else Status.DONE
    if task.status is target:
        return task if reason is None else replace_fields(task, close_reason=reason)
    if task.finished:
        raise WrongState(f"{task.id} is {task.status.value}", hint=f"kedge task reopen {task.id}")
    unfinished = [t.id for t in children(tasks, task.id) if t.status is not Status.DONE]
    if unfinished and not failed:
        raise WrongState(
            f"{task.id} has tasks that are not done: {_list_some(unfinished)}",
            hint="an epic closes when its last task does",
        )
    labels = (*_proven_labels(task), UNPROVEN) if unproven else _proven_labels(task)
    return replace_fields(
        task, status=target, close_reason=reason, closed_at=now, blocked=None, labels=labels
    )


def block(task: Task, why: Block) -> Task:
    if task.finished:
        raise WrongState(f"{task.id} is {task.status.value}", hint=f"kedge task reopen {task.id}")
    return replace_fields(task, status=Status.BLOCKED, blocked=why)


def reopen(task: Task) -> Task:
    if task.status is Status.OPEN:
        return task
    return replace_fields(task, **_OPEN, labels=_proven_labels(task))


def _proven_labels(task: Task) -> tuple[str, ...]:
    return tuple(one for one in task.labels if one != UNPROVEN)


def settle_epics(tasks: Tasks, epics: Iterable[str | None], now: str) -> list[Task]:
    """Return the epics that a change closes or reopens, innermost first."""
    current = dict(tasks)
    out: dict[TaskId, Task] = {}
    waiting = [current[TaskId(epic)] for epic in epics if epic and epic in current]
    seen: set[str] = set()
    while waiting:
        epic = max(waiting, key=lambda one: len(epics_of(tasks, one)))
        waiting.remove(epic)
        if epic.id in seen or epic.type != EPIC:
            continue
        seen.add(epic.id)
        below = children(current, epic.id)
        all_done = bool(below) and all(task.status is Status.DONE for task in below)
        after = epic
        if all_done and not epic.finished:
            after = replace_fields(
                epic, status=Status.DONE, close_reason=EPIC_DONE, closed_at=now, blocked=None
            )
        elif epic.status is Status.DONE and below and not all_done:
            after = replace_fields(epic, **_OPEN)
        if after is not epic:
            current[epic.id] = out[epic.id] = after
            if epic.epic in current:
                waiting.append(current[epic.epic])
    return list(out.values())


_OPEN: dict[str, Any] = {
    "status": Status.OPEN,
    "blocked": None,
    "assignee": None,
    "started_at": None,
    "close_reason": None,
    "closed_at": None,
}


def _find_cycle(tasks: Tasks, starts: Iterable[TaskId]) -> list[str]:
    """Return a dependency cycle that can be reached from `starts`, or an empty list."""
    below: dict[str, list[TaskId]] = {}
    for one in tasks.values():
        if one.epic:
            below.setdefault(one.epic, []).append(one.id)

    def needs(task: Task) -> Iterator[TaskId]:
        """An epic needs its tasks, and a task needs what its epics depend on."""
        yield from task.depends_on
        yield from below.get(task.id, ())
        for epic in epics_of(tasks, task):
            yield from epic.depends_on

    done: set[TaskId] = set()
    for start in starts:
        path: dict[TaskId, Iterator[TaskId]] = {}
        current: TaskId | None = start
        while current is not None or path:
            if current in path:
                steps = list(path)
                return [*steps[steps.index(current) :], current]
            if current is not None and current in tasks and current not in done:
                path[current] = needs(tasks[current])
            last = next(reversed(path), None)
            if last is None:
                break
            current = next(path[last], None)
            if current is None:
                done.add(last)
                del path[last]
    return []


def epics_of(tasks: Tasks, task: Task) -> list[Task]:
    """Return the epics that the task is part of, innermost first."""
    epics: list[Task] = []
    while task.epic and (epic := tasks.get(task.epic)) is not None and epic not in epics:
        epics.append(epic)
        task = epic
    return epics


def _list_some(ids: list[TaskId], most: int = 5) -> str:
    more = f" and {len(ids) - most} more" if len(ids) > most else ""
    return ", ".join(ids[:most]) + more


def _suggest(task_id: str, tasks: Tasks) -> str:
    from difflib import get_close_matches

    # 008-8.2 where two features have the number 008: 008-mooring-8.2
    same = [str(one) for one in tasks if _has_words(one, task_id)][:_MOST_SUGGESTED]
    close = same or get_close_matches(task_id, list(tasks), n=1)
    shown = " or ".join(map(repr, close))
    return f"did you mean {shown}?" if close else "kedge task list shows all ids"


def _has_words(task_id: str, wanted: str) -> bool:
    """True if the id has all words of another one, in the same order."""
    words = iter(task_id.split("-"))
    return "-" in wanted and all(word in words for word in wanted.split("-"))
