"""What a log or a review is about: a task, which may be one of a feature's, or a feature."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from kedge import config
from kedge.errors import FileError, TaskNotFound
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.knowledge.finished import FEATURES, number_of
from kedge.model.ids import TaskId, is_id
from kedge.model.task import Status, Task
from kedge.settings import TaskSettings
from kedge.tasks import choose, documents, rules
from kedge.tasks.board import Board
from kedge.tasks.feature_docs import forms
from kedge.tasks.feature_docs.text import parse_tasks

_DOCUMENTS = ("tasks.md", "plan.md", "design.md", "spec.md", "prd.md", ".meta.json")


class Topic(NamedTuple):
    """`key` names its files below `.kedge`; `folder` is the feature's, from the project's root."""

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


def find(
    project: Project,
    named: str,
    *,
    feature: str | None = None,
    settings: TaskSettings | None = None,
    here: Path | None = None,
) -> Topic:
    """What a name means: a task's id, a feature's folder or number; TaskNotFound if none.

    With `feature` it is one of that feature's tasks, also by its number there. Paths are looked
    for from `here`.
    """
    board = Board(choose.backend(project, settings or config.load(project).settings.tasks))
    tasks = board.tasks()
    if feature is not None:
        folder = _folder(project, feature, here, needed=True)
        found = _in_feature(project, tasks, folder, named)
    elif TaskId(named) not in tasks and (folder := _folder(project, named, here)):
        found = _of_folder(folder)
    else:
        found = _of_task(project, rules.find(tasks, named))
    return found._replace(warnings=board.warnings)


def of_feature(project: Project, named: str, here: Path | None = None) -> Topic:
    """A feature by its folder or number; FileError where there is none."""
    return _of_folder(_folder(project, named, here, needed=True))


def _of_task(project: Project, task: Task) -> Topic:
    ended = task.status not in (Status.OPEN, Status.IN_PROGRESS)
    made = Topic(task.id, None, task.id, task.id, task.title, task.started_at, ended)
    epic = task.epic or (task.id if task.type == rules.EPIC else None)
    folder = next((one for one in _folders(project) if _is_of(one, epic)), None) if epic else None
    if folder is None:
        return made
    if not task.epic:
        return _of_folder(f"{FEATURES}/{folder}")
    number = task.id.removeprefix(f"{task.epic}-")
    return made._replace(folder=f"{FEATURES}/{folder}", number=number)


def _of_folder(folder: str) -> Topic:
    name = folder.removeprefix(f"{FEATURES}/").replace("/", "-")
    return Topic(as_key(name), folder)


def as_key(name: str) -> str:
    """A name as that of a file: itself where it is an id, else an id that is like it."""
    if is_id(name):
        return name
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:48]
    return f"{plain or 'topic'}-{digest([name.encode('utf-8', 'surrogatepass')])[:8]}"


def _in_feature(project: Project, tasks: Mapping[TaskId, Task], folder: str, named: str) -> Topic:
    wanted = forms.key(named)
    for task in tasks.values():
        if task.epic and (named == task.id or _is_of(Path(folder).name, task.epic)):
            found = _of_task(project, task)
            if found.folder == folder and (named == task.id or forms.key(found.number) == wanted):
                return found
    path = project.path(folder, "tasks.md")
    text = ""
    if os.path.lexists(path):
        text = documents.decode(project.root, path, documents.read(project.root, path))
    for section in parse_tasks(text):
        if forms.key(section.number) == wanted:
            name = Path(folder).name
            lead = name.partition("-")[0] if number_of(name) is not None else name
            task_id = as_key(f"{lead}-{section.number}")
            return Topic(task_id, folder, task_id, section.number, section.title)
    raise TaskNotFound(
        f"no task {named!r} in {folder}/tasks.md", hint=f"kedge feature tasks {folder} lists them"
    )


def _folder(project: Project, named: str, here: Path | None, *, needed: bool = False) -> str:
    """A feature's folder from the root: by its path, its name or its number; '' for none."""
    root = Path(os.path.realpath(project.root))
    given = Path(os.path.realpath((here or project.root) / named)) if "\0" not in named else root
    inside = bool(named.strip()) and given != root and given.is_relative_to(root)
    if inside and given.is_dir() and (needed or _holds_documents(given)):
        return project.path(given.relative_to(root).as_posix()).relative_to(project.root).as_posix()
    names = _folders(project)
    bare = named.strip().lstrip("#")
    found = [one for one in names if one == named]
    if not found and re.fullmatch(r"[0-9]{1,9}", bare):
        found = [one for one in names if number_of(one) == int(bare)]
    if len(found) == 1:
        return f"{FEATURES}/{found[0]}"
    if needed or found:
        hint = f"it may be {', '.join(found)}" if found else f"the features are below {FEATURES}"
        raise FileError(f"no feature {named!r}", hint=hint)
    return ""


def _holds_documents(path: Path) -> bool:
    """Whether a folder is a feature's, and not any other that has the name."""
    return path.parent.name == "features" or any((path / name).exists() for name in _DOCUMENTS)


def _folders(project: Project) -> list[str]:
    try:
        top = project.path(*FEATURES.split("/"))
        return sorted(p.name for p in top.iterdir() if p.is_dir() and not p.name.startswith("."))
    except (OSError, FileError):
        return []


def _is_of(folder: str, epic: str | None) -> bool:
    return epic is not None and (folder == epic or folder.startswith(f"{epic}-"))
