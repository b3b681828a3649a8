"""The journal of a run on disk, from which the run can be resumed whatever ended it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kedge.errors import InvalidValue, KedgeError, LockTimeout
from kedge.host import clock, files, process_tree
from kedge.host.digest import digest
from kedge.host.project import Project
from kedge.host.secrets import name_branch
from kedge.model.ids import is_id
from kedge.run.commits import Head, find_head
from kedge.run.limits import RunUsage, parse_usage
from kedge.run.options import RunOptions, parse_options
from kedge.run.outcomes import StopCode, TaskOutcome

RUNNING, ENDED = "running", "ended"
_MOST_RUNS = 50  # journals that are kept


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a run is: its task, the tree and HEAD it started on, and the call under way."""

    task: str
    start: str  # the tree before the first attempt
    role: str = ""
    session: str = ""
    began_at: str = ""  # when the call began; empty between calls
    tree: str = ""  # the tree before the call
    proven: str = ""  # why the task is done, set before its work is committed
    commit: str | None = None  # HEAD when the task started, and its branch
    branch: str | None = None

    def between_calls(self) -> Checkpoint:
        """Return the checkpoint without a call under way, on the same tree."""
        return replace(self, role="", session="", began_at="")

    @property
    def head(self) -> Head:
        return Head(self.commit, self.branch)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What the journal of a run holds, field by field as in its JSON file."""

    id: str
    root: str
    wanted: dict[str, Any]  # the options
    started_at: str
    pid: int
    mark: str = ""  # a mark in the environment of all processes that the run starts
    status: str = RUNNING
    why: str = ""
    spent: dict[str, Any] = field(default_factory=dict)
    at: Checkpoint | None = None
    results: tuple[dict[str, Any], ...] = ()
    checks: dict[str, list[str]] = field(default_factory=dict)  # of each task at the run's start
    branch: str | None = None  # on which the run started; all of its commits go there
    baseline: str = ""  # the hash of what is guarded in the repository, as it was at the start


class Journal:
    """The journal of this process's run. Each change is on disk before the next step."""

    def __init__(self, project: Project, record: RunRecord) -> None:
        self._project = project
        self.record = record
        self._is_new = False

    @classmethod
    def begin(cls, project: Project, options: RunOptions) -> Journal:
        now = clock.now()
        name = f"r{now[2:19].translate({ord(sign): None for sign in '-:T'})}-{os.getpid()}"
        record = RunRecord(
            name,
            str(project.root),
            options.data(),
            now,
            os.getpid(),
            _mark_process(),
            branch=find_head(project).branch,
        )
        journal = cls(project, record)
        journal._is_new = True
        journal._write()
        _prune(project)
        return journal

    @classmethod
    def resume(cls, project: Project, name: str | None) -> Journal:
        """Resume the named run, or the latest one, of those that were killed if there are any."""
        record = _find(project, name)
        if _is_alive(project, record.id):
            raise InvalidValue(
                f"{record.id} is still running, as process {record.pid}",
                hint=f"end it with kill -INT {record.pid}",
            )
        if record.mark:  # processes that a killed run left behind
            process_tree.end_marked(record.mark)
        killed = record.status == RUNNING
        here = find_head(project).branch
        results = tuple(one for one in record.results if one.get("state") != TaskOutcome.LEFT)
        record = replace(
            record,
            pid=os.getpid(),
            mark=_mark_process(),
            status=RUNNING,
            why="",
            results=results,
            branch=record.branch if killed else here,
            baseline=record.baseline if killed else "",
        )
        record = _map_branches(record, lambda name: here if name == name_branch(here) else name)
        journal = cls(project, record)
        journal._write()
        return journal

    @contextlib.contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Hold the lock that shows others that the run is alive.

        A run that works in the user's own tree locks that tree, too.
        """
        with contextlib.ExitStack() as locks:
            locks.enter_context(files.lock(_lock(self._project, self.record.id), timeout=1.0))
            if not self.options.worktree:
                name = f"tree-{digest([self.record.root.encode()])[:16]}"
                try:
                    locks.enter_context(files.lock(_lock(self._project, name), timeout=0.0))
                except LockTimeout as error:
                    if self._is_new:  # nobody should resume it
                        self._path.unlink(missing_ok=True)
                    raise InvalidValue(
                        "another run is at work in this tree",
                        hint="wait for it, or use kedge run --worktree",
                    ) from error
            yield

    @property
    def _path(self) -> Path:
        return _folder(self._project) / f"{self.record.id}.json"

    @property
    def baseline_path(self) -> Path:
        """Where the run notes what is guarded in the repository."""
        return _folder(self._project) / f"{self.record.id}.baseline"

    def is_elsewhere(self, head: Head) -> bool:
        """True if HEAD is not on the branch on which the run started."""
        return head.branch != self.record.branch

    @property
    def options(self) -> RunOptions:
        return parse_options(self.record.wanted)

    @property
    def usage(self) -> RunUsage:
        return parse_usage(self.record.spent)

    def save_usage(self, usage: RunUsage) -> None:
        self.change(spent=asdict(usage))

    def end(self, code: StopCode, usage: RunUsage, checkpoint: Checkpoint | None) -> None:
        """Record that the run has ended, and where it can be resumed."""
        self.change(status=ENDED, why=code, spent=asdict(usage), at=checkpoint)

    def change(self, **fields: Any) -> None:
        """Change fields of the record, on disk too."""
        self.record = replace(self.record, **fields)
        self._write()

    def _write(self) -> None:
        record = _map_branches(self.record, name_branch)
        files.write_atomic(self._path, json.dumps(asdict(record), indent=1).encode(), mode=0o600)


def _map_branches(record: RunRecord, change: Callable[[str | None], str | None]) -> RunRecord:
    """Return the record with other names of branches: on disk they hold no secrets."""
    at = record.at
    at = replace(at, branch=change(at.branch)) if at is not None else None
    return replace(record, branch=change(record.branch), at=at)


def list_interrupted(project: Project) -> list[RunRecord]:
    """Return the runs whose process is gone although they did not end."""
    runs = [one for one in _read_all(project) if one.status == RUNNING]
    return [one for one in runs if not _is_alive(project, one.id)]


def list_runs(project: Project) -> list[RunRecord]:
    """Return the runs of all work trees, the latest first."""
    return _read_all(project, every=True)[::-1]


def is_running(project: Project, record: RunRecord) -> bool:
    """True if the run's process is there; false for a run that has ended or was killed."""
    return record.status == RUNNING and _is_alive(project, record.id)


