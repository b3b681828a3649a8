"""Output of `kedge task`."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.cli.edge import Reply
from kedge.cli.plain import clean, table
from kedge.model.ids import TaskId
from kedge.model.task import Task
from kedge.tasks import rules
from kedge.tasks.board import BoardChange


def task_reply(result: BoardChange, text: str) -> Reply:
    """Return a changed task, with a line for each epic that changed with it."""
    return Reply(result.task.data(), "\n".join([text, *describe_epics(result)]), result.warnings)


def describe_epics(result: BoardChange) -> list[str]:
    return [f"epic {epic.id} is now {epic.status.value}" for epic in result.followed]


def list_reply(tasks: Sequence[Task], *, empty: str) -> Reply:
    def text() -> str:
        rows = [(t.id, describe_status(t), t.priority, t.type, t.title) for t in tasks]
        return table(("id", "status", "prio", "type", "title"), rows, empty=empty)

    return Reply(lambda: [task.data() for task in tasks], text)


def summarise(tasks: rules.Tasks, name: str) -> tuple[str, str, str]:
    """Return a task's id, status and title."""
    task = tasks.get(TaskId(name))
    return (name, describe_status(task), task.title) if task else (name, "missing", "")


def describe_status(task: Task) -> str:
    """Return the status, and whether a task that is done was proven."""
    word = task.status.value
    return f"{word}, {rules.UNPROVEN}" if rules.UNPROVEN in task.labels else word


def describe_task(tasks: rules.Tasks, task: Task) -> str:
    lines = [f"{task.id}  {task.title}", ""]
    status = describe_status(task)
    if task.assignee:
        status += f" (claimed by {task.assignee})"
    facts = [
        ("status", status),
        ("blocked", f"{task.blocked.type.value}: {task.blocked.reason}" if task.blocked else ""),
        ("reason", task.close_reason or ""),
        ("type", f"{task.type}, {task.priority}"),
        ("area", task.area or ""),
        ("labels", ", ".join(task.labels)),
        ("epic", task.epic or ""),
        ("waits for", ", ".join(task.depends_on)),
        ("needed by", ", ".join(t.id for t in tasks.values() if task.id in t.depends_on)),
        ("scope", ", ".join(task.scope_in)),
        ("excluded", ", ".join(task.scope_out)),
    ]
    lines += [f"{name + ':':<11}{value}" for name, value in facts if value]
    if task.description:
        lines += ["", task.description]
    if task.acceptance:
        lines += ["", "Acceptance criteria:", *(f"- {one}" for one in task.acceptance)]
    if task.checks:
        lines += ["", "Checks:", *(f"- {one}" for one in task.checks)]
    below = rules.children(tasks, task.id)
    if below:
        lines += ["", "Tasks:", *(f"- {t.id} ({describe_status(t)}) {t.title}" for t in below)]
    return clean("\n".join(lines))
