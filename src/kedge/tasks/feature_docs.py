"""Tasks in the documents of features: a feature is an epic, and its headings or boxes are tasks.

A layout says where they are: `docs/features/<id>-<slug>/tasks.md`, or the folders of spec-kit and
Kiro. The text belongs to its author. kedge writes only a task's state: its box, and where that
cannot say it, one line under the task: `**Status:** in progress (claimed by ada)`.
`kedge.features` reads and writes the format.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from kedge.errors import BrokenTasks, InvalidValue, ReadOnly
from kedge.features.folders import META, TASKS, read_meta, shorten_name, try_document
from kedge.features.layouts import FEATURE_DOCS, Layout
from kedge.features.task_entries import Entries, read_entries, write_states
from kedge.features.tasks_file import find_title
from kedge.host import documents, files
from kedge.host.project import Project
from kedge.model.ids import TaskId
from kedge.model.status_words import status_of
from kedge.model.task import FIELDS, MAX_TITLE, Block, Status, Task, validate
from kedge.tasks.backend import TaskChange, TaskListing
from kedge.tasks.feature_cache import FeatureCache, ReadDocument, make_key
from kedge.tasks.rules import EPIC, EPIC_DONE

_NAME = re.compile(r"(?P<number>[0-9]+)-(?P<slug>.+)\Z")
_STATE = (
    *("status", "assignee", "blocked", "close_reason"),
    *("created_at", "updated_at", "started_at", "closed_at"),
)


@dataclass(frozen=True, slots=True)
class _Feature:
    """A feature's tasks.md; `ended` is the status in `.meta.json` if that says it has ended."""

    path: Path
    data: bytes
    ended: Status | None
    epic: Task
    tasks: dict[TaskId, Task]
    layout: Layout
    spec: str = ""  # the text of the spec, if its criteria are those of the tasks

    @property
    def default(self) -> Status:
        """The status of tasks without one: nobody ticks the rest of a completed feature."""
        return _default(self.ended)

    def read_entries(self) -> Entries:
        """Read where the tasks are in the document."""
        return self.parse(self.data.decode())

    def parse(self, text: str) -> Entries:
        """Read where the tasks are in a text in place of the document's."""
        return read_entries(text, self.epic.id, self.default, self.layout, self.spec)[0]


