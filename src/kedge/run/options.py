"""The options of a run: which tasks, which agent, which roles, which limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from kedge.errors import InvalidValue, UsageError
from kedge.run.limits import Limits

IMPLEMENTER = "implementer"
ROLES = (IMPLEMENTER, "reviewer", "validator")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+\Z")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_DURATION_HINT = "such as 90s, 30m, 1h30m or 2d"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Which tasks to work on, with which agent, in which roles, and what to do with the result."""

    task: str | None = None
    epic: str | None = None
    feature: str | None = None
    label: str | None = None
    once: bool = False
    agent: str = "claude"
    program: tuple[str, ...] = ()
    model: str | None = None
    roles: tuple[str, ...] = (IMPLEMENTER,)
    reanchor: bool = True
    sources: tuple[str, ...] = ()
    commit: bool = True
    full_access: bool = False
    worktree: bool = False
    parallel: int = 1
    limits: Limits = field(default_factory=Limits)

    def data(self) -> dict[str, Any]:
        return asdict(self)


def parse_options(data: Mapping[str, Any]) -> RunOptions:
    """Return the options that the journal of a run holds; unknown fields are ignored."""
    try:
        known = {one.name for one in fields(RunOptions)}
        values = {key: value for key, value in data.items() if key in known}
        for name in ("program", "roles", "sources"):
            values[name] = tuple(values.get(name, ()))
        values["limits"] = Limits(**values.get("limits", {}))
        return RunOptions(**values)
    except (TypeError, ValueError) as error:
        raise InvalidValue(f"these are not the options of a run: {error}") from error


def parse_duration(text: str) -> float:
    """Return the seconds of `90s`, `30m`, `1h30m` or `2d`."""
    if not _DURATION.match(text):
        raise UsageError(f"{text!r} is not a duration", hint=_DURATION_HINT)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _SPAN.findall(text))
    if not seconds:
        raise UsageError("a duration must be longer than zero", hint=_DURATION_HINT)
    return seconds


def parse_roles(text: str) -> tuple[str, ...]:
    """Return the roles of `implementer,reviewer`, in the order in which they work."""
    names = [one.strip() for one in text.split(",") if one.strip()]
    unknown = [one for one in names if one not in ROLES]
    if unknown or IMPLEMENTER not in names:
        message = f"no role {unknown[0]!r}" if unknown else f"{IMPLEMENTER} is missing"
        raise UsageError(message, hint=f"choose from {', '.join(ROLES)}; {IMPLEMENTER} is required")
    return tuple(role for role in ROLES if role in names)
