"""The board: tasks by what can happen to them next, and the graph of what waits for what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kedge.model.task import Status
from kedge.tasks import rules
from kedge.web.task_graph import draw_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.model.task import Task
    from kedge.web.routes import Target
    from kedge.web.source import Source

_MOST = 60  # tasks of a column


@dataclass(frozen=True, slots=True)
class TaskCard:
    """A task on the board; `note` says why it is where it is."""

    task: Task
    note: str
    is_unproven: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """The tasks of one kind; the first of them, and how many there are."""

    name: str
    cards: Sequence[TaskCard]
    count: int


def load(source: Source, target: Target) -> tuple[str, dict[str, Any]]:
    tasks = source.tasks
    words = target.text("q").lower().split()
    epics = [task for task in tasks.values() if task.type == rules.EPIC]
    epic = target.choice("epic", tuple(str(one.id) for one in epics))
    shown = [
        task
        for task in tasks.values()
        if (not epic or task.epic == epic)
        and all(word in f"{task.id} {task.title} {task.description}".lower() for word in words)
    ]
    return "tasks.html", {
        "title": "Tasks",
        "columns": build_columns(tasks, shown),
        "graph": draw_tasks(shown),
        "epics": epics,
        "epic": epic,
        "words": target.text("q"),
        "count": len(tasks),
        "done": {
            one.id: sum(task.status is Status.DONE for task in rules.children(tasks, one.id))
            for one in epics
        },
        "of": {one.id: len(rules.children(tasks, one.id)) for one in epics},
    }


def build_columns(tasks: rules.Tasks, shown: Sequence[Task]) -> list[Column]:
    """Return the columns of the board, from what can start to what is over."""
    found: dict[str, list[TaskCard]] = {
        name: [] for name in ("ready", "waiting", "in progress", "blocked", "failed", "done")
    }
    for task in sorted(shown, key=lambda one: one.priority):
        if task.type == rules.EPIC:
            continue
        name, note = _find_place(tasks, task)
        found[name].append(TaskCard(task, note, rules.UNPROVEN in task.labels))
    found["done"].sort(key=lambda card: card.task.closed_at or "", reverse=True)
    return [Column(name, cards[:_MOST], len(cards)) for name, cards in found.items()]


def _find_place(tasks: rules.Tasks, task: Task) -> tuple[str, str]:
    if task.status is Status.OPEN:
        obstacles = rules.find_obstacles(tasks, task)
        return ("waiting", obstacles[0]) if obstacles else ("ready", "")
    if task.status is Status.IN_PROGRESS:
        return "in progress", f"claimed by {task.assignee}" if task.assignee else ""
    if task.status is Status.BLOCKED:
        why = task.blocked
        return "blocked", f"{why.type.value}: {why.reason}" if why else ""
    return task.status.value, task.close_reason or ""
