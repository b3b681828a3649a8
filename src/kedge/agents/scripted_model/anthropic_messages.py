"""A turn in the format of the Anthropic Messages API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kedge.agents.scripted_model.script import Thinking, Tool, Turn

Event = dict[str, Any]

_MOST_DELTA = 40  # characters; a longer text comes in several deltas


def split_text(text: str) -> list[str]:
    """Split a text into the deltas of a stream."""
    return [text[at : at + _MOST_DELTA] for at in range(0, len(text), _MOST_DELTA)] or [""]


def make_body(turn: Turn, model: str, ids: str) -> Event:
    """Return an answer that is not streamed. `ids` makes the ids in it unique."""
    return {
        "id": f"msg_{ids}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [_make_block(block, f"toolu_{ids}{at}") for at, block in enumerate(turn.blocks)],
        "stop_reason": "tool_use" if turn.tools else "end_turn",
        "stop_sequence": None,
        "usage": _usage(turn),
    }


def make_events(turn: Turn, model: str, ids: str) -> tuple[list[Event], list[Event]]:
    """Return the events up to the end of the last block, and those that end the message."""
    message = make_body(turn, model, ids)
    content, reason = message["content"], message["stop_reason"]
    start = {**message, "content": [], "stop_reason": None}
    start["usage"] = {**message["usage"], "output_tokens": 1}
    sent: list[Event] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(content):
        empty, deltas = _split_block(block)
        sent.append({"type": "content_block_start", "index": index, "content_block": empty})
        sent.extend({"type": "content_block_delta", "index": index, "delta": one} for one in deltas)
        sent.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": reason, "stop_sequence": None}
    end = {"type": "message_delta", "delta": delta, "usage": _usage(turn)}
    return sent, [end, {"type": "message_stop"}]


def make_error_body(kind: str, message: str) -> Event:
    """Return an error as the body of an answer."""
    return {"type": "error", "error": {"type": kind, "message": message}}


def make_error_event(kind: str, message: str) -> Event:
    """Return an error as an event of a stream."""
    return make_error_body(kind, message)


def _usage(turn: Turn) -> dict[str, int]:
    return {
        "input_tokens": turn.input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": turn.output_tokens,
    }


def _make_block(block: str | Tool | Thinking, name: str) -> Event:
    if isinstance(block, Tool):
        return {
            "type": "tool_use",
            "id": block.id or name,
            "name": block.name,
            "input": block.input,
        }
    if isinstance(block, Thinking):
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    return {"type": "text", "text": block}


def _split_block(block: Event) -> tuple[Event, Iterator[Event]]:
    """Return the empty block that starts, and the deltas that fill it."""
    if block["type"] == "tool_use":
        text = json.dumps(block["input"], ensure_ascii=False)
        deltas = ({"type": "input_json_delta", "partial_json": one} for one in split_text(text))
        return {**block, "input": {}}, deltas
    if block["type"] == "text":
        return {**block, "text": ""}, (
            {"type": "text_delta", "text": one} for one in split_text(block["text"])
        )
    return {**block, "thinking": "", "signature": ""}, iter(
        [
            *({"type": "thinking_delta", "thinking": one} for one in split_text(block["thinking"])),
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    )