def list_gone(project: Project, root: Path, *, since: str) -> list[RunRecord]:
    """Return the runs in a work tree of the project that started at that time or later, and whose
    process is gone."""
    every = _read_all(project, every=True)
    runs = [one for one in every if one.root == str(root) and one.started_at >= since]
    return [one for one in runs if not _is_alive(project, one.id)]


def _mark_process() -> str:
    """Return a fresh mark, and put it into this process's environment for its children."""
    mark = os.urandom(12).hex()
    os.environ.update(process_tree.add_mark(os.environ, mark))
    return mark


def _folder(project: Project) -> Path:
    return project.home() / "runs"


def _find(project: Project, name: str | None) -> RunRecord:
    if name is not None and not is_id(name):
        raise InvalidValue(
            f"{name!r} is not the id of a run", hint="kedge run --resume resumes the latest run"
        )
    runs = [one for one in _read_all(project) if name in (None, one.id)]
    if not runs:
        message = f"there is no run {name!r}" if name else "there is no run to resume"
        raise InvalidValue(message, hint="kedge run starts one")
    # An agent may have started a run of its own since.
    killed = [one for one in runs if one.status == RUNNING and not _is_alive(project, one.id)]
    return (killed or runs)[-1]


def _read_all(project: Project, *, every: bool = False) -> list[RunRecord]:
    """Return the runs of this work tree, or of `every` one, the latest last.

    Unreadable journals are ignored.
    """
    records = []
    for path in sorted(_folder(project).glob("r*.json")):
        try:
            record = _parse(json.loads(files.read_bytes(path) or b""))
        except (ValueError, TypeError, AttributeError, KedgeError):
            continue
        if every or record.root == str(project.root):
            records.append(record)
    return sorted(records, key=lambda one: one.started_at)


def _parse(data: dict[str, Any]) -> RunRecord:
    at = data.get("at")
    checkpoint = Checkpoint(**at) if at else None
    return RunRecord(**{**data, "at": checkpoint, "results": tuple(data.get("results", ()))})


def _is_alive(project: Project, name: str) -> bool:
    try:
        with files.lock(_lock(project, name), timeout=0.0):
            return False
    except LockTimeout:
        return True


def _lock(project: Project, name: str) -> Path:
    return _folder(project) / f"{name}.lock"


def _prune(project: Project) -> None:
    for path in sorted(_folder(project).glob("r*.json"))[:-_MOST_RUNS]:
        if not _is_alive(project, path.stem):
            path.unlink(missing_ok=True)
            for suffix in (".lock", ".baseline"):
                path.with_suffix(suffix).unlink(missing_ok=True)
