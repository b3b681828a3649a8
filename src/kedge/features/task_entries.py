"""The tasks of a feature's `tasks.md` in kedge's model: read them, and write their states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kedge.errors import InvalidValue
from kedge.features import task_forms, tasks_file
from kedge.features.artifact import build_lexicon, parse_artifact
from kedge.features.feature_tasks import read_tasks
from kedge.features.layouts import FEATURE_DOCS, Layout
from kedge.features.references import SPEC
from kedge.features.tasks_file import TaskSection
from kedge.host.text import shorten
from kedge.model.ids import TaskId
from kedge.model.task import MAX_TITLE, Status, Task, validate

OPTIONAL, PARALLEL = "optional", "parallel"
_GROUP = "epic"  # the type of a task with subtasks


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
    text: str,
    feature_id: str,
    default: Status,
    layout: Layout = FEATURE_DOCS,
    spec: str = "",
) -> tuple[Entries, list[tuple[int, str]]]:
    """Return the tasks of a document, and the line and reason of each that is not valid.

    Tasks without a status have the default. `spec` is the text with the criteria they refer to.
    """
    entries: Entries = {}
    problems = []
    sections = tasks_file.parse_tasks(text, layout)
    numbers = tasks_file.index_numbers(sections)
    criteria = _read_criteria(text, layout, spec)
    for section in sections:
        try:
            task_id = TaskId(f"{feature_id}-{section.number}")
            if task_id in entries:
                line = entries[task_id].section.line
                raise InvalidValue(f"{task_id!r} is already defined in line {line}")
            body = tasks_file.parse_body(section, feature_id, numbers, default, layout)
            above = f"{feature_id}-{section.group}" if section.group else feature_id
            title = shorten(section.title, MAX_TITLE) if layout.is_foreign else section.title
            text_ = (section.title if title != section.title else "", body.description)
            task = Task(
                task_id,
                title,
                _GROUP if section.is_group else "task",
                priority="P4" if section.is_optional else "P2",
                epic=TaskId(above),
                labels=tuple(_list_labels(section)),
                description="\n\n".join(filter(None, text_)),
                acceptance=body.acceptance or criteria.get(section.number, ()),
                depends_on=tuple(map(TaskId, body.needs)),
                **body.state,
            )
            entries[task_id] = TaskEntry(validate(task), section, body.status_line)
        except InvalidValue as error:
            problems.append((section.line, error.message))
    _settle_groups(entries)
    return entries, problems


def _read_criteria(text: str, layout: Layout, spec: str) -> dict[str, tuple[str, ...]]:
    if not layout.has_criteria or not spec:
        return {}
    artifact = parse_artifact(SPEC, layout.specs[0], spec)
    found = read_tasks(text, build_lexicon([artifact]), layout, artifact)
    return {task.number: task.done_criteria for task in found}


def _list_labels(section: TaskSection) -> Iterator[str]:
    if section.story:
        yield f"US{section.story}"
    if section.is_parallel:
        yield PARALLEL
    if section.is_optional:
        yield OPTIONAL


def _settle_groups(entries: Entries) -> None:
    """Let a group be done if its subtasks are, whatever its own box says."""
    for task_id, entry in reversed(entries.items()):
        if entry.section.is_group:
            below = [one.task for one in entries.values() if one.task.epic == task_id]
            done = all(task.status is Status.DONE for task in below)
            task = replace(
                entry.task,
                status=Status.DONE if done else Status.OPEN,
                assignee=None,
                blocked=None,
                close_reason=None,
            )
            entries[task_id] = replace(entry, task=task)


def write_states(
    text: str, entries: Entries, tasks: Mapping[TaskId, Task], layout: Layout = FEATURE_DOCS
) -> str:
    """Return the document with the states of these tasks."""
    changed = [entry for task_id, entry in entries.items() if tasks[task_id] != entry.task]
    for entry in sorted(changed, key=lambda entry: entry.section.line, reverse=True):
        text = tasks_file.set_state(
            text, entry.section, entry.status_line, entry.task, tasks[entry.task.id], layout
        )
    return text
