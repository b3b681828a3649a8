"""What the pure part of the proxy and the relay say to each other: events in, commands out."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from kedge.proxy.sse import SseEvent


class ToolCall(NamedTuple):
    """A tool call as the model made it."""

    id: str
    tool: str
    input: Any


class Verdict(NamedTuple):
    """The answer to `Judge`: why the call is refused, or nothing."""

    refusal: str = ""


class End(NamedTuple):
    """The stream is over, complete or not."""


class Send(NamedTuple):
    """Send these bytes to the client."""

    data: bytes


class Judge(NamedTuple):
    """Judge a call that is held; the next event is its verdict."""

    call: ToolCall


class Observe(NamedTuple):
    """Record a call that has been sent already."""

    call: ToolCall


class Fault(NamedTuple):
    """Record that the stream is not understood; its bytes pass as they are."""

    message: str


Event: TypeAlias = SseEvent | Verdict | End
Command: TypeAlias = Send | Judge | Observe | Fault
