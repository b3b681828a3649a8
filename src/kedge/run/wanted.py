"""What a run is asked to do, and within which limits."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, fields

from kedge.errors import InvalidValue, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

IMPLEMENTER = "implementer"
ROLES = (IMPLEMENTER, "reviewer", "validator")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+\Z")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a run ends. None is no limit; `failures` counts attempts in a row that did not work."""

    iterations: int | None = None
    attempts: int = 3
    rounds: int = 3
    failures: int = 5
    money: float | None = None  # dollars
    tokens: int | None = None
    seconds: float | None = None
    idle: float | None = 900.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which tasks, by which agent, in which roles, and what becomes of the work."""

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
    limits: Limits = Limits()

    def data(self) -> dict[str, Any]:
        return asdict(self)


def parse(data: dict[str, Any]) -> Wanted:
    """What a run that is resumed was asked to do."""
    try:
        known = {one.name for one in fields(Wanted)}
        values = {key: value for key, value in data.items() if key in known}
        for name in ("program", "roles", "sources"):
            values[name] = tuple(values.get(name, ()))
        values["limits"] = Limits(**values.get("limits", {}))
        return Wanted(**values)
    except (TypeError, ValueError) as error:
        raise InvalidValue(f"not a run: {error}") from error


def duration(text: str) -> float:
    """Seconds of `90s`, `30m`, `1h30m`, `2d`."""
    if not _DURATION.match(text):
        raise UsageError(f"{text!r} is no duration", hint="such as 90s, 30m, 1h30m or 2d")
    found = sum(float(number) * _UNITS[unit] for number, unit in _SPAN.findall(text))
    if not found:
        raise UsageError("a duration is more than nothing", hint="such as 90s, 30m, 1h30m or 2d")
    return found


def roles(text: str) -> tuple[str, ...]:
    """The roles of `implementer,reviewer`, in the order in which they work."""
    named = [one.strip() for one in text.split(",") if one.strip()]
    unknown = [one for one in named if one not in ROLES]
    if unknown or IMPLEMENTER not in named:
        said = f"no role {unknown[0]!r}" if unknown else f"{IMPLEMENTER} is missing"
        raise UsageError(said, hint=f"{', '.join(ROLES)}, the first of them always")
    return tuple(role for role in ROLES if role in named)
