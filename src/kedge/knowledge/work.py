"""What a retro is about: a feature's folder, an epic or one task, and the tasks that it has."""

from __future__ import annotations

from collections.abc import Mapping

from kedge.errors import InvalidValue, KedgeError
from kedge.host.record import NamedTuple
from kedge.knowledge import finished, observe, values
from kedge.knowledge.bank import Bank
from kedge.knowledge.entries import Entry
from kedge.knowledge.fields import PROVENANCE
from kedge.model.ids import TaskId
from kedge.model.task import Status, Task
from kedge.tasks import choose, rules
from kedge.tasks.board import Board

FEATURE, EPIC, TASK = "feature", "epic", "task"


class Work(NamedTuple):
    """`id` is the folder's name or the task's id. `place` is where things are observed: the same,
    or for an epic, which is no part of the order of completion, its task that was finished last."""

    kind: str
    id: str
    place: str
    title: str
    tasks: tuple[Task, ...] = ()
    folder: str = ""  # of the feature that it is, or is part of, from the root

    @property
    def label(self) -> str:
        """The place as an entry names it."""
        return observe.label(self.place) if self.kind == FEATURE else f"Task {self.place}"

    @property
    def open_tasks(self) -> list[Task]:
        return [task for task in self.tasks if not task.finished]

    def first_saw(self, entry: Entry) -> bool:
        """Whether the entry was learned in this very work, which so cannot confirm it."""
        seen = values.seen(entry.value(PROVENANCE) or None)
        if not seen.refs:
            return False
        if seen.kind == values.FEATURE:
            mine = (self.id,) if self.kind == FEATURE else ()
            return all(finished.find(ref, mine) is not None for ref in seen.refs)
        return {*seen.refs} <= {self.id, *(task.id for task in self.tasks)}


def find(bank: Bank, named: str) -> Work:
    """The feature or the task that is named; a folder's whole name or a task's id comes first."""
    word, _, rest = named.strip().partition(" ")
    said = word.lower().rstrip(":") if rest else ""
    bare = (rest.strip() if said in (FEATURE, EPIC, TASK) else named.strip()).lstrip("#")
    folders = finished.read(bank.project, bank.settings.tasks).folders
    tasks = _tasks(bank)
    folder = None if said in (EPIC, TASK) else _folder(bare, folders)
    task = None if said == FEATURE else tasks.get(TaskId(bare))
    if task is not None and task.type != rules.EPIC and folder != bare:
        folder = None
    if folder is not None:
        return _feature(bank, folder, tasks)
    if task is None:
        raise _unknown(named, folders, tasks)
    if task.type != rules.EPIC:
        above = finished.find(task.epic, folders) if task.epic else None
        return Work(TASK, task.id, task.id, task.title, (task,), _path(above))
    below = _below(tasks, {task.id})
    return Work(EPIC, task.id, _last(below) or task.id, task.title, below)


def _folder(named: str, folders: tuple[str, ...]) -> str | None:
    """By its path, its name, its number, or its name without the number."""
    path = named.removeprefix("./").rstrip("/")
    if "/" in path:
        path = path.removeprefix(f"{finished.FEATURES}/")
        return path if path in folders else None
    plain = path.isdecimal() or finished.number_of(path) is None
    return finished.find(path, folders) if plain or path in folders else None


def _feature(bank: Bank, folder: str, tasks: Mapping[TaskId, Task]) -> Work:
    names = {folder, folder.partition("-")[0]}
    epic = next((one for one in tasks.values() if one.id in names and one.type == rules.EPIC), None)
    below = _below(tasks, names)
    if not below and epic is None:
        from kedge.tasks.feature_docs.backend import FeatureDocs

        listed = {one.id: one for one in FeatureDocs(bank.project.root).read().tasks}
        epic = next((listed[TaskId(one)] for one in sorted(names) if one in listed), None)
        below = _below(listed, names)
    title = epic.title if epic is not None else folder
    return Work(FEATURE, folder, folder, title, below, _path(folder))


def _path(folder: str | None) -> str:
    return f"{finished.FEATURES}/{folder}" if folder else ""


def _tasks(bank: Bank) -> Mapping[TaskId, Task]:
    """All tasks; what cannot be read is a warning, since a feature may be known without them."""
    try:
        board = Board(choose.backend(bank.project, bank.settings.tasks))
        found = board.tasks()
        bank.warnings += board.warnings
        return found
    except KedgeError as error:
        bank.warnings.append(f"tasks cannot be read: {error.message}")
        return {}


def _below(tasks: Mapping[TaskId, Task], epics: set[str]) -> tuple[Task, ...]:
    """The tasks of the epics and of the epics in them, in their order; the epics themselves not."""
    known = set(epics)
    while (
        more := {t.id for t in tasks.values() if t.type == rules.EPIC and t.epic in known} - known
    ):
        known |= more
    return tuple(t for t in tasks.values() if t.epic in known and t.type != rules.EPIC)


def _last(tasks: tuple[Task, ...]) -> str:
    """The task that was finished last, or nothing."""
    done = [task for task in tasks if task.status is Status.DONE]
    return max(done, key=lambda task: (task.closed_at or "", task.id)).id if done else ""


def _unknown(named: str, folders: tuple[str, ...], tasks: Mapping[TaskId, Task]) -> InvalidValue:
    from difflib import get_close_matches

    near = get_close_matches(named, [*folders, *tasks], n=1, cutoff=0.5)
    hint = "ls docs/features and kedge task list show what there is"
    return InvalidValue(
        f"no feature or task {named[:80]!r}", hint=f"did you mean {near[0]}?" if near else hint
    )
