"""What becomes of a task and of a run, as types."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kedge.errors import KedgeError
from kedge.model.task import BlockType


class TaskOutcome(StrEnum):
    """What a run made of a task. LEFT: a limit, an interruption or an error ended the work."""

    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The outcome of a task, and why. `fatal` means that no other task could do better.

    `files` are all that the task's attempts changed. `drift` sums up where its sessions strayed:
    the number of alarms and the worst level.
    """

    task: str
    state: TaskOutcome
    reason: str
    fatal: bool = False
    block: BlockType | None = None  # if it is blocked
    files: tuple[str, ...] = ()
    drift: dict[str, Any] | None = None


class StopCode(StrEnum):
    """Why a run, or an agent's call in it, ended."""

    NOTHING_READY = "nothing-ready"
    ONCE = "once"
    INTERRUPTED = "interrupted"
    BUDGET = "budget"
    TIME = "time"
    ITERATIONS = "iterations"
    FAILURES = "failures"
    AGENT_ERROR = "agent-error"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a run goes no further: a code for programs and a sentence for people."""

    code: StopCode
    text: str


def stop_after(error: KedgeError) -> StopReason:
    """Return the end of a run that an error ended, such as files that are gone."""
    advice = f" ({error.hint})" if error.hint else ""
    return StopReason(StopCode.ERROR, f"{error.message}{advice}")


NOTHING_READY = StopReason(StopCode.NOTHING_READY, "no task is ready")
ONLY_ONE_TASK = StopReason(StopCode.ONCE, "one task was asked for")
INTERRUPTED = StopReason(StopCode.INTERRUPTED, "the run was interrupted")


@dataclass(frozen=True, slots=True)
class RunEnd:
    """Why a run ended, what became of each task, what is left to do, and what the run used.

    `merge` names the branches that hold finished work from work trees.
    """

    stop: StopReason
    results: tuple[dict[str, Any], ...]
    remaining: tuple[dict[str, Any], ...]
    usage: dict[str, Any]
    merge: tuple[str, ...] = ()
