"""What was finished, in the order of its completion: the clock that staleness goes by.

A feature is finished when its `.meta.json` says so, or when all its tasks are done. When: by the
dates there, else by the first commit that marked it done, else by its first retro, else it stands
where its number says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from kedge.errors import BrokenTasks, FileError, GitError, KedgeError
from kedge.host.project import Project
from kedge.host.record import NamedTuple
from kedge.knowledge import retros
from kedge.model.task import Status
from kedge.settings import TaskSettings
from kedge.tasks import documents
from kedge.tasks.words import status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FEATURES = "docs/features"
_DATES = ("completed", "completedAt", "completed_at", "lastUpdated", "last_updated")
_NUMBER = re.compile(r"#?0*([0-9]{1,9})(?![0-9])")
_STATUS = re.compile(r'\+.{0,400}?"status"[ \t]*:[ \t]*"([^"]{1,40})"')


class Finished(NamedTuple):
    """A feature's folder or a task's id, and when it was finished, as far as that is known."""

    id: str
    when: str = ""


class Clock(NamedTuple):
    """What was finished, oldest first, and the features that are there at all."""

    features: tuple[Finished, ...] = ()
    folders: tuple[str, ...] = ()
    tasks: tuple[Finished, ...] = ()
    open_tasks: frozenset[str] = frozenset()
    dropped: Mapping[str, str] = {}  # features that were given up, and when
    renamed: Mapping[str, str] = {}  # folders that had other names
    warnings: tuple[str, ...] = ()

    def folder(self, ref: str) -> str | None:
        """The feature that a number or a name means."""
        return find(ref, self.folders) or self.renamed.get(find(ref, tuple(self.renamed)) or "")


def find(ref: str, folders: tuple[str, ...]) -> str | None:
    if ref in folders:
        return ref
    number = number_of(ref)
    if number is not None:
        return next((one for one in folders if number_of(one) == number), None)
    ends = [one for one in folders if one.partition("-")[2] == ref]
    return ends[0] if len(ends) == 1 else None


def number_of(folder: str) -> int | None:
    found = _NUMBER.match(folder)
    return int(found[1]) if found else None


def read(project: Project, settings: TaskSettings, *, tasks: bool = False) -> Clock:
    """The features, and the tasks where they are asked for."""
    warnings: list[str] = []
    folders = _folders(project)
    done: dict[str, str] = {}
    dropped: dict[str, str] = {}
    silent = []
    for path in folders:
        meta = _meta(project.root, path, warnings)
        state = _state(meta)
        if state is None:
            silent.append(path.name)
        elif state is Status.DONE:
            done[path.name] = _date(meta)
        elif state is Status.FAILED:
            dropped[path.name] = _date(meta)
    if silent:
        done.update(dict.fromkeys(_by_tasks(project.root, silent), ""))
    names = tuple(path.name for path in folders)
    if not all(done.values()):
        undated = {name for name, day in done.items() if not day}
        held = {name: _stamp(at) for name, at in retros.first(project).items()}
        done |= {name: held.get(name, "") for name in undated} | _from_git(project, undated)
    finished = _tasks(project, settings, warnings) if tasks else ((), frozenset())
    return Clock(_ordered(done), names, *finished, dropped, {}, tuple(warnings))


def with_renames(clock: Clock, project: Project) -> Clock:
    """Also the names that folders had before, as far as git has seen them renamed."""
    if project.repo is None:
        return clock
    try:
        log = project.repo.git(
            "log", "-M", "-z", "--reverse", "--name-status", "--diff-filter=R", "--format=", "--",
            FEATURES,
        )  # fmt: skip
    except GitError:
        return clock  # a repository without commits
    parts = log.decode("utf-8", "surrogateescape").replace("\n", "\0").split("\0")
    words = [part for part in parts if part]
    moved: dict[str, str] = {}
    for at, word in enumerate(words[:-2]):
        if re.fullmatch(r"R[0-9]{1,3}", word):
            old, new = _folder(words[at + 1]), _folder(words[at + 2])
            if old and new and old != new:
                moved = {name: new if now == old else now for name, now in moved.items()}
                moved[old] = new
    there = {old: new for old, new in moved.items() if new in clock.folders}
    return clock._replace(renamed={o: n for o, n in there.items() if o not in clock.folders})


def _folders(project: Project) -> list[Path]:
    try:
        top = project.path(*FEATURES.split("/"))
        return sorted(p for p in top.iterdir() if p.is_dir() and not p.name.startswith("."))
    except (OSError, FileError):
        return []


def _meta(root: Path, path: Path, warnings: list[str]) -> dict[str, Any]:
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
        warnings.append(f"{documents.shown(root, record)}: it is not JSON")
        return {}
    return meta if isinstance(meta, dict) else {}


def _state(meta: dict[str, Any]) -> Status | None:
    """What the record says; None where it says nothing."""
    word = meta.get("status")
    if isinstance(word, str) and word.strip():
        return status_of(word) or Status.OPEN
    return Status.DONE if any(meta.get(name) for name in _DATES[:3]) else None


def _date(meta: dict[str, Any]) -> str:
    return next((day for name in _DATES if (day := _stamp(meta.get(name)))), "")


def _stamp(value: object) -> str:
    """A moment in UTC, as text that sorts."""
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


def _by_tasks(root: Path, folders: list[str]) -> list[str]:
    """Which of the features have all their tasks done."""
    from kedge.tasks.feature_docs.backend import FeatureDocs

    epics = {t.id: t.status for t in FeatureDocs(root).read().tasks if t.type == "epic"}
    return [
        name
        for name in folders
        if Status.DONE in (epics.get(name), epics.get(name.partition("-")[0]))  # type: ignore[call-overload]
    ]


def _from_git(project: Project, names: set[str]) -> dict[str, str]:
    """When a commit first marked each of these done, under whatever name the folder had."""
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
            when = _stamp(int(line[1:]))
        elif line.startswith("rename from "):
            folder = _folder(line.removeprefix("rename from "))
        elif line.startswith("rename to "):
            first.setdefault(_folder(line.removeprefix("rename to ")), first.get(folder, ""))
        elif line.startswith("+++ b/"):
            folder = _folder(line.removeprefix("+++ b/"))
        elif (said := _STATUS.match(line)) and status_of(said[1]) is Status.DONE:
            first[folder] = first.get(folder) or when
    moved = with_renames(Clock(folders=tuple(names)), project).renamed
    for old, new in moved.items():
        earlier = [day for day in (first.get(old), first.get(new)) if day]
        first[new] = min(earlier, default="")
    return {name: day for name in names if (day := first.get(name))}


def _folder(path: str) -> str:
    parts = path.removesuffix("\t").strip('"').split("/")
    return parts[2] if len(parts) > 3 and "/".join(parts[:2]) == FEATURES else ""


def _ordered(done: Mapping[str, str]) -> tuple[Finished, ...]:
    """By date; one without stands behind those of smaller numbers."""
    rows, latest = [], ""
    for name in sorted(done, key=lambda one: (number_of(one) or 0, one)):
        latest = done[name] or latest
        rows.append((latest, number_of(name) or 0, name))
    return tuple(Finished(name, when) for when, _, name in sorted(rows))


def _tasks(
    project: Project, settings: TaskSettings, warnings: list[str]
) -> tuple[tuple[Finished, ...], frozenset[str]]:
    from kedge.tasks import choose
    from kedge.tasks.board import Board

    try:
        board = Board(choose.backend(project, settings))
        every = board.tasks().values()
        warnings += board.warnings
    except KedgeError as error:
        warnings.append(f"tasks cannot be read: {error.message}")
        return (), frozenset()
    done = [task for task in every if task.status is Status.DONE and task.type != "epic"]
    ends = sorted((_stamp(task.closed_at or task.updated_at), task.id) for task in done)
    finished = tuple(Finished(task_id, when) for when, task_id in ends)
    return finished, frozenset(task.id for task in every if task.status is not Status.DONE)
