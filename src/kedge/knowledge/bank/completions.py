"""Finished features and tasks in order of completion, by which staleness is measured.

A feature is finished if its `.meta.json` says so, or if all its tasks are done. Its date is the one
there, else that of the first commit that marked it done, else that of its first retro; without any
of them its number gives its position.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kedge.errors import BrokenTasks, GitError, KedgeError
from kedge.features.folders import FEATURES, list_features
from kedge.host import documents
from kedge.host.project import Project
from kedge.knowledge import retro_records
from kedge.knowledge.feature_folders import feature_number, match_folder
from kedge.model.status_words import status_of
from kedge.model.task import Status
from kedge.settings import TaskSettings

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


def read_completions(
    project: Project, settings: TaskSettings, *, tasks: bool = False
) -> Completions:
    """Read which features are finished, and with `tasks` also which tasks."""
    warnings: list[str] = []
    folders = list_features(project)
    done: dict[str, str] = {}
    dropped: dict[str, str] = {}
    unstated = []
    for path in folders:
        meta = _read_meta(project.root, path, warnings)
        state = _parse_state(meta)
        if state is None:
            unstated.append(path.name)
        elif state is Status.DONE:
            done[path.name] = _completion_date(meta)
        elif state is Status.FAILED:
            dropped[path.name] = _completion_date(meta)
    if unstated:
        done.update(dict.fromkeys(_find_finished(project.root, unstated), ""))
    names = tuple(path.name for path in folders)
    if not all(done.values()):
        undated = {name for name, day in done.items() if not day}
        retros = {name: _to_utc(at) for name, at in retro_records.first_dates(project).items()}
        done |= {name: retros.get(name, "") for name in undated} | _dates_from_git(project, undated)
    task_states = _read_tasks(project, settings, warnings) if tasks else ((), frozenset())
    return Completions(_sort(done), names, *task_states, dropped, {}, tuple(warnings))


def add_renames(completions: Completions, project: Project) -> Completions:
    """Add the former names of folders, as far as git knows them."""
    if project.repo is None:
        return completions
    try:
        log = project.repo.git(
            "log", "-M", "-z", "--reverse", "--name-status", "--diff-filter=R", "--format=", "--",
            FEATURES,
        )  # fmt: skip
    except GitError:
        return completions  # a repository without commits
    parts = log.decode("utf-8", "surrogateescape").replace("\n", "\0").split("\0")
    words = [part for part in parts if part]
    moved: dict[str, str] = {}
    for at, word in enumerate(words[:-2]):
        if re.fullmatch(r"R[0-9]{1,3}", word):
            old, new = _folder(words[at + 1]), _folder(words[at + 2])
            if old and new and old != new:
                moved = {name: new if now == old else now for name, now in moved.items()}
                moved[old] = new
    folders = completions.folders
    renamed = {o: n for o, n in moved.items() if n in folders and o not in folders}
    return replace(completions, renamed=renamed)


def _read_meta(root: Path, path: Path, warnings: list[str]) -> dict[str, Any]:
    record = path / ".meta.json"
    if not record.exists():
        return {}
    try:
        text = documents.decode(root, record, documents.read(root, record))
        meta = json.loads(text.removeprefix(documents.BOM))
    except BrokenTasks as error:
        warnings.append(error.message)
        return {}
    except (ValueError, RecursionError):
        warnings.append(f"{documents.display_path(root, record)}: not valid JSON")
        return {}
    return meta if isinstance(meta, dict) else {}


def _parse_state(meta: dict[str, Any]) -> Status | None:
    """Return the status in `.meta.json`; None if it has none."""
    word = meta.get("status")
    if isinstance(word, str) and word.strip():
        return status_of(word) or Status.OPEN
    return Status.DONE if any(meta.get(name) for name in _DATES[:3]) else None


def _completion_date(meta: dict[str, Any]) -> str:
    return next((day for name in _DATES if (day := _to_utc(meta.get(name)))), "")


def _to_utc(value: object) -> str:
    """Return an ISO date or a Unix time as a sortable UTC string; empty if it is neither."""
    try:
        if isinstance(value, str):
            when = datetime.fromisoformat(value.strip())
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            when = datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        else:
            return ""
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")
    except (ValueError, OverflowError, OSError):
        return ""


def _find_finished(root: Path, folders: list[str]) -> list[str]:
    """Return the features whose tasks are all done."""
    from kedge.tasks.feature_docs import FeatureDocs

    epics = {t.id: t.status for t in FeatureDocs(root).read().tasks if t.type == "epic"}
    return [
        name
        for name in folders
        if Status.DONE in (epics.get(name), epics.get(name.partition("-")[0]))  # type: ignore[call-overload]
    ]


def _dates_from_git(project: Project, names: set[str]) -> dict[str, str]:
    """Return when a commit first marked each feature done, also under a former name."""
    if project.repo is None or not names:
        return {}
    try:
        log = project.repo.git(
            "log", "-M", "--reverse", "-p", "-U0", "--format=%x00%ct", "-G", '"status"', "--",
            FEATURES,
        )  # fmt: skip
    except GitError:
        return {}  # a repository without commits
    first: dict[str, str] = {}
    when = folder = ""
    for line in log.decode("utf-8", "replace").split("\n"):
        if line.startswith("\0"):
            when = _to_utc(int(line[1:]))
        elif line.startswith("rename from "):
            folder = _folder(line.removeprefix("rename from "))
        elif line.startswith("rename to "):
            first.setdefault(_folder(line.removeprefix("rename to ")), first.get(folder, ""))
        elif line.startswith("+++ b/"):
            folder = _folder(line.removeprefix("+++ b/"))
        elif (match := _STATUS.match(line)) and status_of(match[1]) is Status.DONE:
            first[folder] = first.get(folder) or when
    moved = add_renames(Completions(folders=tuple(names)), project).renamed
    for old, new in moved.items():
        earlier = [day for day in (first.get(old), first.get(new)) if day]
        first[new] = min(earlier, default="")
    return {name: day for name in names if (day := first.get(name))}


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


def _read_tasks(
    project: Project, settings: TaskSettings, warnings: list[str]
) -> tuple[tuple[Completion, ...], frozenset[str]]:
    from kedge.tasks import choose
    from kedge.tasks.board import Board

    try:
        board = Board(choose.open_backend(project, settings))
        every = board.tasks().values()
        warnings += board.warnings
    except KedgeError as error:
        warnings.append(f"tasks cannot be read: {error.message}")
        return (), frozenset()
    done = [task for task in every if task.status is Status.DONE and task.type != "epic"]
    ends = sorted((_to_utc(task.closed_at or task.updated_at), task.id) for task in done)
    completions = tuple(Completion(task_id, when) for when, task_id in ends)
    return completions, frozenset(task.id for task in every if task.status is not Status.DONE)
