"""Hold each tool call of a streamed answer until it is judged; everything else passes at once.

Clients run a tool as soon as its block is complete, so a call is held from its first event to its
last one, judged, and then released as it came or replaced. What arrives while a call is held waits
behind it, so that the order of the bytes never changes.

The APIs differ in their events only. A `Dialect` reads and rewrites those; `step` is the same for
all: a function of a state and an event, which returns the next state and commands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from kedge.proxy.exchange import (
    Command,
    End,
    Event,
    Fault,
    Judge,
    Observe,
    Send,
    ToolCall,
    Verdict,
)
from kedge.proxy.refusals import replace_call
from kedge.proxy.sse import SseEvent

START, MIDDLE, STOP = "start", "middle", "stop"
LARGEST = 16 << 20  # bytes that are held at most


class Part(NamedTuple):
    """What an event is to a call: its start, its stop, or between. `key` tells calls apart."""

    kind: str
    key: int
    value: dict[str, Any]


class Dialect(Protocol):
    """How one API streams tool calls."""

    marks: bytes
    """Bytes that every event has in which a call starts."""

    def read(self, event: SseEvent) -> Part | None:
        """Return what an event is to a call; None if it belongs to no call."""

    def build_call(self, parts: Sequence[Part]) -> ToolCall | None:
        """Return the call that is complete; None if it cannot be understood."""

    def rewrite(self, parts: Sequence[Part], call: ToolCall) -> list[bytes]:
        """Return the events of another call in place of these, one for each; empty to drop one."""

    def amend(self, event: SseEvent, refused: Sequence[ToolCall]) -> bytes:
        """Return an event that may repeat calls that were replaced."""

    def list_calls(self, body: bytes) -> list[ToolCall]:
        """Return the calls of an answer that is not streamed."""

    def replace_calls(self, body: bytes, changed: Sequence[ToolCall]) -> bytes:
        """Return such an answer with calls replaced by those of the same id."""


class Held(NamedTuple):
    """Held events as a linked list, the last one first: adding one copies nothing."""

    before: Held | None
    event: SseEvent
    part: Part | None


class State(NamedTuple):
    """Where a stream is. Without `holds`, calls are observed and never held."""

    holds: bool = True
    held: Held | None = None
    size: int = 0  # bytes that are held
    open: frozenset[int] = frozenset()  # keys of calls that are not complete
    judged: int = -1  # the key of the call that waits for its verdict
    replaced: tuple[tuple[int, ToolCall], ...] = ()  # by key, what is sent instead
    lost: bool = False  # the stream is not understood: the rest of it passes

    @property
    def is_idle(self) -> bool:
        """True if events without a dialect's marks pass unread."""
        return self.lost or not (self.open or self.replaced)


def step(dialect: Dialect, state: State, event: Event) -> tuple[State, list[Command]]:
    """Take an event. After a `Judge` command, the next event must be its verdict."""
    match event:
        case SseEvent():
            return _take_event(dialect, state, event)
        case Verdict():
            return _take_verdict(dialect, state, event)
        case End():
            broken: list[Command] = [Fault("an answer that ended in a call")] if state.open else []
            state, commands = _release(dialect, state)
            return state, [*commands, *broken]


def list_held(state: State) -> list[bytes]:
    """Return the bytes that are held, as they came."""
    return [event.raw for event, _ in _unroll(state)] if state.holds else []


def _take_event(dialect: Dialect, state: State, event: SseEvent) -> tuple[State, list[Command]]:
    if state.lost:
        return state, [Send(event.raw)]
    if not state.open and dialect.marks not in event.raw:
        calls = [call for _, call in state.replaced]
        return state, [Send(dialect.amend(event, calls) if calls else event.raw)]
    if not state.open and event.json is None:
        return state, [Send(event.raw), Fault("an event with a call that is not JSON")]
    part = dialect.read(event)
    if part is not None and part.kind == START:
        if part.key in state.open or part.key in dict(state.replaced):
            return _lose(dialect, state, event, f"block {part.key} starts twice")
        state = state._replace(open=state.open | {part.key})
    if not state.open:
        return state, [Send(event.raw)]
    if part is not None and part.key not in state.open:
        part = None
    if state.size + len(event.raw) > LARGEST:
        return _lose(dialect, state, event, f"a call of more than {LARGEST} bytes")
    state = state._replace(held=Held(state.held, event, part), size=state.size + len(event.raw))
    sent: list[Command] = [] if state.holds else [Send(event.raw)]
    if part is None or part.kind != STOP:
        return state, sent
    state = state._replace(open=state.open - {part.key}, judged=part.key)
    call = dialect.build_call(_list_parts(state, part.key))
    if call is not None and state.holds:
        return state, [Judge(call)]
    if call is not None:
        sent.append(Observe(call))
    if state.open:
        return state, sent
    state, released = _release(dialect, state)
    return state, sent + released


def _take_verdict(dialect: Dialect, state: State, verdict: Verdict) -> tuple[State, list[Command]]:
    if verdict.refusal:
        call = dialect.build_call(_list_parts(state, state.judged))
        assert call is not None  # noqa: S101 - it was judged
        other = replace_call(call, verdict.refusal)
        state = state._replace(replaced=(*state.replaced, (state.judged, other)))
    return (state, []) if state.open else _release(dialect, state)


def _release(dialect: Dialect, state: State) -> tuple[State, list[Command]]:
    """Send what is held: calls that were refused are replaced, the rest is as it came."""
    written = {
        key: dialect.rewrite(parts, call)
        for key, call in state.replaced
        if (parts := _list_parts(state, key))
    }
    data = b"".join(
        written[part.key].pop(0) if part is not None and part.key in written else event.raw
        for event, part in _unroll(state)
    )
    state = state._replace(held=None, size=0, open=frozenset(), judged=-1)
    return state, [Send(data)] if data and state.holds else []


def _lose(dialect: Dialect, state: State, event: SseEvent, why: str) -> tuple[State, list[Command]]:
    """Give up on a stream: send what is held and the event, and let the rest pass."""
    state, commands = _release(dialect, state)
    return state._replace(lost=True), [*commands, Send(event.raw), Fault(why)]


def _unroll(state: State) -> list[tuple[SseEvent, Part | None]]:
    found, held = [], state.held
    while held is not None:
        found.append((held.event, held.part))
        held = held.before
    return found[::-1]


def _list_parts(state: State, key: int) -> list[Part]:
    return [part for _, part in _unroll(state) if part is not None and part.key == key]
