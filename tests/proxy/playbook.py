"""Play a stream through the pure part of the proxy: events in, commands out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from kedge.agents.scripted_model import anthropic_messages, openai_responses
from kedge.agents.scripted_model.script import Turn
from kedge.proxy.exchange import End, Fault, Judge, Observe, Send, ToolCall, Verdict
from kedge.proxy.holding import Dialect, State, step
from kedge.proxy.messages import Messages
from kedge.proxy.responses import Responses
from kedge.proxy.sse import SseReader
from kedge.proxy.tap import StreamTap

Judging = Callable[[ToolCall], str]
DIALECTS: Mapping[str, Dialect] = {"messages": Messages(), "responses": Responses()}
APIS: Mapping[str, Any] = {"messages": anthropic_messages, "responses": openai_responses}


class Played(NamedTuple):
    """What came out: the bytes, the calls that were judged or observed, the faults."""

    sent: bytes
    judged: list[ToolCall]
    observed: list[ToolCall]
    faults: list[str]
    log: list[str]  # in order: the bytes sent as text, and `judge <id>`


def play(
    dialect: Dialect,
    chunks: Iterable[bytes],
    refuse: Judging = lambda _: "",
    state: State = State(),  # noqa: B008 - immutable
) -> Played:
    played = Played(b"", [], [], [], [])
    sent: list[bytes] = []
    reader = SseReader()

    def take(event: Any) -> None:
        nonlocal state
        state, commands = step(dialect, state, event)
        for at, command in enumerate(commands):
            match command:
                case Send():
                    sent.append(command.data)
                    played.log.append(command.data.decode("utf-8", "replace"))
                case Judge():
                    assert at == len(commands) - 1
                    played.judged.append(command.call)
                    played.log.append(f"judge {command.call.id}")
                    take(Verdict(refuse(command.call)))
                case Observe():
                    played.observed.append(command.call)
                case Fault():
                    played.faults.append(command.message)

    for chunk in chunks:
        for event in reader.feed(chunk):
            take(event)
    take(End())
    sent.append(reader.rest())
    return played._replace(sent=b"".join(sent))


def drive(
    tap: StreamTap, chunks: Iterable[bytes], refuse: Judging = lambda _: ""
) -> tuple[bytes, list[ToolCall], list[str]]:
    """Follow a stream as the relay does; return the bytes sent, the calls and the faults."""
    sent: list[bytes] = []
    calls: list[ToolCall] = []
    faults: list[str] = []
    for commands in (*map(tap.feed, chunks), tap.end()):
        verdict: Verdict | None = None
        while True:
            try:
                command = commands.send(verdict)
            except StopIteration:
                break
            verdict = None
            match command:
                case Send():
                    sent.append(command.data)
                case Judge():
                    calls.append(command.call)
                    verdict = Verdict(refuse(command.call))
                case Observe():
                    calls.append(command.call)
                case Fault():
                    faults.append(command.message)
    return b"".join(sent), calls, faults


def write_stream(events: Iterable[Mapping[str, Any]], **style: Any) -> bytes:
    """Return events as a server sends them."""
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event, **style)}\n\n".encode()
        for event in events
    )


def make_stream(api: str, turn: Turn, **style: Any) -> bytes:
    sent, end = APIS[api].make_events(turn, "fake", "x")
    return write_stream([*sent, *end], **style)


def parse_stream(data: bytes) -> list[dict[str, Any]]:
    """Return the events of a stream; fail if one of them is not valid."""
    reader = SseReader()
    events = [event for event in reader.feed(data) if event.data]
    assert not reader.rest().strip()  # a line end that was cut off from an event means nothing
    values = []
    for event in events:
        assert event.json is not None, event
        assert event.name in ("", event.json["type"]), event
        values.append(event.json)
    return values


def assemble(api: str, data: bytes) -> list[dict[str, Any]]:
    """Return the blocks or items of a stream as a client puts them together."""
    return (_assemble_messages if api == "messages" else _assemble_responses)(parse_stream(data))


def _assemble_messages(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    texts: list[str] = []
    for event in events:
        if event["type"] == "content_block_start":
            assert event["index"] == len(blocks), "indexes are contiguous"
            blocks.append(dict(event["content_block"]))
            texts.append("")
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            texts[event["index"]] += str(next((v for k, v in delta.items() if k != "type"), ""))
        elif event["type"] == "content_block_stop":
            block, text = blocks[event["index"]], texts[event["index"]]
            if block["type"] == "tool_use":
                block["input"] = json.loads(text or "{}")
            elif block["type"] == "text":
                block["text"] = text
    return blocks


def _assemble_responses(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items; fail if the deltas, the items and the last event disagree."""
    items: dict[int, dict[str, Any]] = {}
    texts: dict[int, str] = {}
    for event in events:
        at = event.get("output_index", -1)
        if event["type"] == "response.output_item.done":
            items[at] = event["item"]
        elif "delta" in event:
            texts[at] = texts.get(at, "") + event["delta"]
        elif event["type"] == "response.completed":
            assert event["response"]["output"] == list(items.values())
    for at, item in items.items():
        if item["type"] == "function_call" and at in texts:
            assert texts[at] == item["arguments"]
        elif item["type"] == "custom_tool_call" and at in texts:
            assert texts[at] == item["input"]
    return list(items.values())