class FeatureDocs:
    """The backend of feature documents in one layout."""

    def __init__(
        self,
        root: Path,
        layout: Layout = FEATURE_DOCS,
        *,
        lock_timeout: float = 10.0,
        cache: Path | None = None,
    ) -> None:
        self.root = root
        self.layout = layout
        self.name = layout.name
        self.cache = cache
        self.directory = root / layout.directory
        self.lock_timeout = lock_timeout

    def lock(self) -> AbstractContextManager[None]:
        path = Project(self.root, None).own("locks", f"{self.name}.lock")
        return files.lock(path, timeout=self.lock_timeout)

    def read(self) -> TaskListing:
        warnings: list[str] = []
        features = self._read_features(warnings)
        tasks = (task for feature in features for task in (feature.epic, *feature.tasks.values()))
        return TaskListing(tuple(tasks), tuple(warnings))

    def write(self, changes: Sequence[TaskChange]) -> None:
        features = self._read_features([])
        owners = {i: feature for feature in features for i in (feature.epic.id, *feature.tasks)}
        wanted: dict[TaskId, Task] = {}
        epics: list[tuple[_Feature, Task]] = []
        for change in changes:
            before, after = change.before, change.after
            feature = owners.get(after.id)
            if before is None:
                raise self._refuse_new(owners.get(after.epic) if after.epic else None)
            if feature is None or before not in (feature.epic, feature.tasks.get(after.id)):
                raise BrokenTasks(
                    f"somebody else has changed the document of {after.id} in the meantime",
                    hint="try again",
                )
            self._check_fields(feature, before, after)
            if after.id == feature.epic.id:
                epics.append((feature, after))
            else:
                self._check_state(feature, before, after)
                wanted[after.id] = _reduce(after)
        for feature, after in epics:
            self._check_epic(feature, after, {**feature.tasks, **wanted})
        touched = (one for one in features if wanted.keys() & one.tasks.keys())
        documents.write_all(self.root, [self._change(feature, wanted) for feature in touched])

    def new_id(self, taken: Collection[str]) -> TaskId:  # noqa: ARG002 - the protocol's
        raise self._refuse_new(None)

    def _change(
        self, feature: _Feature, wanted: Mapping[TaskId, Task]
    ) -> tuple[Path, bytes, bytes]:
        """Return the path of a document, its bytes, and its bytes with the wanted tasks."""
        tasks = {i: wanted.get(i, task) for i, task in feature.tasks.items()}
        before = feature.read_entries()
        for task_id, entry in before.items():
            if entry.is_row and tasks[task_id] != entry.task:
                raise self._refuse(feature, task_id, f"the state of {task_id}, a table row,")
        text = write_states(feature.data.decode(), before, tasks, self.layout)
        entries = feature.parse(text)
        if {task_id: entry.task for task_id, entry in entries.items()} != tasks:
            raise ReadOnly(
                f"cannot change {self._display(feature.path)} safely: it would read differently",
                hint="edit the file by hand",
            )
        return feature.path, feature.data, text.encode()

    def _check_fields(self, feature: _Feature, before: Task, after: Task) -> None:
        """Refuse a change of anything but the state."""
        for field in (*FIELDS, "extra"):
            if field not in _STATE and getattr(before, field) != getattr(after, field):
                raise self._refuse(feature, after.id, f"the {field} of {after.id}")

    def _check_state(self, feature: _Feature, before: Task, after: Task) -> None:
        """Refuse a state that one line of the document cannot hold."""
        claimed = after.status is Status.IN_PROGRESS
        if after.assignee not in (None, before.assignee) and not claimed:
            what = f"the assignee of {after.id}, which is not in progress,"
            raise self._refuse(feature, after.id, what)
        if after.blocked and after.status is not Status.BLOCKED:
            what = f"the block of {after.id}, which is not blocked,"
            raise self._refuse(feature, after.id, what)
        if after.close_reason and not after.finished:
            what = f"the close reason of {after.id}, which is not closed,"
            raise self._refuse(feature, after.id, what)
        texts = (after.assignee, after.close_reason, after.blocked and after.blocked.reason)
        if any(len(text.strip().splitlines()) > 1 for text in texts if text):
            raise ReadOnly(
                f"the state of {after.id} must fit one line of {self._place(feature, after.id)}",
                hint="write it without line breaks",
            )

    def _check_epic(self, feature: _Feature, after: Task, tasks: Mapping[TaskId, Task]) -> None:
        """Refuse a state of an epic that does not follow from its tasks."""
        before = feature.epic
        done = bool(feature.tasks) and all(
            tasks[task_id].status is Status.DONE for task_id in feature.tasks
        )
        derived = Status.DONE if done else Status.OPEN
        derived = before.status if before.status is Status.FAILED else derived
        if after.status not in (before.status, derived) or after.blocked or after.assignee:
            meta = self._display(feature.path.with_name(META))
            raise ReadOnly(
                f"the status of {after.id} follows from its tasks and from {meta}",
                hint=f"change its tasks, or the status in {meta}",
            )

    def _refuse_new(self, feature: _Feature | None) -> ReadOnly:
        place = f"{self.layout.directory}/<id>-<name>/{TASKS}"
        if feature:
            last = feature.data.count(b"\n") + 1
            place = f"{self._display(feature.path)}:{last}"
        return ReadOnly(
            "kedge does not add tasks to the documents of features",
            hint=f"write {self.layout.example} in {place}",
        )

    def _refuse(self, feature: _Feature, task_id: TaskId, what: str) -> ReadOnly:
        place = self._place(feature, task_id)
        return ReadOnly(f"{what} cannot be changed by kedge here", hint=f"edit {place}")

    def _place(self, feature: _Feature, task_id: TaskId) -> str:
        entry = feature.read_entries().get(task_id)
        return f"{self._display(feature.path)}:{entry.section.line if entry else 1}"

    def _read_features(self, warnings: list[str]) -> list[_Feature]:
        try:
            if documents.is_outside(self.root, self.directory):
                warnings.append(f"{self._display(self.directory)}: leads out of the repository")
                return []
            paths = sorted(p for p in self.directory.iterdir() if os.path.lexists(p / TASKS))
        except FileNotFoundError:
            return []
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            warnings.append(f"{self._display(self.directory)}: {reason}")
            return []
        names = {path: _NAME.match(path.name) for path in paths}
        numbers = Counter(name["number"] for name in names.values() if name)
        features = []
        cache = FeatureCache(self.cache)
        for path, name in names.items():
            if name is None and not self.layout.is_foreign:
                warnings.append(f"{self._display(path)}: its name is not <number>-<name>")
                continue
            # features with the same number go by their whole names
            goes_by_number = name and self.layout.is_numbered and numbers[name["number"]] == 1
            whole = shorten_name(path.name) if self.layout.is_foreign else path.name
            feature_id = name["number"] if name and goes_by_number else whole
            slug = name["slug"] if name else path.name
            try:
                features.append(self._read_feature(path, feature_id, slug, warnings, cache))
            except BrokenTasks as error:
                warnings.append(error.message)
        cache.save()
        return features

    def _read_feature(
        self, folder: Path, feature_id: str, slug: str, warnings: list[str], cache: FeatureCache
    ) -> _Feature:
        path = folder / TASKS
        data = documents.read(self.root, path)
        text = documents.decode(self.root, path, data)
        word = read_meta(self.root, folder, warnings).get("status")
        status = status_of(word) if isinstance(word, str) else None
        ended = status if status in (Status.DONE, Status.FAILED) else None
        spec = self._read_spec(folder, warnings) if self.layout.has_criteria else ""
        default = _default(ended)
        key = make_key((self.name, feature_id, default.value, spec), data)
        read = cache.load(key)
        if read is None:
            made = read_entries(text, feature_id, default, self.layout, spec)
            found = tuple(one.task for one in made[0].values())
            read = ReadDocument(find_title(text), found, tuple(made[1]))
            cache.keep(key, read)
        title = read.title or self._find_title(folder, warnings) or slug
        epic = Task(TaskId(feature_id), title[:MAX_TITLE], type=EPIC, status=ended or Status.OPEN)
        try:
            tasks = {one.id: one for one in read.tasks}
            feature = _Feature(path, data, ended, validate(epic), tasks, self.layout, spec)
        except InvalidValue as error:
            raise BrokenTasks(f"{self._display(path)}: {error.message}") from error
        warnings += [f"{self._display(path)}:{line}: {message}" for line, message in read.problems]
        done = bool(tasks) and all(one.status is Status.DONE for one in read.tasks)
        if done and not ended and not read.problems:
            epic = replace(feature.epic, status=Status.DONE, close_reason=EPIC_DONE)
            return replace(feature, epic=epic)
        return feature

    def _find_title(self, folder: Path, warnings: list[str]) -> str | None:
        for name in self.layout.titles:
            text = try_document(self.root, folder / name, warnings)
            if text and (title := find_title(text)):
                return title
        return None

    def _read_spec(self, folder: Path, warnings: list[str]) -> str:
        names = self.layout.specs
        texts = (try_document(self.root, folder / name, warnings) for name in names)
        return next((text for text in texts if text is not None), "")

    def _display(self, path: Path) -> str:
        return documents.display_path(self.root, path)


def _default(ended: Status | None) -> Status:
    return Status.DONE if ended is Status.DONE else Status.OPEN


def _reduce(task: Task) -> Task:
    """Return the task as a document can hold it: no times, and only what its status needs."""
    said = task.finished and task.type != EPIC  # a group is done with its tasks, and says no more
    reason = (task.close_reason or "").strip() if said else ""
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
