"""The embedded backend: `.kedge/tasks.jsonl`, one task a line, made to be merged by git."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any

from kedge.errors import BrokenTasks, InvalidValue
from kedge.host import files
from kedge.host.project import Project
from kedge.model.ids import TaskId
from kedge.model.task import Task, parse
from kedge.tasks.backend import Change, Listing

FILE = (".kedge", "tasks.jsonl")
LOCK = (".kedge", "locks", "tasks.lock")
_BOM = b"\xef\xbb\xbf"
_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"  # none that is read as another


class Jsonl:
    """Lines of tasks that did not change are kept byte by byte, unknown fields included."""

    name = "jsonl"

    def __init__(
        self, project: Project, *, prefix: str = "k", lock_timeout: float = files.LOCK_TIMEOUT
    ) -> None:
        self._path = project.path(*FILE)
        self._lock = project.path(*LOCK)
        self._shown = "/".join(FILE)
        self._prefix = prefix
        self._timeout = lock_timeout

    def lock(self) -> AbstractContextManager[None]:
        return files.lock(self._lock, timeout=self._timeout)

    def read(self) -> Listing:
        data = files.read_bytes(self._path) or b""
        return Listing(tuple(task for task in self._tasks(_lines(data)) if task is not None))

    def write(self, changes: Sequence[Change]) -> None:
        data = files.read_bytes(self._path) or b""
        lines = _lines(data)
        where = {task.id: i for i, task in enumerate(self._tasks(lines)) if task is not None}
        end = b"\r\n" if lines and lines[0].endswith(b"\r") else b"\n"
        for change in changes:
            line = _encode(change.after) + end[:-1]
            index = where.get(change.after.id)
            if index is None:
                lines.append(line)
            else:
                lines[index] = line
        body = b"".join(line + b"\n" for line in lines)
        files.write_atomic(self._path, (_BOM if data.startswith(_BOM) else b"") + body)

    def new_id(self, taken: Collection[str]) -> TaskId:
        length = 4
        while True:
            tail = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in os.urandom(length))
            if (found := f"{self._prefix}-{tail}") not in taken:
                return TaskId(found)
            length = min(length + 1, 12)

    def _tasks(self, lines: list[bytes]) -> list[Task | None]:
        """A task for each line, None for a blank one."""
        seen: dict[str, int] = {}
        found: list[Task | None] = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                found.append(None)
                continue
            task = self._task(number, line)
            if task.id in seen:
                raise self._broken(
                    number, f"{task.id!r} is on line {seen[task.id]} already", "keep one of the two"
                )
            seen[task.id] = number
            found.append(task)
        return found

    def _task(self, number: int, line: bytes) -> Task:
        if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
            raise self._broken(
                number, "a merge conflict", "keep the lines of both sides, remove the markers"
            )
        if b"\0" in line:
            raise self._broken(number, "a NUL byte", _RESTORE)
        try:
            value: Any = json.loads(line)
            if not isinstance(value, dict):
                raise self._broken(number, "not an object", "each line is one JSON object")
            return parse(value)
        except UnicodeDecodeError as error:
            raise self._broken(number, "not UTF-8", "save the file as UTF-8") from error
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "nested too deeply")
            raise self._broken(number, f"not JSON ({reason})", _RESTORE) from error
        except InvalidValue as error:
            raise self._broken(number, error.message, error.hint or _RESTORE) from error

    def _broken(self, number: int, reason: str, hint: str) -> BrokenTasks:
        return BrokenTasks(f"{self._shown}:{number}: {reason}", hint=hint)


_RESTORE = "mend that line, or take it from git (git show HEAD:.kedge/tasks.jsonl)"


def _lines(data: bytes) -> list[bytes]:
    body = data.removeprefix(_BOM)
    lines = body.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _encode(task: Task) -> bytes:
    values = {key: value for key, value in task.data().items() if value not in (None, "", [], ())}
    values.update(task.extra)
    return json.dumps(values, ensure_ascii=False, separators=(", ", ": ")).encode()
