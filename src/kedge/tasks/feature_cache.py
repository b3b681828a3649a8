"""What was read from `tasks.md` files, by their content: reading 2,000 tasks takes a second.

Kept only where there are many tasks. A cache that is damaged, or cannot be written, is no fault:
the documents are read instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kedge.errors import KedgeError
from kedge.host import files
from kedge.host.digest import digest
from kedge.model.task import Task, parse

NAME = "feature_tasks.json"
# Increase when what is read from a document, or its format in the cache, changes.
VERSION = 2
_LEAST = 200  # tasks; fewer are read without a cache in no time


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document's title and tasks, and the line and reason of each task that is not valid."""

    title: str | None
    tasks: tuple[Task, ...]
    problems: tuple[tuple[int, str], ...]


class FeatureCache:
    """The cache of one repository; without a path it holds nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        self._used: dict[str, Any] = {}
        self._count = 0
        self._is_changed = False
        with suppress(KedgeError, ValueError, RecursionError):
            whole = json.loads((files.read_bytes(path) if path else None) or b"{}")
            if isinstance(whole, dict) and whole.get("version") == VERSION:
                self._known = dict(whole["files"])

    def load(self, key: str) -> ReadDocument | None:
        value = self._known.get(key)
        if value is None:
            return None
        try:
            tasks = tuple(parse(one) for one in value["tasks"])
            problems = tuple((int(line), str(why)) for line, why in value["problems"])
            document = ReadDocument(value["title"], tasks, problems)
        except (KedgeError, ValueError, TypeError, KeyError, AttributeError):
            return None
        self._used[key] = value
        self._count += len(tasks)
        return document

    def keep(self, key: str, document: ReadDocument) -> None:
        tasks = [
            {name: value for name, value in one.data().items() if value} for one in document.tasks
        ]
        self._used[key] = {
            "title": document.title,
            "tasks": tasks,
            "problems": [list(one) for one in document.problems],
        }
        self._count += len(tasks)
        self._is_changed = True

    def save(self) -> None:
        """Write what was used, and some that was not: other work trees share the cache."""
        if self._path is None or self._count < _LEAST or not self._is_changed:
            return
        others = [key for key in self._known if key not in self._used][: 2 * len(self._used)]
        kept = {**self._used, **{key: self._known[key] for key in others}}
        data = json.dumps({"version": VERSION, "files": kept}, separators=(",", ":"))
        with suppress(KedgeError):
            files.write_atomic(self._path, data.encode())


def make_key(others: Iterable[str], data: bytes) -> str:
    """Return the key of a document: its bytes, and what its tasks get from elsewhere."""
    return digest([*(text.encode() for text in others), data])
