"""The ledger: `.kedge/ledger/<task>.jsonl`, one record per attempt, append-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kedge.host import clock, files, json_lines
from kedge.host.project import Project
from kedge.host.redact import redact_value
from kedge.model.attempt import Attempt, Outcome, parse
from kedge.model.ids import task_id
from kedge.model.task import Status, Task
from kedge.tasks import choose
from kedge.tasks.rules import UNPROVEN


class Ledger:
    def __init__(self, project: Project, *, lock_timeout: float = files.LOCK_TIMEOUT) -> None:
        self._project = choose.task_project(project)
        self._timeout = lock_timeout

    def append(self, attempt: Attempt) -> Attempt:
        """Append the attempt durably, with the next number and its secrets redacted; return it."""
        name = task_id(attempt.task)
        path = self._project.own("ledger", f"{name}.jsonl")
        lock = self._project.own("locks", "ledger.lock")
        with files.lock(lock, timeout=self._timeout):
            past, _ = self.read(name)
            number = 1 + max((one.number for one in past), default=0)
            clean = redact_value(replace(attempt, number=number).data())
            json_lines.append(path, clean)
        return parse(clean)

    def read(self, task: str) -> tuple[list[Attempt], list[str]]:
        """Return the attempts at a task, oldest first, and a warning for each invalid line."""
        name = task_id(task)
        path = self._project.own("ledger", f"{name}.jsonl")
        return json_lines.read(path, f".kedge/ledger/{name}.jsonl", parse)

    def lacks(self, task: Task) -> bool:
        """True if the attempt that closed or blocked the task is missing: a kill came between."""
        if task.status not in _OUTCOMES or task.started_at is None:
            return False
        begin = task.started_at[:_SECONDS]
        return all(one.ended_at[:_SECONDS] < begin for one in self.read(task.id)[0])


_SECONDS = len("2026-01-31T12:00:00")  # what the stamps of all backends have
_OUTCOMES = {
    Status.DONE: Outcome.DONE,
    Status.FAILED: Outcome.GIVEN_UP,
    Status.BLOCKED: Outcome.BLOCKED,
}


def attempt_of(
    before: Task | None,
    after: Task,
    tried: Sequence[str],
    avoid: Sequence[str],
    *,
    actor: str,
    checks: Sequence[Mapping[str, Any]] = (),
    unrecorded: bool = False,
) -> Attempt | None:
    """Return the attempt that ends when a command closes or blocks a task.

    None if no attempt ended: nobody was working on the task and nothing was learned or proven, or
    the work goes on. `unrecorded` says that the ledger lacks the attempt that ended before.
    """
    outcome = _OUTCOMES.get(after.status)
    worked = unrecorded or (before is not None and before.status is Status.IN_PROGRESS)
    unproven = UNPROVEN in after.labels and not (before and before.finished)
    if before is None or outcome is None or not (worked or tried or avoid or checks or unproven):
        return None
    blocked = f"{after.blocked.type.value}: {after.blocked.reason}" if after.blocked else None
    reason = blocked or after.close_reason or ""
    now = clock.now()
    return Attempt(
        task=after.id,
        number=0,
        run="by hand",
        role="implementer",
        agent=before.assignee or actor,
        started_at=before.started_at or now,
        ended_at=now,
        outcome=outcome,
        reason=f"closed unproven: {reason}" if unproven else reason,
        tried=tuple(tried),
        avoid=tuple(avoid),
        checks=tuple(checks),
    )
