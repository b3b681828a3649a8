"""What an agent has printed so far, and how its run ended: values only, no I/O."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from kedge.agents.launch.events import (
    Finished,
    Message,
    Reason,
    Started,
    ToolDenied,
    ToolFinished,
    ToolStarted,
    Usage,
)
from kedge.agents.launch.json_fields import summarize_arguments
from kedge.agents.launch.provider_faults import ProviderFault
from kedge.host.running import Ended
from kedge.host.text import shorten

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
LONGEST = 200_000  # characters of a message; the last ones are kept
_MOST = 256  # messages and calls to keep apart, so that a flood cannot slow down reading


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How the process ended, and when, in seconds since 1970."""

    ended: Ended
    at: float


@dataclass(slots=True)
class StreamState:
    """What the output says so far. The methods record a fact and return its event.

    `ended` and `total` are reported by the agent itself; `text` is its last message. `given` is
    the id of the session that it was started with.
    """

    given: str = ""
    session: str | None = None
    model: str | None = None
    text: str = ""
    text_of: str = ""  # the id of the message in `text`, if the agent sends it in pieces
    message: str = ""  # a partial message, or its id
    used: dict[str, Usage] = field(default_factory=dict)  # by message
    total: Usage | None = None
    calls: dict[str, str] = field(default_factory=dict)  # unfinished tool calls: tool by id
    denied: set[str] = field(default_factory=set)  # calls, by id
    fault: ProviderFault | None = None
    resets_at: float | None = None
    ended: Reason | None = None

    @property
    def usage(self) -> Usage | None:
        """The total that the agent reports, or else the sum over its messages."""
        if self.total is not None and (self.total.tokens_in or self.total.tokens_out):
            return self.total
        return sum_usage(self.used.values()) if self.used else self.total

    def start(self, session: str, model: str | None = None) -> Started:
        self.session, self.model = session, model
        return Started(session, model)

    def say(self, text: str, message: str = "") -> Message:
        """Set the last message, or append to it if the text belongs to the same message."""
        before = f"{self.text}\n\n" if message and message == self.text_of else ""
        self.text, self.text_of = (before + text)[-LONGEST:], message
        return Message(text)

    def start_call(self, tool: str, call: str, arguments: Any) -> ToolStarted:
        self.calls[call] = tool
        if len(self.calls) > _MOST:
            del self.calls[next(iter(self.calls))]
        return ToolStarted(tool, call, summarize_arguments(arguments))

    def finish_call(self, call: str, *, ok: bool) -> ToolFinished:
        self.calls.pop(call, None)
        return ToolFinished(call, ok)

    def deny_call(self, tool: str, reason: str, call: str) -> ToolDenied:
        if len(self.denied) >= _MOST:
            self.denied.clear()
        self.denied.add(call)
        return ToolDenied(tool, reason, call)

    def add_usage(self, message: str, used: Usage) -> bool:
        """Add the usage of a message; return False if nothing is new.

        Of several reports on one message the highest counts.
        """
        old = self.used.get(message, Usage(0, 0))
        most = Usage(
            max(old.tokens_in, used.tokens_in),
            max(old.tokens_out, used.tokens_out),
            max(old.cached, used.cached),
            old.cost if used.cost is None else used.cost,
        )
        if len(self.used) >= _MOST and message not in self.used:  # sum up the oldest half
            past = [self.used.pop(one) for one in list(self.used)[: _MOST // 2]]
            self.used = {"": sum_usage(past), **self.used}
        self.used[message] = most
        return most != old

    def end(self, fault: ProviderFault | None = None) -> None:
        """Record the end that the agent reports: complete, unless there is a fault."""
        self.ended, self.fault = fault.reason if fault else Reason.COMPLETED, fault


def sum_usage(each: Collection[Usage]) -> Usage:
    """Return the sum; its cost is None if no cost is known."""
    costs = [one.cost for one in each if one.cost is not None]
    return Usage(
        sum(one.tokens_in for one in each),
        sum(one.tokens_out for one in each),
        sum(one.cached for one in each),
        sum(costs) if costs else None,
    )


def make_finished(stream: StreamState, end: ProcessEnd) -> Finished:
    """Return the end of a run, from the agent's output and from how its process ended."""
    ended, reason = end.ended, stream.ended
    message = stream.fault.message if stream.fault else ""
    if reason is Reason.COMPLETED and ended.stopped is not None and not stream.text:
        reason = None  # Copilot CLI ends well when it is stopped, in the middle of its work, too
    if reason is None:
        message = message or last_error_line(ended.errors)
        if ended.stopped is not None:
            reason, message = Reason.KILLED, f"stopped: {ended.stopped.reason}"
        elif ended.code < 0:
            reason, message = Reason.CRASHED, message or f"ended by signal {-ended.code}"
        elif stream.session is None and ended.code:
            reason, message = Reason.NOT_STARTED, message or f"exit code {ended.code}"
        else:
            reason, message = Reason.CRASHED, message or "it ended without a result"
    elif reason is Reason.COMPLETED and ended.code and ended.stopped is None:
        reason = Reason.FAILED
        message = message or last_error_line(ended.errors) or f"exit code {ended.code}"
    fault = stream.fault.resets_at(end.at) if stream.fault else None
    return Finished(
        reason,
        stream.text,
        "" if reason is Reason.COMPLETED else message,
        stream.usage,
        stream.session,
        stream.model,
        (stream.resets_at or fault) if reason is Reason.RATE_LIMITED else None,
    )


def last_error_line(errors: bytes) -> str:
    """Return the last line of standard error that is not blank."""
    lines = _COLOUR.sub("", errors.decode("utf-8", "replace")).splitlines()
    texts = (" ".join(line.split()) for line in reversed(lines))
    return shorten(next((text for text in texts if text), ""), 500)
