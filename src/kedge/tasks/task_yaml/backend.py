"""Tasks in `tasks/*.task.yaml`, one per file, also in folders below, edited in place.

The files are the user's: a change touches the lines of what changed, and is kept only when the
file then says exactly what was meant.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from kedge.errors import BrokenTasks, ReadOnly, TaskExists
from kedge.host import files
from kedge.host.project import Project
from kedge.model.ids import TaskId
from kedge.model.task import FIELDS, Status, Task
from kedge.tasks import documents
from kedge.tasks.backend import Change, Listing
from kedge.tasks.documents import BOM
from kedge.tasks.task_yaml import fields
from kedge.tasks.task_yaml import write as writing
from kedge.tasks.task_yaml.edit import CannotEdit
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
        self._words: dict[Status, str] = {}

    def lock(self) -> AbstractContextManager[None]:
        path = Project(self.root, None).own("locks", "task_yaml.lock")
        return files.lock(path, timeout=self.lock_timeout)

    def read(self) -> Listing:
        tasks: list[Task] = []
        warnings: list[str] = []
        used: Counter[tuple[Status, str]] = Counter()
        self._paths = {}
        for path in self._files(self.directory, warnings):
            try:
                found = self._parse(path, documents.read(self.root, path))
            except BrokenTasks as error:
                warnings.append(error.message)
                continue
            task = found.task
            if task.id in self._paths:
                place = f"{self._shown(path)}:{found.line}"
                first = self._shown(self._paths[task.id])
                warnings.append(f"{place}: {task.id!r} is the id of {first} already")
                continue
            self._paths[task.id] = path
            tasks.append(task)
            if found.status_word:
                used[task.status, found.status_word] += 1
        # the word that most files use, so that other tools of the project go on reading them
        self._words = dict(sorted(used, key=lambda pair: (used[pair], pair[1])))
        return Listing(tuple(tasks), tuple(warnings))

    def write(self, changes: Sequence[Change]) -> None:
        documents.write_all([self._staged(change) for change in changes])

    def new_id(self, taken: Collection[str]) -> TaskId:
        # also the names of files that cannot be read, which a new task must not meet
        names = (path.name for path in self._files(self.directory, []))
        number = re.compile(re.escape(self.prefix) + r"-([0-9]{1,9})(?![0-9])")
        numbers = [int(m.group(1)) for name in (*taken, *names) if (m := number.match(name))]
        return TaskId(f"{self.prefix}-{max(numbers, default=0) + 1:04d}")

    def _staged(self, change: Change) -> tuple[Path, bytes | None, bytes]:
        """The file, its bytes, and the bytes that say what the change wants."""
        after = change.after
        old: bytes | None = None
        what = _difference(change)
        if change.before is None:
            path = self._new_path(after.id)
            new = writing.write(after, self._words).encode()
        else:
            path, old, new = self._edited(change.before, after, what)
        if len(new) > documents.MAX_BYTES:
            raise self._refused(path, what, "it would be too large to be read")
        try:
            said: Task | None = self._parse(path, new).task
        except BrokenTasks:
            said = None
        if said != after:
            raise self._refused(path, what, "it would not say what is meant")
        return path, old, new

    def _edited(self, before: Task, after: Task, what: str) -> tuple[Path, bytes, bytes]:
        if before.id not in self._paths:
            self.read()
        path = self._paths.get(before.id)
        if path is None:
            raise BrokenTasks(f"the file of the task {before.id!r} is gone", hint="try again")
        old = documents.read(self.root, path)
        if self._parse(path, old).task != before:
            raise BrokenTasks(
                f"{self._shown(path)} was changed by somebody else meanwhile", hint="try again"
            )
        text = old.decode()
        body = text.removeprefix(BOM)
        try:
            new = writing.edit(body, before, after, self._words)
        except (CannotEdit, BadYaml) as error:
            raise self._refused(path, what, str(error)) from error
        mark = BOM if body != text else ""
        return path, old, (mark + new).encode()

    def _refused(self, path: Path, what: str, why: str) -> ReadOnly:
        return ReadOnly(
            f"cannot {what} {self._shown(path)} safely: {why}", hint="edit the file by hand"
        )

    def _new_path(self, task_id: TaskId) -> Path:
        if documents.leads_out(self.root, self.directory):
            raise ReadOnly(f"{self._shown(self.directory)} leads out of the repository")
        for ending in ENDINGS:
            path = self.directory / (task_id + ending)
            if os.path.lexists(path):
                raise TaskExists(
                    f"there is a file {self._shown(path)} already", hint="choose another id"
                )
        return self.directory / (task_id + ENDINGS[0])

    def _files(self, directory: Path, warnings: list[str]) -> Iterator[Path]:
        """The task files in the order of their names; what cannot be looked at is a warning."""
        try:
            if documents.leads_out(self.root, directory):
                warnings.append(f"{self._shown(directory)}: leads out of the repository")
                return
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        except OSError as error:
            warnings.append(f"{self._shown(directory)}: {(error.strerror or str(error)).lower()}")
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            path = directory / entry.name
            if entry.name.endswith(ENDINGS):
                yield path
            elif entry.is_dir(follow_symlinks=False):
                yield from self._files(path, warnings)

    def _parse(self, path: Path, data: bytes) -> fields.Found:
        name = path.name
        for ending in ENDINGS:
            name = name.removesuffix(ending)
        text = documents.decode(self.root, path, data)
        try:
            return fields.read(text.removeprefix(BOM), name)
        except BadYaml as error:
            raise BrokenTasks(f"{self._shown(path)}:{error.line}: {error.problem}") from error

    def _shown(self, path: Path) -> str:
        return documents.shown(self.root, path)


def _difference(change: Change) -> str:
    before, after = change.before, change.after
    if before is None:
        return "write"
    names = [name for name in (*FIELDS, "extra") if getattr(before, name) != getattr(after, name)]
    return f"change {', '.join(names)} in"
