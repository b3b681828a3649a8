"""What an agent has printed so far, and how its run ended: values only, no I/O."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from kedge.agents.launch.events import Finished, Reason, Usage
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


@dataclass(frozen=True, slots=True)
class StreamState:
    """What the output says so far.

    `ended` and `total` are reported by the agent itself; `text` is its last message.
    """

    session: str | None = None
    model: str | None = None
    text: str = ""
    text_of: str = ""  # the id of the message in `text`, if the agent sends it in pieces
    message: str = ""  # a partial message, or its id
    used: Mapping[str, Usage] = field(default_factory=dict)  # by message
    total: Usage | None = None
    calls: Mapping[str, str] = field(default_factory=dict)  # unfinished tool calls: tool by id
    denied: frozenset[str] = frozenset()  # calls, by id
    fault: ProviderFault | None = None
    resets_at: float | None = None
    ended: Reason | None = None

    @property
    def usage(self) -> Usage | None:
        """The total that the agent reports, or else the sum over its messages."""
        if self.total is not None and (self.total.tokens_in or self.total.tokens_out):
            return self.total
        return _sum(self.used.values()) if self.used else self.total

    def add_usage(self, message: str, used: Usage) -> StreamState:
        """Add the usage of a message. Of several reports on one message the highest counts."""
        old = self.used.get(message, Usage(0, 0))
        most = Usage(
            max(old.tokens_in, used.tokens_in),
            max(old.tokens_out, used.tokens_out),
            max(old.cached, used.cached),
            old.cost if used.cost is None else used.cost,
        )
        if most == old:
            return self
        kept = dict(self.used)
        if len(kept) >= _MOST and message not in kept:  # sum up the oldest half
            past = [kept.pop(one) for one in list(kept)[: _MOST // 2]]
            kept = {"": _sum(past), **kept}
        return replace(self, used={**kept, message: most})

    def add_text(self, text: str, message: str) -> StreamState:
        """Set the last message, or append to it if the text belongs to the same message."""
        before = f"{self.text}\n\n" if message and message == self.text_of else ""
        return replace(self, text=(before + text)[-LONGEST:], text_of=message)

    def add_call(self, call: str, tool: str) -> StreamState:
        calls = dict(list(self.calls.items())[-_MOST:])
        return replace(self, calls={**calls, call: tool})

    def remove_call(self, call: str) -> StreamState:
        left = {key: tool for key, tool in self.calls.items() if key != call}
        return replace(self, calls=left)

    def add_denial(self, call: str) -> StreamState:
        return replace(
            self, denied=(self.denied if len(self.denied) < _MOST else frozenset()) | {call}
        )


def _sum(each: Collection[Usage]) -> Usage:
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
