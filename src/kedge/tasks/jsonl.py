"""The embedded backend: `.kedge/tasks.jsonl`, one task per line, so that git can merge it."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager

from kedge.errors import BrokenTasks, InvalidValue
from kedge.host import files, json_lines
from kedge.host.project import Project
from kedge.model.ids import TaskId
from kedge.model.task import Task, parse
from kedge.tasks.backend import TaskChange, TaskListing

FILE = "tasks.jsonl"
_BOM = b"\xef\xbb\xbf"
_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"  # no characters that look alike, as 0 and o do
MERGEABLE = b"tasks.jsonl merge=union\nledger/*.jsonl merge=union\n"


class Jsonl:
    """Lines of unchanged tasks keep their bytes; changed tasks keep their unknown fields."""

    name = "jsonl"

    def __init__(
        self, project: Project, *, prefix: str = "k", lock_timeout: float = files.LOCK_TIMEOUT
    ) -> None:
        self._project = project
        self._path = project.own(FILE)
        self._lock = project.own("locks", "tasks.lock")
        self._name = f".kedge/{FILE}"
        self._prefix = prefix
        self._timeout = lock_timeout

    def lock(self) -> AbstractContextManager[None]:
        return files.lock(self._lock, timeout=self._timeout)

    def read(self) -> TaskListing:
        lines = _lines(files.read_bytes(self._path) or b"")
        tasks, stale = self._current(lines)
        warnings = [
            f"{self._name}:{number + 1}: ignored an older version of {task_id!r}"
            for number, task_id in stale.items()
        ]
        return TaskListing(tuple(tasks[number] for number in sorted(tasks)), tuple(warnings))

    def write(self, changes: Sequence[TaskChange]) -> None:
        data = files.read_bytes(self._path)
        lines = _lines(data or b"")
        tasks, stale = self._current(lines)
        where = {task.id: number for number, task in tasks.items()}
        end = b"\r\n" if lines and lines[0].endswith(b"\r") else b"\n"
        changed = {change.after.id for change in changes}
        for change in changes:
            line = _encode(change.after) + end[:-1]
            number = where.get(change.after.id)
            if number is None:
                lines.append(line)
            else:
                lines[number] = line
        gone = {number for number, task_id in stale.items() if task_id in changed}
        body = b"".join(line + b"\n" for i, line in enumerate(lines) if i not in gone)
        mark = _BOM if (data or b"").startswith(_BOM) else b""
        if data is None:
            self._make_mergeable()
        files.write_atomic(self._path, mark + body, staging=self._lock.parent)

    def _make_mergeable(self) -> None:
        """Tell git to keep the lines of both sides when it merges this file or the ledger."""
        attributes = self._project.own(".gitattributes")
        if files.read_bytes(attributes) is None:
            files.write_atomic(attributes, MERGEABLE)

    def new_id(self, taken: Collection[str]) -> TaskId:
        length = 4
        while True:
            tail = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in os.urandom(length))
            if (task_id := f"{self._prefix}-{tail}") not in taken:
                return TaskId(task_id)
            length = min(length + 1, 12)

    def _current(self, lines: list[bytes]) -> tuple[dict[int, Task], dict[int, TaskId]]:
        """Return the tasks by line number, and the lines with older versions that a merge left."""
        tasks: dict[int, Task] = {}
        stale: dict[int, TaskId] = {}
        last: dict[TaskId, int] = {}
        for number, line in enumerate(lines):
            if not line.strip():
                continue
            task = self._task(number + 1, line)
            before = last.get(task.id)
            if before is not None:
                if (task.updated_at or "") < (tasks[before].updated_at or ""):
                    stale[number] = task.id
                    continue
                stale[before] = task.id
                del tasks[before]
            last[task.id] = number
            tasks[number] = task
        return tasks, stale

    def _task(self, number: int, line: bytes) -> Task:
        try:
            return parse(json_lines.decode(line))
        except InvalidValue as error:
            message = f"{self._name}:{number}: {error.message}"
            raise BrokenTasks(message, hint=error.hint) from error


def _lines(data: bytes) -> list[bytes]:
    body = data.removeprefix(_BOM)
    lines = body.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _encode(task: Task) -> bytes:
    values = {key: value for key, value in task.data().items() if value not in (None, "", [], ())}
    values.update(task.extra)
    return json_lines.encode(values)
