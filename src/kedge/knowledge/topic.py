"""The topic of a log or a review: a task, possibly one of a feature's, or a whole feature."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kedge import config
from kedge.errors import FileError, TaskNotFound
from kedge.features import folders
from kedge.features.folders import FEATURES
from kedge.features.layouts import find_layout
from kedge.features.task_numbers import task_key
from kedge.features.tasks_file import parse_tasks
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.knowledge.feature_folders import feature_number
from kedge.model.ids import TaskId, is_id
from kedge.model.task import Status, Task
from kedge.settings import TaskSettings
from kedge.tasks import choose, rules
from kedge.tasks.board import Board

_DOCUMENTS = ("tasks.md", "plan.md", "design.md", "spec.md", "prd.md", ".meta.json")


@dataclass(frozen=True, slots=True)
class Topic:
    """`key` names its files below `.kedge`; `folder` is the feature's, relative to the root."""

    key: str
    folder: str | None = None
    task: str | None = None
    number: str = ""
    title: str = ""
    started_at: str | None = None
    ended: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.task or self.folder or self.key


def find_topic(
    project: Project,
    named: str,
    *,
    feature: str | None = None,
    settings: TaskSettings | None = None,
    here: Path | None = None,
) -> Topic:
    """Resolve a task's id, or a feature's folder or number; TaskNotFound if there is none.

    With `feature`, resolve one of that feature's tasks, by id or by its number there. Paths are
    relative to `here`.
    """
    board = Board(choose.open_backend(project, settings or config.load(project).settings.tasks))
    tasks = board.tasks()
    if feature is not None:
        folder = _find_folder(project, feature, here)
        topic = _feature_task_topic(project, tasks, folder, named)
    elif TaskId(named) not in tasks and (folder := _try_folder(project, named, here)):
        topic = _folder_topic(folder)
    else:
        topic = _task_topic(project, tasks, rules.find(tasks, named))
    return replace(topic, warnings=board.warnings)


def find_feature(project: Project, named: str, here: Path | None = None) -> Topic:
    """Resolve a feature's folder or number; FileError if there is none."""
    return _folder_topic(_find_folder(project, named, here))


def file_key(name: str) -> str:
    """Return a file name for a topic: the name if it is an id, else an id derived from it."""
    if is_id(name):
        return name
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:48]
    return f"{plain or 'topic'}-{digest([name.encode('utf-8', 'surrogatepass')])[:8]}"


def _task_topic(project: Project, tasks: Mapping[TaskId, Task], task: Task) -> Topic:
    ended = task.status not in (Status.OPEN, Status.IN_PROGRESS)
    topic = Topic(task.id, None, task.id, task.id, task.title, task.started_at, ended)
    above = rules.epics_of(tasks, task)
    epic = above[-1].id if above else task.epic or (task.id if task.type == rules.EPIC else None)
    paths = folders.list_features(project)
    path = next((path for path in paths if _belongs_to(path.name, epic)), None)
    if path is None:
        return topic
    folder = path.relative_to(project.root).as_posix()
    if not task.epic:
        return _folder_topic(folder)
    return replace(topic, folder=folder, number=task.id.removeprefix(f"{epic}-"))


def _folder_topic(folder: str) -> Topic:
    name = folder.removeprefix(f"{FEATURES}/").replace("/", "-")
    return Topic(file_key(name), folder)


def _feature_task_topic(
    project: Project, tasks: Mapping[TaskId, Task], folder: str, named: str
) -> Topic:
    """Find a task of the feature among the project's tasks, else in the feature's tasks.md."""
    wanted = task_key(named)
    for task in tasks.values():
        if task.epic and (named == task.id or _belongs_to(Path(folder).name, task.epic)):
            topic = _task_topic(project, tasks, task)
            if topic.folder == folder and (named == task.id or task_key(topic.number) == wanted):
                return topic
    text = folders.read_document(project.root, project.path(folder, folders.TASKS))
    layout = find_layout(project.root, project.path(folder))
    for section in parse_tasks(text or "", layout):
        if task_key(section.number) == wanted:
            name = Path(folder).name
            lead = name.partition("-")[0] if feature_number(name) is not None else name
            task_id = file_key(f"{lead}-{section.number}")
            return Topic(task_id, folder, task_id, section.number, section.title)
    raise TaskNotFound(
        f"no task {named!r} in {folder}/tasks.md", hint=f"kedge feature tasks {folder} lists them"
    )


def _find_folder(project: Project, named: str, here: Path | None) -> str:
    """Return a feature's folder, relative to the root, by path, name or number."""
    path = folders.find_feature(project, here or project.root, named)
    return path.relative_to(project.root).as_posix()


def _try_folder(project: Project, named: str, here: Path | None) -> str:
    """Return a feature's folder; empty if there is none, or no feature's document in it."""
    try:
        folder = _find_folder(project, named, here)
    except FileError:
        return ""
    path = project.root / folder
    is_feature = path.parent.name == "features" or any((path / n).exists() for n in _DOCUMENTS)
    return folder if is_feature else ""


def _belongs_to(folder: str, epic: str | None) -> bool:
    named = epic is not None and (folder == epic or folder.startswith(f"{epic}-"))
    return named or (epic is not None and folders.shorten_name(folder) == epic)
