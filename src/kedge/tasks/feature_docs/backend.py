"""Tasks in `docs/features/<id>-<slug>/tasks.md`: a feature is an epic, its headings are tasks.

The text is its author's. Of a task, kedge writes the state alone, as one line below its heading:
`**Status:** in progress (claimed by ada)`. A task that is a checkbox is ticked and unticked.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from kedge.errors import BrokenTasks, InvalidValue, ReadOnly
from kedge.host import files
from kedge.host.project import Project
from kedge.model.ids import TaskId
from kedge.model.task import FIELDS, MAX_TITLE, Block, Status, Task, checked
from kedge.tasks import documents
from kedge.tasks.backend import Change, Listing
from kedge.tasks.feature_docs import forms
from kedge.tasks.feature_docs import text as doc
from kedge.tasks.feature_docs.text import Section, parse_tasks
from kedge.tasks.rules import EPIC, EPIC_DONE
from kedge.tasks.words import status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["FeatureDocs", "parse_tasks"]

_NAME = re.compile(r"(?P<number>[0-9]+)-(?P<slug>.+)\Z")
_STATE = (
    *("status", "assignee", "blocked", "close_reason"),
    *("created_at", "updated_at", "started_at", "closed_at"),
)


@dataclass(frozen=True, slots=True)
class _Feature:
    """A document, what it says, and for each task its part and the line of its status."""

    path: Path
    data: bytes
    told: Status | None
    epic: Task
    tasks: dict[TaskId, Task]
    parts: dict[TaskId, tuple[Section, int | None]]


class FeatureDocs:
    name = "feature_docs"

    def __init__(self, root: Path, *, lock_timeout: float = 10.0) -> None:
        self.root = root
        self.directory = root / "docs" / "features"
        self.lock_timeout = lock_timeout

    def lock(self) -> AbstractContextManager[None]:
        path = Project(self.root, None).own("locks", "feature_docs.lock")
        return files.lock(path, timeout=self.lock_timeout)

    def read(self) -> Listing:
        warnings: list[str] = []
        features = self._features(warnings)
        tasks = (task for feature in features for task in (feature.epic, *feature.tasks.values()))
        return Listing(tuple(tasks), tuple(warnings))

    def write(self, changes: Sequence[Change]) -> None:
        features = self._features([])
        owners = {i: feature for feature in features for i in (feature.epic.id, *feature.tasks)}
        wanted: dict[TaskId, Task] = {}
        epics: list[tuple[_Feature, Task]] = []
        for change in changes:
            before, after = change.before, change.after
            feature = owners.get(after.id)
            if before is None:
                raise self._cannot_add(owners.get(after.epic) if after.epic else None)
            if feature is None or before not in (feature.epic, feature.tasks.get(after.id)):
                raise BrokenTasks(
                    f"the document of {after.id} was changed by somebody else meanwhile",
                    hint="try again",
                )
            self._check_fields(feature, before, after)
            if after.id == feature.epic.id:
                epics.append((feature, after))
            else:
                self._check_state(feature, before, after)
                wanted[after.id] = _kept(after)
        for feature, after in epics:
            self._check_epic(feature, after, {**feature.tasks, **wanted})
        staged = [self._staged(f, wanted) for f in features if wanted.keys() & f.tasks.keys()]
        documents.write_all(staged)

    def new_id(self, taken: Collection[str]) -> TaskId:  # noqa: ARG002 - the protocol's
        raise self._cannot_add(None)

    def _staged(self, feature: _Feature, wanted: dict[TaskId, Task]) -> tuple[Path, bytes, bytes]:
        text = feature.data.decode()
        after = {i: wanted.get(i, task) for i, task in feature.tasks.items()}
        for task_id in sorted(feature.tasks, key=lambda i: feature.parts[i][0].line, reverse=True):
            if after[task_id] != feature.tasks[task_id]:
                section, status = feature.parts[task_id]
                if section.kind == forms.TABLE:
                    raise self._by_hand(feature, after[task_id], f"the state of {task_id}, a row,")
                words = doc.render_state(after[task_id])
                text = doc.set_state(text, section, status, words)
        said, _ = self._tasks(feature.path, feature.epic.id, text, feature.told, [])
        if said != after:
            raise ReadOnly(
                f"cannot change {self._shown(feature.path)} safely: it would not say what is meant",
                hint="edit the file by hand",
            )
        return feature.path, feature.data, text.encode()

    def _check_fields(self, feature: _Feature, before: Task, after: Task) -> None:
        for field in (*FIELDS, "extra"):
            if field not in _STATE and getattr(before, field) != getattr(after, field):
                raise self._by_hand(feature, after, f"the {field} of {after.id}")

    def _check_state(self, feature: _Feature, before: Task, after: Task) -> None:
        """Refuse what one line of the document cannot hold."""
        claimed = after.status is Status.IN_PROGRESS
        if after.assignee not in (None, before.assignee) and not claimed:
            raise self._by_hand(feature, after, f"who has {after.id}, which is not in progress,")
        if after.blocked and after.status is not Status.BLOCKED:
            raise self._by_hand(feature, after, f"why {after.id}, which is not blocked, waits")
        if after.close_reason and not after.finished:
            raise self._by_hand(feature, after, f"why {after.id}, which is not closed, was closed")
        said = (after.assignee, after.close_reason, after.blocked and after.blocked.reason)
        if any(len(text.strip().splitlines()) > 1 for text in said if text):
            raise ReadOnly(
                f"the state of {after.id} is one line in {self._place(feature, after.id)}",
                hint="say it in one line",
            )

    def _check_epic(self, feature: _Feature, after: Task, tasks: dict[TaskId, Task]) -> None:
        """An epic's state is not kept: it follows. Refuse one that does not follow."""
        before = feature.epic
        done = bool(feature.tasks) and all(
            tasks[task_id].status is Status.DONE for task_id in feature.tasks
        )
        follows = Status.DONE if done else Status.OPEN
        follows = before.status if before.status is Status.FAILED else follows
        told = after.status in (before.status, follows)
        if not told or after.blocked or after.assignee:
            meta = self._shown(feature.path.with_name(".meta.json"))
            raise ReadOnly(
                f"the status of {after.id} follows from its tasks and from {meta}",
                hint=f"change its tasks, or the status in {meta}",
            )

    def _cannot_add(self, feature: _Feature | None) -> ReadOnly:
        place = "docs/features/<id>-<name>/tasks.md"
        if feature:
            last = feature.data.count(b"\n") + 1
            place = f"{self._shown(feature.path)}:{last}"
        return ReadOnly(
            "kedge adds no tasks to the documents of features",
            hint=f"write a heading '### Task 1.1: <title>' in {place}",
        )

    def _by_hand(self, feature: _Feature, task: Task, what: str) -> ReadOnly:
        place = self._place(feature, task.id)
        return ReadOnly(f"{what} cannot be changed by kedge here", hint=f"edit {place}")

    def _place(self, feature: _Feature, task_id: TaskId) -> str:
        line = feature.parts[task_id][0].line if task_id in feature.parts else 1
        return f"{self._shown(feature.path)}:{line}"

    def _features(self, warnings: list[str]) -> list[_Feature]:
        try:
            if documents.leads_out(self.root, self.directory):
                warnings.append(f"{self._shown(self.directory)}: leads out of the repository")
                return []
            paths = sorted(p for p in self.directory.iterdir() if os.path.lexists(p / "tasks.md"))
        except FileNotFoundError:
            return []
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            warnings.append(f"{self._shown(self.directory)}: {reason}")
            return []
        names = {path: _NAME.match(path.name) for path in paths}
        numbers = Counter(name["number"] for name in names.values() if name)
        features = []
        for path, name in names.items():
            if name is None:
                warnings.append(f"{self._shown(path)}: its name is not <number>-<name>")
                continue
            # two features with the same number are told apart by their whole names
            feature_id = name["number"] if numbers[name["number"]] == 1 else path.name
            try:
                features.append(self._feature(path, feature_id, name["slug"], warnings))
            except BrokenTasks as error:
                warnings.append(error.message)
        return features

    def _feature(self, path: Path, feature_id: str, slug: str, warnings: list[str]) -> _Feature:
        document = path / "tasks.md"
        data = documents.read(self.root, document)
        text = documents.decode(self.root, document, data)
        told = self._told(path / ".meta.json", warnings)
        tasks, parts = self._tasks(document, feature_id, text, told, warnings)
        done = len(tasks) > 0 and all(task.status is Status.DONE for task in tasks.values())
        derived = done and len(tasks) == len(parse_tasks(text))
        epic = Task(
            TaskId(feature_id),
            (doc.title_of(text) or self._title(path, warnings) or slug)[:MAX_TITLE],
            type=EPIC,
            status=told or (Status.DONE if derived else Status.OPEN),
            close_reason=EPIC_DONE if derived and not told else None,
        )
        try:
            return _Feature(document, data, told, checked(epic), tasks, parts)
        except InvalidValue as error:
            raise BrokenTasks(f"{self._shown(document)}: {error.message}") from error

    def _tasks(
        self, path: Path, feature_id: str, text: str, told: Status | None, warnings: list[str]
    ) -> tuple[dict[TaskId, Task], dict[TaskId, tuple[Section, int | None]]]:
        tasks: dict[TaskId, Task] = {}
        parts: dict[TaskId, tuple[Section, int | None]] = {}
        sections = parse_tasks(text)
        numbers = doc.numbers_of(sections)
        # nobody ticks what is left in a feature that is completed
        default = Status.DONE if told is Status.DONE else Status.OPEN
        for section in sections:
            try:
                task_id = TaskId(f"{feature_id}-{section.number}")
                if task_id in tasks:
                    raise InvalidValue(
                        f"{task_id!r} is the task of line {parts[task_id][0].line} already"
                    )
                body = doc.parse_body(section, feature_id, numbers, default)
                tasks[task_id] = checked(
                    Task(
                        task_id,
                        section.title,
                        epic=TaskId(feature_id),
                        description=body.description,
                        acceptance=body.acceptance,
                        depends_on=tuple(map(TaskId, body.needs)),
                        **body.state,
                    )
                )
                parts[task_id] = section, body.status_line
            except InvalidValue as error:
                warnings.append(f"{self._shown(path)}:{section.line}: {error.message}")
        return tasks, parts

    def _title(self, path: Path, warnings: list[str]) -> str | None:
        for name in ("spec.md", "prd.md"):
            text = self._optional(path / name, warnings)
            if text and (title := doc.title_of(text)):
                return title
        return None

    def _told(self, path: Path, warnings: list[str]) -> Status | None:
        """What the feature's own record says of its end, if it says so."""
        text = self._optional(path, warnings)
        if text is None:
            return None
        try:
            meta: Any = json.loads(text.removeprefix(documents.BOM))
        except (ValueError, RecursionError):
            warnings.append(f"{self._shown(path)}: it is not JSON")
            return None
        word = meta.get("status") if isinstance(meta, dict) else None
        status = status_of(word) if isinstance(word, str) else None
        return status if status in (Status.DONE, Status.FAILED) else None

    def _optional(self, path: Path, warnings: list[str]) -> str | None:
        if not os.path.lexists(path):
            return None
        try:
            return documents.decode(self.root, path, documents.read(self.root, path))
        except BrokenTasks as error:
            warnings.append(error.message)
            return None

    def _shown(self, path: Path) -> str:
        return documents.shown(self.root, path)


def _kept(task: Task) -> Task:
    """The task as the document holds it: no times, and of the state what its status asks for."""
    reason = (task.close_reason or "").strip() if task.finished else ""
    blocked = task.blocked and Block(task.blocked.type, task.blocked.reason.strip())
    return replace(
        task,
        assignee=task.assignee if task.status is Status.IN_PROGRESS else None,
        blocked=blocked if task.status is Status.BLOCKED else None,
        close_reason=reason or None,
        created_at=None,
        updated_at=None,
        started_at=None,
        closed_at=None,
    )
