"""The subject of a retro: a feature, an epic or one task, with its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from kedge.errors import InvalidValue
from kedge.features.folders import FEATURES, list_folders
from kedge.knowledge.bank import values
from kedge.knowledge.bank.bank import Bank
from kedge.knowledge.bank.completions import read_tasks
from kedge.knowledge.bank.entries import Entry
from kedge.knowledge.bank.fields import PROVENANCE
from kedge.knowledge.feature_folders import feature_label, feature_number, match_folder
from kedge.model.ids import TaskId
from kedge.model.task import Status, Task
from kedge.tasks import rules
from kedge.tasks.feature_docs import FeatureDocs

FEATURE, EPIC, TASK = "feature", "epic", "task"


@dataclass(frozen=True, slots=True)
class Subject:
    """`id` is the folder's name or the task's id. `place` is what observations refer to: the same,
    but for an epic, which has no place in the order of completion, its task finished last."""

    kind: str
    id: str
    place: str
    title: str
    tasks: tuple[Task, ...] = ()
    folder: str = ""  # of the feature that it is or belongs to, relative to the root

    @property
    def label(self) -> str:
        """How knowledge entries refer to the subject."""
        return feature_label(self.place) if self.kind == FEATURE else f"Task {self.place}"

    @property
    def open_tasks(self) -> list[Task]:
        return [task for task in self.tasks if not task.finished]

    def is_origin_of(self, entry: Entry) -> bool:
        """True if the entry was learned in this work, which therefore cannot confirm it."""
        origin = values.parse_occasion(entry.value(PROVENANCE) or None)
        if not origin.refs:
            return False
        if origin.kind == values.FEATURE:
            mine = (self.id,) if self.kind == FEATURE else ()
            return all(match_folder(ref, mine) is not None for ref in origin.refs)
        return {*origin.refs} <= {self.id, *(task.id for task in self.tasks)}


def find_subject(bank: Bank, named: str) -> Subject:
    """Find a feature or task; a folder's full name or a task's id takes precedence."""
    word, _, rest = named.strip().partition(" ")
    kind = word.lower().rstrip(":") if rest else ""
    bare = (rest.strip() if kind in (FEATURE, EPIC, TASK) else named.strip()).lstrip("#")
    folders = tuple(path.name for path in list_folders(bank.project, FEATURES))
    tasks = read_tasks(bank.project, bank.settings.tasks, bank.warnings)
    folder = None if kind in (EPIC, TASK) else _find_folder(bare, folders)
    task = None if kind == FEATURE else tasks.get(TaskId(bare))
    if task is not None and task.type != rules.EPIC and folder != bare:
        folder = None
    if folder is not None:
        return _feature_subject(bank, folder, tasks)
    if task is None:
        near = get_close_matches(named, [*folders, *tasks], n=1, cutoff=0.5)
        hint = "ls docs/features and kedge task list show what there is"
        raise InvalidValue(
            f"no feature or task {named[:80]!r}", hint=f"did you mean {near[0]}?" if near else hint
        )
    if task.type != rules.EPIC:
        above = match_folder(task.epic, folders) if task.epic else None
        return Subject(TASK, task.id, task.id, task.title, (task,), _path(above))
    below = _tasks_below(tasks, {task.id})
    return Subject(EPIC, task.id, _last_finished(below) or task.id, task.title, below)


def _find_folder(named: str, folders: tuple[str, ...]) -> str | None:
    """Find a folder by its path, its name, its number, or its name without the number."""
    path = named.removeprefix("./").rstrip("/")
    if "/" in path:
        path = path.removeprefix(f"{FEATURES}/")
        return path if path in folders else None
    plain = path.isdecimal() or feature_number(path) is None
    return match_folder(path, folders) if plain or path in folders else None


def _feature_subject(bank: Bank, folder: str, tasks: Mapping[TaskId, Task]) -> Subject:
    names = {folder, folder.partition("-")[0]}
    epic = next((one for one in tasks.values() if one.id in names and one.type == rules.EPIC), None)
    below = _tasks_below(tasks, names)
    if not below and epic is None:
        listed = {one.id: one for one in FeatureDocs(bank.project.root).read().tasks}
        epic = next((listed[TaskId(one)] for one in sorted(names) if one in listed), None)
        below = _tasks_below(listed, names)
    title = epic.title if epic is not None else folder
    return Subject(FEATURE, folder, folder, title, below, _path(folder))


def _path(folder: str | None) -> str:
    return f"{FEATURES}/{folder}" if folder else ""


def _tasks_below(tasks: Mapping[TaskId, Task], epics: set[str]) -> tuple[Task, ...]:
    """Return the tasks of the epics and of the epics in them, in order, without the epics."""
    known = set(epics)
    while (
        more := {t.id for t in tasks.values() if t.type == rules.EPIC and t.epic in known} - known
    ):
        known |= more
    return tuple(t for t in tasks.values() if t.epic in known and t.type != rules.EPIC)


def _last_finished(tasks: tuple[Task, ...]) -> str:
    """Return the task that was finished last; empty if none was."""
    done = [(task.closed_at or "", task.id) for task in tasks if task.status is Status.DONE]
    return max(done, default=("", ""))[1]
