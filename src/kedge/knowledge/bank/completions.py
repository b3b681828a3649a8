"""Finished features and tasks in order of completion, by which staleness is measured.

A feature is finished if its `.meta.json` says so, or if all its tasks are done. Its date is the one
there, else that of the first commit that marked it done, else that of its first retro; without any
of them its number gives its position.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kedge.errors import GitError, KedgeError
from kedge.features.folders import FEATURES, list_folders, read_meta
from kedge.host.project import Project
from kedge.knowledge import retro_records
from kedge.knowledge.feature_folders import feature_number, match_folder
from kedge.model.ids import TaskId
from kedge.model.status_words import status_of
from kedge.model.task import Status, Task
from kedge.settings import TaskSettings
from kedge.tasks import choose
from kedge.tasks.board import Board
from kedge.tasks.feature_docs import FeatureDocs

_DATES = ("completed", "completedAt", "completed_at", "lastUpdated", "last_updated")
_STATUS = re.compile(r'\+.{0,400}?"status"[ \t]*:[ \t]*"([^"]{1,40})"')


@dataclass(frozen=True, slots=True)
class Completion:
    """A finished feature's folder or task's id, and when it was finished, if that is known."""

    id: str
    when: str = ""


@dataclass(frozen=True, slots=True)
class Completions:
    """What was finished, oldest first, and the folders of all features."""

    features: tuple[Completion, ...] = ()
    folders: tuple[str, ...] = ()
    tasks: tuple[Completion, ...] = ()
    open_tasks: frozenset[str] = frozenset()
    dropped: Mapping[str, str] = field(default_factory=dict)  # abandoned features and when
    renamed: Mapping[str, str] = field(default_factory=dict)  # folders by their former names
    warnings: tuple[str, ...] = ()

    def folder(self, ref: str) -> str | None:
        """Return the folder of a feature by its number or name, also by a former name."""
        former = match_folder(ref, self.renamed) or ""
        return match_folder(ref, self.folders) or self.renamed.get(former)


def read_completions(project: Project, settings: TaskSettings) -> Completions:
    """Read which features and tasks are finished."""
    warnings: list[str] = []
    folders = list_folders(project, FEATURES)
    names = tuple(path.name for path in folders)
    metas = {path.name: read_meta(project.root, path, warnings) for path in folders}
    states = {name: _parse_state(meta) for name, meta in metas.items()}
    finished = {name for name, state in states.items() if state is Status.DONE}
    finished |= _find_finished(project.root, [name for name in names if states[name] is None])
    done = {name: _completion_date(metas[name]) for name in finished}
    if not all(done.values()):
        from_git = _dates_from_git(project, names)
        retros = {name: _to_utc(at) for name, at in retro_records.first_dates(project).items()}
        done = {n: day or from_git.get(n) or retros.get(n, "") for n, day in done.items()}
    dropped = {n: _completion_date(metas[n]) for n in names if states[n] is Status.FAILED}
    tasks = read_tasks(project, settings, warnings).values()
    open_tasks = frozenset(task.id for task in tasks if task.status is not Status.DONE)
    ended = _sort_tasks(tasks)
    return Completions(_sort(done), names, ended, open_tasks, dropped, {}, tuple(warnings))


def read_tasks(
    project: Project, settings: TaskSettings, warnings: list[str]
) -> Mapping[TaskId, Task]:
    """Return all tasks; if they cannot be read, warn: a feature can be known without them."""
    try:
        board = Board(choose.open_backend(project, settings))
        tasks = board.tasks()
        warnings += board.warnings
        return tasks
    except KedgeError as error:
        warnings.append(f"tasks cannot be read: {error.message}")
        return {}


def read_renames(project: Project, folders: Collection[str]) -> dict[str, str]:
    """Return the folders by their former names, as far as git knows them."""
    renamed: dict[str, str] = {}
    options = ("-M", "--reverse", "--name-status", "--diff-filter=R", "--format=")
    for line in _read_git_log(project, *options):
        old, new = map(_folder, [*line.split("\t"), "", ""][1:3])
        if old and new and old != new:
            renamed = {name: new if now == old else now for name, now in renamed.items()}
            renamed[old] = new
    return {old: new for old, new in renamed.items() if new in folders and old not in folders}


def _parse_state(meta: dict[str, Any]) -> Status | None:
    """Return the status in `.meta.json`; None if it has none."""
    word = meta.get("status")
    if isinstance(word, str) and word.strip():
        return status_of(word) or Status.OPEN
    return Status.DONE if any(meta.get(name) for name in _DATES[:3]) else None


def _completion_date(meta: dict[str, Any]) -> str:
    return next((day for name in _DATES if (day := _to_utc(meta.get(name)))), "")


def _to_utc(value: object) -> str:
    """Return an ISO date as a sortable UTC string; empty if it is none."""
    try:
        when = datetime.fromisoformat(str(value).strip())
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    except (ValueError, OverflowError, OSError):
        return ""


def _find_finished(root: Path, folders: Collection[str]) -> set[str]:
    """Return the features whose tasks are all done."""
    if not folders:
        return set()
    tasks = FeatureDocs(root).read().tasks
    done = {str(t.id) for t in tasks if t.type == "epic" and t.status is Status.DONE}
    return {name for name in folders if name in done or name.partition("-")[0] in done}


def _dates_from_git(project: Project, folders: Collection[str]) -> dict[str, str]:
    """Return when a commit first marked each feature done, also under a former name."""
    renamed = read_renames(project, folders)
    first: dict[str, str] = {}
    when = folder = ""
    options = ("-M", "--reverse", "-p", "-U0", "--format=%x00%cI", "-G", '"status"')
    for line in _read_git_log(project, *options):
        if line.startswith("\0"):
            when = _to_utc(line[1:])
        elif line.startswith("+++ b/"):
            folder = _folder(line.removeprefix("+++ b/"))
        elif (match := _STATUS.match(line)) and status_of(match[1]) is Status.DONE:
            first.setdefault(renamed.get(folder, folder), when)
    return first


def _read_git_log(project: Project, *options: str) -> list[str]:
    """Return the lines of `git log` for the features; none outside git or without commits."""
    if project.repo is None:
        return []
    try:
        log = project.repo.git("log", *options, "--", FEATURES)
    except GitError:
        return []
    return log.decode("utf-8", "surrogateescape").split("\n")


def _folder(path: str) -> str:
    parts = path.removesuffix("\t").strip('"').split("/")
    return parts[2] if len(parts) > 3 and "/".join(parts[:2]) == FEATURES else ""


def _sort(done: Mapping[str, str]) -> tuple[Completion, ...]:
    """Sort by date; one without a date follows the features with smaller numbers."""
    rows, latest = [], ""
    for name in sorted(done, key=lambda one: (feature_number(one) or 0, one)):
        latest = done[name] or latest
        rows.append((latest, feature_number(name) or 0, name))
    return tuple(Completion(name, when) for when, _, name in sorted(rows))


def _sort_tasks(tasks: Iterable[Task]) -> tuple[Completion, ...]:
    done = [task for task in tasks if task.status is Status.DONE and task.type != "epic"]
    ends = sorted((_to_utc(task.closed_at or task.updated_at), task.id) for task in done)
    return tuple(Completion(task_id, when) for when, task_id in ends)
