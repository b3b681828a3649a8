"""The events of an agent at work, the same for every agent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a run of an agent ended. With `COMPLETED` the agent itself was finished."""

    COMPLETED = "completed"
    REFUSED = "refused"  # the model would not answer
    MAX_TURNS = "max-turns"
    BUDGET = "budget"  # the limit on cost that the agent was given
    TOO_LONG = "too-long"  # the context window is full
    RATE_LIMITED = "rate-limited"
    UNAVAILABLE = "unavailable"  # the provider cannot be reached, or is overloaded
    AUTH = "auth"  # the provider refuses the account: key, login, credit
    HOOK_STOPPED = "hook-stopped"
    NOT_STARTED = "not-started"  # the program refused to start
    FAILED = "failed"  # the agent reported a failure
    CRASHED = "crashed"  # it ended without a result
    KILLED = "killed"  # a limit or a signal ended it


@dataclass(frozen=True, slots=True)
class Usage:
    """What the run has used so far. `tokens_in` includes cached input.

    `cost` is in dollars; None if the agent does not report it.
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
class Message:
    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """A line that a program without events of its own has printed."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool was called; `summary` is its command, its file or its first string, in one line."""

    tool: str
    id: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call has ended; `ok` is False if it failed."""

    id: str
    ok: bool


@dataclass(frozen=True, slots=True)
class ToolDenied:
    """A tool call that permissions, a sandbox or a hook did not allow."""

    tool: str
    reason: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class RetryWait:
    """The agent waits before it asks its provider again; `seconds` is None if unknown."""

    seconds: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a run: always the last event.

    `text` is the agent's last message. `message` says what went wrong. `resets_at` is the end of
    a rate limit, in seconds since 1970, if the agent reports it.
    """

    reason: Reason
    text: str = ""
    message: str = ""
    used: Usage | None = None
    session: str | None = None
    model: str | None = None
    resets_at: float | None = None

    @property
    def ok(self) -> bool:
        return self.reason is Reason.COMPLETED


Event = (
    Started
    | Message
    | Output
    | ToolStarted
    | ToolFinished
    | ToolDenied
    | RetryWait
    | Usage
    | Finished
)
