"""Tasks in Taskmaster's `.taskmaster/tasks/tasks.json`, or `tasks/tasks.json` of older versions.

The file belongs to Taskmaster: only the values that a change names are written, and only if the new
text reads as exactly the intended tasks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from kedge.errors import BrokenTasks, InvalidValue, ReadOnly
from kedge.host import documents, files, json_edit
from kedge.host.project import Project
from kedge.model.ids import TaskId
from kedge.model.task import Task
from kedge.tasks.backend import TaskChange, TaskListing
from kedge.tasks.task_master import edit
from kedge.tasks.task_master.document import (
    MASTER,
    Document,
    Entry,
    find_lists,
    join_id,
    load,
    read_document,
    write_id,
)

FILE, OLD_FILE, STATE = ".taskmaster/tasks/tasks.json", "tasks/tasks.json", ".taskmaster/state.json"


def is_present(root: Path) -> bool:
    """True if the project has tasks of Taskmaster; other programs have a tasks/tasks.json, too."""
    if (root / FILE).exists():
        return True
    try:
        text = documents.decode(root, root / OLD_FILE, documents.read(root, root / OLD_FILE))
        lists = find_lists(load(text))
    except (BrokenTasks, ValueError, RecursionError):
        return False
    return MASTER in lists and '"dependencies"' in text


class TaskMaster:
    """The backend of Taskmaster's file."""

    name = "task_master"

    def __init__(self, root: Path, *, lock_timeout: float = 10.0) -> None:
        self.root = root
        is_old = not (root / FILE).exists() and is_present(root)
        self.path = root / (OLD_FILE if is_old else FILE)
        self.lock_timeout = lock_timeout

    def lock(self) -> AbstractContextManager[None]:
        path = Project(self.root, None).own("locks", "task_master.lock")
        return files.lock(path, timeout=self.lock_timeout)

    def read(self) -> TaskListing:
        _, text = self._load()
        document = self._parse(text)
        warnings = tuple(f"{self._name}: {problem}" for problem in document.problems)
        return TaskListing(tuple(one.task for one in document.entries.values()), warnings)

    def write(self, changes: Sequence[TaskChange]) -> None:
        data, text = self._load()
        before = self._parse(text)
        wanted = {task_id: entry.task for task_id, entry in before.entries.items()}
        try:
            for change in changes:
                text = self._apply(text, change)
                wanted[change.after.id] = _reduce(change.after)
        except json_edit.BadJson as error:
            raise ReadOnly(f"{self._name}: {error}", hint="edit the file by hand") from error
        text = _pin(text, self._parse(text), wanted)
        found = {task_id: entry.task for task_id, entry in self._parse(text).entries.items()}
        if found != wanted:
            raise ReadOnly(
                f"cannot change {self._name} safely: it would read differently",
                hint="edit the file by hand",
            )
        documents.write_all(self.root, [(self.path, data, text.encode())])

    def new_id(self, taken: Collection[str]) -> TaskId:
        _, text = self._load()
        tag = self._find_tag(self._parse(text))
        prefix = join_id(tag, "")
        tails = (one.removeprefix(prefix) for one in taken if one.startswith(prefix))
        numbers = [int(tail) for tail in tails if tail.isdecimal() and len(tail) < 10]
        return TaskId(f"{prefix}{max(numbers, default=0) + 1}")

    def _apply(self, text: str, change: TaskChange) -> str:
        document = self._parse(text)
        if change.before is None:
            return self._add(text, document, _reduce(change.after))
        entry = document.entries.get(change.after.id)
        if entry is None or entry.task != change.before:
            raise BrokenTasks(
                f"{self._name} was changed by another process: {change.after.id}", hint="try again"
            )
        values = edit.make_values(entry, _reduce(change.after))
        return edit.apply(text, entry.names, entry.values, values)

    def _add(self, text: str, document: Document, task: Task) -> str:
        """Add a task to its tag, or as a subtask if its id says so."""
        epic = document.entries.get(task.epic) if task.epic else None
        inner = task.id.removeprefix(f"{epic.task.id}.") if epic else task.id
        if epic and inner != task.id and inner.isdigit():
            names, own, tag = (*epic.names, "subtasks"), inner, epic.tag
        else:
            tag, own = self._split_id(document, task.id)
            names, epic = document.lists.get(tag, (tag, "tasks")), None
        others = [one for one in document.entries.values() if one.names[:-1] == names]
        near = {write_id(one.values["id"]): one.task.id for one in others}
        far = {
            task_id.removeprefix(join_id(tag, "")): task_id
            for task_id, one in document.entries.items()
            if one.tag == tag
        }
        place = Entry(task, (*names, len(others)), tag, {"id": own}, epic, near, far)
        number = all(isinstance(one.values["id"], int) for one in others)
        value = edit.make_object(place, task, number=number)
        if not text.strip():
            return json_edit.document({tag: {"tasks": [value]}})
        return json_edit.append(text, names, value)

    def _split_id(self, document: Document, task_id: str) -> tuple[str, str]:
        """Return the tag that an id is in, and the id there."""
        for tag in document.lists:
            prefix = join_id(tag, "")
            if prefix and task_id.startswith(prefix):
                return tag, task_id.removeprefix(prefix)
        return MASTER, task_id

    def _find_tag(self, document: Document) -> str:
        """Return the tag that Taskmaster works in."""
        try:
            state = json.loads(documents.read(self.root, self.root / STATE))
            current = state["currentTag"]
        except (BrokenTasks, ValueError, RecursionError, KeyError, TypeError):
            current = MASTER
        return current if current in document.lists else MASTER

    def _load(self) -> tuple[bytes | None, str]:
        """Return the bytes of the file, None if there is none, and its text."""
        if not self.path.is_symlink() and not self.path.exists():
            return None, ""
        data = documents.read(self.root, self.path)
        return data, documents.decode(self.root, self.path, data)

    def _parse(self, text: str) -> Document:
        if not text.strip():
            return Document()
        try:
            document = read_document(text)
        except (ValueError, RecursionError) as error:
            line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
            raise BrokenTasks(f"{self._name}{line}: it is not JSON") from error
        except InvalidValue as error:
            raise BrokenTasks(f"{self._name}: {error.message}") from error
        if not document.lists:
            raise BrokenTasks(
                f"{self._name}: there is no list of tasks in it", hint="task-master init"
            )
        return document

    @property
    def _name(self) -> str:
        return documents.display_path(self.root, self.path)


def _pin(text: str, document: Document, wanted: Mapping[TaskId, Task]) -> str:
    """Write the status of subtasks that had none and would follow the new one of their task."""
    for task_id, entry in document.entries.items():
        if "status" not in entry.values and entry.task != wanted.get(task_id, entry.task):
            values = edit.make_values(entry, wanted[task_id])
            text = edit.apply(text, entry.names, entry.values, values)
    return text


def _reduce(task: Task) -> Task:
    """Return the task as the file holds it: of its times, only when kedge added it."""
    return replace(task, updated_at=None, started_at=None, closed_at=None)
