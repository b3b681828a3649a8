"""Tasks in `tasks/*.task.yaml`, one per file, also in folders below, edited in place.

The files are the user's: a change touches the lines of what changed, and is kept only when the
file then says exactly what was meant.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from kedge.errors import BrokenTasks, FileError, KedgeError, ReadOnly, TaskExists
from kedge.host import files
from kedge.model.ids import TaskId
from kedge.model.task import Status, Task
from kedge.tasks import yaml_fields, yaml_write
from kedge.tasks.backend import Change, Listing
from kedge.tasks.yaml_edit import CannotEdit
from kedge.tasks.yaml_nodes import BadYaml

ENDINGS = (".task.yaml", ".task.yml")
MAX_BYTES = 8 << 20
_BOM = "\ufeff"


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
        path = self.root / ".kedge" / "locks" / "task_yaml.lock"
        return files.lock(path, timeout=self.lock_timeout)

    def read(self) -> Listing:
        tasks: list[Task] = []
        warnings: list[str] = []
        used: Counter[tuple[Status, str]] = Counter()
        self._paths = {}
        for path in self._files(self.directory, warnings):
            try:
                found = self._parse(path, self._bytes(path))
            except KedgeError as error:
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
        by_use = sorted(used, key=lambda item: (used[item], item[1]))
        self._words = dict(by_use)
        return Listing(tuple(tasks), tuple(warnings))

    def write(self, changes: Sequence[Change]) -> None:
        staged = [self._staged(change) for change in changes]
        written: list[tuple[Path, bytes | None]] = []
        try:
            for path, old, new in staged:
                written.append((path, old))
                files.write_atomic(path, new)
        except BaseException:
            for path, old in reversed(written):
                _put_back(path, old)
            raise

    def new_id(self, taken: Collection[str]) -> TaskId:
        # also the names of files that cannot be read, which a new task must not meet
        names = (path.name for path in self._files(self.directory, []))
        number = re.compile(re.escape(self.prefix) + r"-([0-9]{1,9})(?![0-9])")
        numbers = [int(m.group(1)) for name in (*taken, *names) if (m := number.match(name))]
        return TaskId(f"{self.prefix}-{max(numbers, default=0) + 1:04d}")

    def _staged(self, change: Change) -> tuple[Path, bytes | None, bytes]:
        """The file, its bytes, and the bytes that say what the change wants."""
        after = change.after
        if change.before is None:
            path = self._new_path(after.id)
            old, new = None, yaml_write.write(after, self._words).encode()
        else:
            path, old, new = self._edited(change.before, after)
        try:
            said: Task | None = self._parse(path, new).task
        except BrokenTasks:
            said = None
        if said != after:
            raise self._refused(path, "the file would not say what is meant")
        return path, old, new

    def _edited(self, before: Task, after: Task) -> tuple[Path, bytes, bytes]:
        if before.id not in self._paths:
            self.read()
        path = self._paths.get(before.id)
        if path is None:
            raise BrokenTasks(f"there is no file with the task {before.id!r} any more")
        old = self._bytes(path)
        if self._parse(path, old).task != before:
            raise BrokenTasks(
                f"{self._shown(path)} was changed by somebody else meanwhile", hint="try again"
            )
        text = old.decode()
        body = text.removeprefix(_BOM)
        try:
            new = yaml_write.edit(body, before, after, self._words)
        except (CannotEdit, BadYaml) as error:
            raise self._refused(path, str(error)) from error
        return path, old, (text[: len(text) - len(body)] + new).encode()

    def _refused(self, path: Path, why: str) -> ReadOnly:
        return ReadOnly(
            f"cannot change {self._shown(path)} safely: {why}", hint="edit the file by hand"
        )

    def _new_path(self, task_id: TaskId) -> Path:
        for ending in reversed(ENDINGS):
            path = self.directory / (task_id + ending)
            if os.path.lexists(path):
                raise TaskExists(
                    f"there is a file {self._shown(path)} already", hint="choose another id"
                )
        if self.directory.is_symlink() and not self._is_inside(self.directory):
            raise ReadOnly(f"{self._shown(self.directory)} leads out of the repository")
        return path

    def _files(self, directory: Path, warnings: list[str]) -> Iterator[Path]:
        """The task files, in the order of their paths; what cannot be looked at is a warning."""
        try:
            if directory.is_symlink() and not self._is_inside(directory):
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

    def _bytes(self, path: Path) -> bytes:
        shown = self._shown(path)
        try:
            if path.is_symlink() and not self._is_inside(path):
                raise BrokenTasks(f"{shown}: is a link that leads out of the repository")
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise BrokenTasks(f"{shown}: is not a file")
            if status.st_size > MAX_BYTES:
                raise BrokenTasks(f"{shown}: has more than {MAX_BYTES >> 20} MiB")
            return path.read_bytes()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise BrokenTasks(f"{shown}: cannot be read: {reason}") from error

    def _parse(self, path: Path, data: bytes) -> yaml_fields.Found:
        name = path.name
        for ending in ENDINGS:
            name = name.removesuffix(ending)
        try:
            return yaml_fields.read(data.decode().removeprefix(_BOM), name)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise BrokenTasks(f"{self._shown(path)}:{line}: it is not UTF-8") from error
        except BadYaml as error:
            raise BrokenTasks(f"{self._shown(path)}:{error.line}: {error.problem}") from error

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.root.resolve())

    def _shown(self, path: Path) -> str:
        return os.fsencode(path.relative_to(self.root).as_posix()).decode(errors="replace")


def _put_back(path: Path, old: bytes | None) -> None:
    with contextlib.suppress(FileError, OSError):
        if old is None:
            path.unlink(missing_ok=True)
        elif files.read_bytes(path) != old:
            files.write_atomic(path, old)
