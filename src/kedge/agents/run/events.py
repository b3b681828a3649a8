"""What happens while an agent works, in the same words for every agent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """How a run of an agent ended. Only `COMPLETED` is an end that the agent chose itself."""

    COMPLETED = "completed"
    REFUSED = "refused"  # the model would not answer
    MAX_TURNS = "max-turns"
    BUDGET = "budget"  # the money that the agent was told it may spend
    TOO_LONG = "too-long"  # more text than the model can take
    RATE_LIMITED = "rate-limited"
    UNAVAILABLE = "unavailable"  # the provider cannot be reached, or is overloaded
    AUTH = "auth"  # the provider does not serve this account: key, login, credit
    HOOK_STOPPED = "hook-stopped"
    NOT_STARTED = "not-started"  # the program would not run as it was asked to
    FAILED = "failed"  # the agent says that it failed
    CRASHED = "crashed"  # it ended without saying how
    KILLED = "killed"  # it was stopped from outside, by a limit or a signal


@dataclass(frozen=True, slots=True)
class Used:
    """What the run has used so far. `tokens_in` counts all input, that from a cache included.

    `cost` is in dollars, and None where the agent does not say it.
    """

    tokens_in: int
    tokens_out: int
    cached: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Started:
    session: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A tool is called; `summary` is its command, its file or whatever tells most, in a line."""

    tool: str
    id: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """The tool is done; not `ok` when it failed."""

    id: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Denied:
    """A call that was not made: permissions, a sandbox or a hook forbid it."""

    tool: str
    reason: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The agent waits before it asks the provider again; `seconds` is None when it says none."""

    seconds: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a run: always the last event, and always there.

    `text` is the agent's last message. `message` says what went wrong. `resets_at` is when a rate
    limit ends, in seconds since 1970, where the agent says so.
    """

    reason: Reason
    text: str = ""
    message: str = ""
    used: Used | None = None
    session: str | None = None
    model: str | None = None
    resets_at: float | None = None

    @property
    def ok(self) -> bool:
        return self.reason is Reason.COMPLETED


Event = Started | Said | Called | Answered | Denied | Waiting | Used | Finished
