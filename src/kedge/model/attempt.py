"""One attempt at a task, as the ledger keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from kedge.errors import InvalidValue
from kedge.model.ids import TaskId


class Outcome(StrEnum):
    """How an attempt ended. Those in `FREE` do not use up one of the task's attempts."""

    DONE = "done"
    FAILED_CHECKS = "failed-checks"
    NO_CHANGE = "no-change"
    OUT_OF_SCOPE = "out-of-scope"
    STUCK = "stuck"
    GIVEN_UP = "given-up"
    BLOCKED = "blocked"
    DRIFTED = "drifted"
    AGENT_ERROR = "agent-error"
    TIME_LIMIT = "time-limit"
    BUDGET = "budget"
    RATE_LIMIT = "rate-limit"
    INTERRUPTED = "interrupted"


FREE = frozenset({Outcome.TIME_LIMIT, Outcome.RATE_LIMIT, Outcome.BUDGET, Outcome.INTERRUPTED})


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was tried, how it ended, and what the next attempt should know."""

    task: TaskId
    number: int
    run: str
    role: str
    agent: str
    started_at: str
    ended_at: str
    outcome: Outcome
    reason: str
    model: str | None = None
    tried: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    start_tree: str | None = None
    end_tree: str | None = None
    files: tuple[str, ...] = ()
    checks: tuple[Mapping[str, Any], ...] = ()
    drift: Mapping[str, Any] | None = None

    def data(self) -> dict[str, Any]:
        return asdict(self)


_LISTS = ("tried", "avoid", "files", "checks")
_NAMES = frozenset(f.name for f in fields(Attempt))


def parse(data: Mapping[str, Any]) -> Attempt:
    """An attempt from a ledger record; fields of a later version are passed over."""
    values = {key: value for key, value in data.items() if key in _NAMES}
    for name in _LISTS:
        if name in values:
            values[name] = tuple(values[name])
    try:
        values["outcome"] = Outcome(values["outcome"])
        return Attempt(**values)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue(f"not a ledger record: {error}") from error
