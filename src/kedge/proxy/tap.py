"""Follow an answer from its bytes to commands, and give up on it without losing a byte.

A tap is driven by its caller: it yields commands, and is sent the verdict after each `Judge`.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import TypeAlias

from kedge.agents.json_object import JsonObject
from kedge.proxy import holding
from kedge.proxy.exchange import Command, End, Event, Fault, Judge, Observe, Send, Verdict
from kedge.proxy.holding import LARGEST, Dialect, State
from kedge.proxy.observers import Observer
from kedge.proxy.refusals import replace_call
from kedge.proxy.sse import SseReader

Commands: TypeAlias = Generator[Command, Verdict | None, None]


class StreamTap:
    """Follows a stream. Whatever fails here, the bytes that came in go out, and a fault says so."""

    def __init__(self, dialect: Dialect, *, holds: bool) -> None:
        self._dialect = dialect
        self._state = State(holds)
        self._reader = SseReader()
        self._passes = False  # after a failure: bytes pass without being looked at

    def feed(self, data: bytes) -> Commands:
        """Take bytes of the stream."""
        if self._passes:
            yield Send(data)
            return
        idle = self._state.is_idle
        passing = self._reader.skip(data, self._dialect.marks) if idle else None
        if passing is not None:
            yield Send(passing)
        else:
            yield from self._take([*self._reader.feed(data)])
        if self._reader.size > LARGEST:
            yield from self._give_up([], f"an event of more than {LARGEST} bytes")

    def end(self) -> Commands:
        """Take the end of the stream, complete or not."""
        if not self._passes:
            yield from self._take([End()])
        if rest := self._reader.rest():
            yield Send(rest)
            if self._dialect.marks in rest and not self._passes:
                yield Fault("an answer that ended where a call began")

    def _take(self, events: list[Event]) -> Commands:
        """Take events, and send what they release in one piece."""
        ready: list[bytes] = []
        for at, event in enumerate(events):
            current: Event | None = event
            while current is not None:
                try:
                    self._state, commands = holding.step(self._dialect, self._state, current)
                except Exception as error:  # noqa: BLE001 - the stream goes on, whatever it is
                    yield Send(b"".join(ready))
                    unsent = [] if isinstance(current, Verdict) else events[at : at + 1]
                    yield from self._give_up([*unsent, *events[at + 1 :]], repr(error))
                    return
                current = None
                for command in commands:
                    match command:
                        case Send():
                            ready.append(command.data)
                        case Judge():
                            if ready:
                                yield Send(b"".join(ready))
                                ready.clear()
                            current = (yield command) or Verdict()
                        case _:
                            yield command
        if ready:
            yield Send(b"".join(ready))

    def _give_up(self, events: list[Event], why: str) -> Commands:
        self._passes = True
        held = holding.list_held(self._state)
        raw = [event.raw for event in events if not isinstance(event, End | Verdict)]
        yield Send(b"".join([*held, *raw, self._reader.rest()]))
        yield Fault(why)


class ObserverTap:
    """Reads the calls in a stream that is only observed."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._reader = SseReader()
        self._failed = False

    def feed(self, data: bytes) -> Commands:
        if self._failed:
            return
        if self._observer.is_idle and self._reader.skip(data, self._observer.marks) is not None:
            return
        try:
            values = [event.json for event in self._reader.feed(data)]
            calls = [
                call
                for value in values
                if value is not None
                for call in self._observer.read(JsonObject(value))
            ]
        except Exception as error:  # noqa: BLE001 - the stream goes on, whatever it is
            self._failed = True
            yield Fault(repr(error))
            return
        for call in calls:
            yield Observe(call)

    def end(self) -> Commands:
        for call in self._observer.end():
            yield Observe(call)


def judge_body(dialect: Dialect, body: bytes) -> Commands:
    """Follow an answer that is not streamed: send it once all its calls are judged."""
    changed = []
    calls = dialect.list_calls(body)
    for call in calls:
        verdict = yield Judge(call)
        if verdict is not None and verdict.refusal:
            changed.append(replace_call(call, verdict.refusal))
    if not changed:
        yield Send(body)
        return
    try:
        result = dialect.replace_calls(body, changed)
        json.loads(result)
    except Exception as error:  # noqa: BLE001 - the answer is sent, whatever it is
        yield Send(body)
        yield Fault(repr(error))
        return
    yield Send(result)


def observe_body(source: Dialect | Observer, body: bytes) -> Commands:
    """Follow an answer that is not streamed and has been sent."""
    try:
        if isinstance(source, Observer):
            values = json.loads(body)
            found = [
                call
                for value in (values if isinstance(values, list) else [values])
                for call in (*source.read(JsonObject(value)), *source.end())
            ]
        else:
            found = source.list_calls(body)
    except Exception as error:  # noqa: BLE001 - it has been sent already
        yield Fault(repr(error))
        return
    for call in found:
        yield Observe(call)
