"""One attempt at a task, as the ledger keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from kedge.errors import InvalidValue
from kedge.model.ids import TaskId


class Outcome(StrEnum):
    """How an attempt ended.

    Outcomes in `FREE` do not count against the task's attempts; nor does a first silence.
    """

    DONE = "done"
    FAILED_CHECKS = "failed-checks"
    NO_CHANGE = "no-change"
    OUT_OF_SCOPE = "out-of-scope"
    STUCK = "stuck"
    GIVEN_UP = "given-up"
    BLOCKED = "blocked"
    DRIFTED = "drifted"
    REJECTED = "rejected"
    AGENT_ERROR = "agent-error"
    SILENT = "silent"
    TIME_LIMIT = "time-limit"
    BUDGET = "budget"
    RATE_LIMIT = "rate-limit"
    INTERRUPTED = "interrupted"


FREE = frozenset({Outcome.TIME_LIMIT, Outcome.RATE_LIMIT, Outcome.BUDGET, Outcome.INTERRUPTED})


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an agent tried, how it ended, and what the next attempt should know."""

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


_STRINGS = ("task", "run", "role", "agent", "started_at", "ended_at", "reason")
_OPTIONAL_STRINGS = ("model", "start_tree", "end_tree")
_LISTS = {"tried": str, "avoid": str, "files": str, "checks": Mapping}
_NAMES = frozenset(f.name for f in fields(Attempt))


def parse(data: Mapping[str, Any]) -> Attempt:
    """Build an attempt from a ledger record. Fields of later versions are ignored."""
    values = {key: value for key, value in data.items() if key in _NAMES and value is not None}
    for name in (*_STRINGS, *_OPTIONAL_STRINGS):
        if not isinstance(values.get(name, "" if name in _OPTIONAL_STRINGS else None), str):
            raise InvalidValue(f"{name!r} must be a string")
    if type(values.get("number")) is not int:
        raise InvalidValue("'number' must be an integer")
    for name, kind in _LISTS.items():
        items = values.get(name, [])
        if not isinstance(items, (list, tuple)) or not all(isinstance(i, kind) for i in items):
            items_are = "strings" if kind is str else "objects"
            raise InvalidValue(f"{name!r} must be a list of {items_are}")
        values[name] = tuple(items)
    for name in ("tokens_in", "tokens_out", "cost_usd"):
        if type(values.get(name, 0)) not in (int, float):
            raise InvalidValue(f"{name!r} must be a number")
    if not isinstance(values.get("drift", {}), Mapping):
        raise InvalidValue("'drift' must be an object")
    try:
        values["outcome"] = Outcome(str(values.get("outcome")))
    except ValueError as error:
        raise InvalidValue(f"{values.get('outcome')!r} is not an outcome") from error
    return Attempt(**values)
