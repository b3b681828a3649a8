"""The attempts of one run in the ledger: recorded, counted and summed up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kedge.drift.course import LEVELS
from kedge.host import clock
from kedge.host.project import Project
from kedge.model.attempt import FREE, Attempt, Outcome
from kedge.model.ids import TaskId
from kedge.run.decision import Decision
from kedge.run.options import IMPLEMENTER, RunOptions
from kedge.settings import Settings
from kedge.tasks.ledger import Ledger


@dataclass(frozen=True, slots=True)
class AttemptCount:
    """Attempts at a task that did not work, and how often a review rejected one that did."""

    failed: int
    rejected: int

    @property
    def next_number(self) -> int:
        return self.failed + self.rejected + 1


class RunAttempts:
    """The attempts that the run with this id has made."""

    def __init__(self, project: Project, settings: Settings, options: RunOptions, run: str) -> None:
        self._ledger = Ledger(project, lock_timeout=settings.tasks.lock_timeout)
        self._options = options
        self._run = run

    def record(self, task: str, role: str, decision: Decision, **fields: Any) -> None:
        """Append an attempt to the ledger. `fields` are further fields of `Attempt`."""
        now = clock.now()
        defaults = {"model": self._options.model, "started_at": now, "ended_at": now}
        self._ledger.append(
            Attempt(
                task=TaskId(task),
                number=0,
                run=self._run,
                role=role,
                agent=self._options.agent,
                outcome=decision.outcome,
                reason=decision.reason,
                tried=decision.tried,
                avoid=decision.avoid,
                **{**defaults, **fields},
            )
        )

    def has_since(self, task: str, time: str) -> bool:
        """True if an attempt at the task, by whomever, started at that time or later."""
        return any(one.started_at >= time for one in self._ledger.read(task)[0])

    def find_done_tree(self, task: str) -> str | None:
        """Return the tree that the implementer's last attempt left, if nothing but success followed
        it; None otherwise."""
        for one in reversed(self._list(task)):
            if one.outcome is not Outcome.DONE:
                return None
            if one.role == IMPLEMENTER:
                return one.end_tree
        return None

    def find_last_decision(self, task: str) -> Decision | None:
        """Return the decision about the last attempt of this run; None if it has made none."""
        mine = self._list(task)
        return Decision(mine[-1].outcome, mine[-1].reason) if mine else None

    def count(self, task: str) -> AttemptCount:
        """Count the attempts that use up the task's limits.

        Free outcomes do not, nor does a silence, unless it follows another one.
        """
        mine = self._list(task)
        forgiven = [
            one
            for before, one in zip([None, *mine], mine, strict=False)
            if one.outcome is Outcome.SILENT
            and (before is None or before.outcome is not Outcome.SILENT)
        ]
        failed = [
            one
            for one in mine
            if one.outcome not in FREE and one.outcome is not Outcome.DONE and one not in forgiven
        ]
        rejected = sum(one.outcome is Outcome.REJECTED for one in failed)
        return AttemptCount(len(failed) - rejected, rejected)

    def summarize_drift(self, task: str) -> dict[str, Any] | None:
        """Sum up where the attempts at the task strayed; None if they did not."""
        drifts = [one.drift for one in self._list(task) if one.drift]
        if not drifts:
            return None
        return {
            "alarms": sum(int(one["alarms"]) for one in drifts),
            "worst": max((str(one["worst"]) for one in drifts), key=LEVELS.index),
            "needs_review": any(one["needs_review"] for one in drifts),
        }

    def list_files(self, task: str) -> tuple[str, ...]:
        """Return all files that the attempts at the task changed."""
        return tuple(sorted({path for one in self._list(task) for path in one.files}))

    def _list(self, task: str) -> list[Attempt]:
        return [one for one in self._ledger.read(task)[0] if one.run == self._run]
