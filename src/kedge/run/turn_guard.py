"""Guard a role's turn: compare what an agent must not change, before and after it."""

from __future__ import annotations

import os
from pathlib import Path

from kedge.errors import InvalidValue, KedgeError
from kedge.handoff.operations import HandoffOperations
from kedge.handoff.snapshot import shadow_git
from kedge.host import clock, files
from kedge.host.project import Project
from kedge.model.task import Task, replace_fields
from kedge.run import git_locks, hidden_files, ref_guard, repository_guard
from kedge.run.commits import find_head
from kedge.run.journal import Journal
from kedge.run.repository_guard import Baseline, GuardReport
from kedge.tasks.backend import TaskChange
from kedge.tasks.board import Board

_PROVING = ("checks", "scope_in", "scope_out")  # fields of a task that decide what proves it
_APPENDED = ("ledger", "handoffs", "reviews")  # directories of records that only grow


def open_baseline(project: Project, journal: Journal) -> Baseline:
    """Return what the repository was when the run started; note it if it starts just here.

    Raises InvalidValue if something has changed since the run was killed: whoever did that.
    """
    path = journal.baseline_path
    if project.repo is not None:
        hidden_files.put_back(project.repo)  # of a run that was killed
    if not journal.record.baseline:
        baseline = repository_guard.capture_for_run(project)
        journal.change(baseline=repository_guard.store(path, baseline))
        return baseline
    os.environ.pop(repository_guard.VARIABLE, None)
    if project.repo is not None:
        git_locks.clear_since(project.repo, clock.parse(journal.record.started_at))
    baseline = repository_guard.load(path, journal.record.baseline)
    head = find_head(project)
    if journal.is_elsewhere(head):
        raise InvalidValue(
            f"HEAD is on {head.branch or 'no branch'}, not where the run started",
            hint=f"git switch {journal.record.branch or 'there'}, or start a new run: kedge run",
        )
    changed = repository_guard.find_changes(project, baseline)
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise InvalidValue(
            f"since the run was interrupted, {', '.join(changed[:3])}{more} changed",
            hint="look at it: an agent may have done it; then start a new run with kedge run",
        )
    return baseline


class TurnGuard:
    """Notes the state at the start of a turn; `check` puts back what has changed since."""

    def __init__(
        self, board: Board, handoff: HandoffOperations, task: Task, baseline: Baseline
    ) -> None:
        self._project = handoff.project
        self._handoff = handoff
        self._board = board
        self._baseline = repository_guard.leave_scope(baseline, self._project, task.scope_in)
        repo = self._project.repo
        self._refs = ref_guard.read(repo) if repo is not None else None
        self._locks = git_locks.find(repo) if repo is not None else {}
        self._tasks = board.tasks()
        self._records = self._read_records()
        self._immutable = handoff.read().immutable
        self._context = handoff.store.folder(handoff.task) / "context.json"
        self._context_data = files.read_bytes(self._context) or b""
        self._index = self._read_index_state()

    def check(self) -> GuardReport:
        """Put back what has changed. Raises KedgeError where that cannot be done."""
        repo = self._project.repo
        locks = git_locks.clear(repo, self._locks) if repo is not None else []
        report = repository_guard.check(self._project, self._baseline)
        if report.refused:
            return report
        changed = [*report.put_back, *locks]
        if self._refs is not None and repo is not None:
            changed += ref_guard.put_back(repo, self._refs)
        changed += self._put_back_records()
        changed += self._put_back_tasks()
        changed += self._put_back_context()
        if self._read_index_state() != self._index:
            # Whoever wrote it may have said of a file that it need not be read.
            shadow_git.open_shadow(self._project).distrust_index()
            self._index = self._read_index_state()
        return GuardReport(tuple(changed), (), report.aside)

    def _read_records(self) -> dict[Path, bytes]:
        found = {}
        for name in _APPENDED:
            folder = self._project.own(name)
            for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
                found[path] = files.read_bytes(path) or b""
        return found

    def _put_back_records(self) -> list[str]:
        changed = []
        for path, data in self._records.items():
            if not (files.read_bytes(path) or b"").startswith(data):
                files.write_atomic(path, data)
                changed.append(repository_guard.show(self._project, str(path)))
        return changed

    def _put_back_tasks(self) -> list[str]:
        changed = []
        now = self._board.tasks()
        for name, task in self._tasks.items():
            current = now.get(name)
            if current is None:
                with self._board.backend.lock():
                    self._board.backend.write([TaskChange(None, task)])
                changed.append(f"the task {name}")
                continue
            fields = {
                one: getattr(task, one)
                for one in _PROVING
                if getattr(task, one) != getattr(current, one)
            }
            if fields:
                self._board.update(name, lambda one, fields=fields: replace_fields(one, **fields))  # type: ignore[misc]
                changed.append(f"{', '.join(fields)} of {name}")
        return changed

    def _put_back_context(self) -> list[str]:
        try:
            if self._handoff.read().immutable == self._immutable:
                return []
        except KedgeError:  # whoever needs it says what is wrong
            return []
        files.write_atomic(self._context, self._context_data)
        return [f"the context of {self._handoff.task}"]

    def _read_index_state(self) -> tuple[int, ...]:
        """Return what changes when the index of snapshots is written."""
        if self._project.repo is None:
            return ()
        try:
            status = (shadow_git.open_shadow(self._project).path / "index").lstat()
        except OSError:
            return ()
        return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
