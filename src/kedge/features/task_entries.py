"""The tasks of a feature's `tasks.md` in kedge's model: read them, and write their states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kedge.errors import InvalidValue
from kedge.features import task_forms, tasks_file
from kedge.features.tasks_file import TaskSection
from kedge.model.ids import TaskId
from kedge.model.task import Status, Task, validate


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """A task, its part of the document, and the line of its status, if it has one."""

    task: Task
    section: TaskSection
    status_line: int | None

    @property
    def is_row(self) -> bool:
        """True for a row of a table, which cannot have a state."""
        return self.section.kind == task_forms.TABLE


Entries = dict[TaskId, TaskEntry]


def read_entries(
    text: str, feature_id: str, default: Status
) -> tuple[Entries, list[tuple[int, str]]]:
    """Return the tasks of a document, and the line and reason of each that is not valid.

    Tasks without a status have the default.
    """
    entries: Entries = {}
    problems = []
    sections = tasks_file.parse_tasks(text)
    numbers = tasks_file.index_numbers(sections)
    for section in sections:
        try:
            task_id = TaskId(f"{feature_id}-{section.number}")
            if task_id in entries:
                line = entries[task_id].section.line
                raise InvalidValue(f"{task_id!r} is already defined in line {line}")
            body = tasks_file.parse_body(section, feature_id, numbers, default)
            task = Task(
                task_id,
                section.title,
                epic=TaskId(feature_id),
                description=body.description,
                acceptance=body.acceptance,
                depends_on=tuple(map(TaskId, body.needs)),
                **body.state,
            )
            entries[task_id] = TaskEntry(validate(task), section, body.status_line)
        except InvalidValue as error:
            problems.append((section.line, error.message))
    return entries, problems


def write_states(text: str, entries: Entries, tasks: Mapping[TaskId, Task]) -> str:
    """Return the document with the states of these tasks."""
    changed = [entry for task_id, entry in entries.items() if tasks[task_id] != entry.task]
    for entry in sorted(changed, key=lambda entry: entry.section.line, reverse=True):
        words = tasks_file.render_state(tasks[entry.task.id])
        text = tasks_file.set_state(text, entry.section, entry.status_line, words)
    return text
