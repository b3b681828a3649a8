"""The backend for `tasks/**/*.task.yaml`, one task per file, edited in place.

The files belong to the user: a change touches only the lines of the changed values, and is written
only if the new text parses to exactly the intended task.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from kedge.errors import BrokenTasks, ReadOnly, TaskExists
from kedge.host import documents, files
from kedge.host.digest import digest
from kedge.host.documents import BOM
from kedge.host.project import Project
from kedge.model.ids import TaskId, is_id
from kedge.model.task import FIELDS, Status, Task
from kedge.tasks.backend import TaskChange, TaskListing
from kedge.tasks.task_yaml import fields
from kedge.tasks.task_yaml import write as writing
from kedge.tasks.task_yaml.edit import YamlEditError
from kedge.tasks.task_yaml.nodes import BadYaml

ENDINGS = (".task.yaml", ".task.yml")


class TaskYaml:
    name = "task_yaml"

    def __init__(self, root: Path, *, prefix: str = "TASK", lock_timeout: float = 10.0) -> None:
        self.root = root
        self.directory = root / "tasks"
        self.prefix = prefix
        self.lock_timeout = lock_timeout
        self._paths: dict[TaskId, Path] = {}
        self._qualified: dict[Path, TaskId] = {}  # files whose id another file has, too
        self._status_words: dict[Status, str] = {}

    def lock(self) -> AbstractContextManager[None]:
        path = Project(self.root, None).own("locks", "task_yaml.lock")
        return files.lock(path, timeout=self.lock_timeout)

    def read(self) -> TaskListing:
        warnings, notes = list[str](), list[str]()
        self._qualified = {}
        read: list[tuple[Path, fields.TaskFile]] = []
        for path in self._files(self.directory, warnings):
            try:
                read.append((path, self._parse(path, documents.read(self.root, path))))
            except BrokenTasks as error:
                warnings.append(error.message)
        files_of: dict[TaskId, list[tuple[Path, fields.TaskFile]]] = {}
        for path, file in sorted(read, key=lambda pair: pair[1].task.finished):
            files_of.setdefault(file.task.id, []).append((path, file))
        self._paths = {task_id: pairs[0][0] for task_id, pairs in files_of.items()}
        for (first, _), *others in files_of.values():
            for path, file in others:
                message = f"{self._name(path)}:{file.line}: {self._name(first)} has the id "
                message += f"{file.task.id!r} already"
                if file.task.finished:
                    notes.append(f"{message}; it is listed as {self._add_finished(path, file)}")
                else:
                    warnings.append(message)
        tasks = self._list_tasks(read)
        used = Counter((f.task.status, f.status_word) for _, f in read if f.status_word)
        # the word that most files use, so that the project's other tools can still read them
        words = sorted(used, key=lambda pair: (used[pair], pair[1]))
        self._status_words = {status: word for status, word in words if word}
        return TaskListing(tuple(tasks), tuple(warnings), tuple(notes))

    def _add_finished(self, path: Path, file: fields.TaskFile) -> TaskId:
        """Give a finished task, whose id another file has too, an id of its own; return it."""
        own = self._qualify(path, file.task.id)
        self._qualified[path], self._paths[own] = own, path
        return own

    def _qualify(self, path: Path, task_id: TaskId) -> TaskId:
        """Return an id that has the file's directory and name."""
        relative = path.relative_to(self.directory)
        name = relative.name
        for ending in ENDINGS:
            name = name.removesuffix(ending)
        parts = [*relative.parts[:-1], name, *([] if task_id in name else [task_id])]
        own = re.sub(r"[^A-Za-z0-9_-]+", "-", "_".join(parts)).strip("-_")
        if not is_id(own) or TaskId(own) in self._paths:
            own = f"{task_id[:48]}_{digest([relative.as_posix().encode()])[:8]}"
        return TaskId(own)

    def _list_tasks(self, read: Sequence[tuple[Path, fields.TaskFile]]) -> Iterator[Task]:
        """Yield the tasks that have an id of their own, in the order of their files."""
        for path, file in read:
            own = self._qualified.get(path, file.task.id)
            if self._paths[own] == path:
                yield replace(file.task, id=own)

    def write(self, changes: Sequence[TaskChange]) -> None:
        documents.write_all(self.root, [self._prepare(change) for change in changes])

    def new_id(self, taken: Collection[str]) -> TaskId:
        # names of unreadable files count as well: a new file must not collide with one
        names = (path.name for path in self._files(self.directory, []))
        number = re.compile(re.escape(self.prefix) + r"-([0-9]{1,9})(?![0-9])")
        numbers = [int(m.group(1)) for name in (*taken, *names) if (m := number.match(name))]
        return TaskId(f"{self.prefix}-{max(numbers, default=0) + 1:04d}")

    def _prepare(self, change: TaskChange) -> tuple[Path, bytes | None, bytes]:
        """Return the file, its current bytes, and its bytes after the change."""
        after = change.after
        old: bytes | None = None
        what = _difference(change)
        if change.before is None:
            path = self._new_path(after.id)
            new = writing.write(after, self._status_words).encode()
        else:
            path, old, new = self._edit(change.before, after, what)
        if len(new) > documents.MAX_BYTES:
            raise self._error(path, what, f"it would exceed {documents.MAX_BYTES >> 20} MiB")
        try:
            result: Task | None = self._parse(path, new).task
        except BrokenTasks:
            result = None
        if result != after:
            raise self._error(path, what, "the result would not parse to the intended task")
        return path, old, new

    def _edit(self, before: Task, after: Task, what: str) -> tuple[Path, bytes, bytes]:
        if before.id not in self._paths:
            self.read()
        path = self._paths.get(before.id)
        if path is None:
            raise BrokenTasks(f"the file of the task {before.id!r} is gone", hint="try again")
        if path in self._qualified and not after.finished:
            raise ReadOnly(
                f"{self._name(path)} cannot be reopened: another task has its id",
                hint="give it an id of its own in the file",
            )
        old = documents.read(self.root, path)
        if self._parse(path, old).task != before:
            raise BrokenTasks(
                f"{self._name(path)} was changed by another process", hint="try again"
            )
        text = old.decode()
        body = text.removeprefix(BOM)
        try:
            new = writing.edit(body, before, after, self._status_words)
        except (YamlEditError, BadYaml) as error:
            raise self._error(path, what, str(error)) from error
        mark = BOM if body != text else ""
        return path, old, (mark + new).encode()

    def _error(self, path: Path, what: str, why: str) -> ReadOnly:
        return ReadOnly(
            f"cannot {what} {self._name(path)} safely: {why}", hint="edit the file by hand"
        )

    def _new_path(self, task_id: TaskId) -> Path:
        if documents.is_outside(self.root, self.directory):
            raise ReadOnly(f"{self._name(self.directory)} leads out of the repository")
        for ending in ENDINGS:
            path = self.directory / (task_id + ending)
            if os.path.lexists(path):
                raise TaskExists(
                    f"the file {self._name(path)} exists already", hint="choose another id"
                )
        return self.directory / (task_id + ENDINGS[0])

    def _files(self, directory: Path, warnings: list[str]) -> Iterator[Path]:
        """Yield the task files, sorted by name. Adds a warning for each unreadable directory."""
        try:
            if documents.is_outside(self.root, directory):
                warnings.append(f"{self._name(directory)}: leads out of the repository")
                return
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        except OSError as error:
            warnings.append(f"{self._name(directory)}: {(error.strerror or str(error)).lower()}")
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            path = directory / entry.name
            if entry.name.endswith(ENDINGS):
                yield path
            elif entry.is_dir(follow_symlinks=False):
                yield from self._files(path, warnings)

    def _parse(self, path: Path, data: bytes) -> fields.TaskFile:
        name = path.name
        for ending in ENDINGS:
            name = name.removesuffix(ending)
        text = documents.decode(self.root, path, data)
        try:
            file = fields.read(text.removeprefix(BOM), name)
        except BadYaml as error:
            raise BrokenTasks(f"{self._name(path)}:{error.line}: {error.problem}") from error
        own = self._qualified.get(path)
        return file if own is None else replace(file, task=replace(file.task, id=own))

    def _name(self, path: Path) -> str:
        return documents.display_path(self.root, path)


def _difference(change: TaskChange) -> str:
    """Return what the change does to its file, as a verb phrase for messages."""
    before, after = change.before, change.after
    if before is None:
        return "write"
    names = [name for name in (*FIELDS, "extra") if getattr(before, name) != getattr(after, name)]
    return f"change {', '.join(names)} in"
