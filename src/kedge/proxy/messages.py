"""Answers of the Anthropic Messages API.

A call is a `tool_use` block: `content_block_start`, deltas of its input, `content_block_stop`. A
replaced call keeps its index and its id, and it is still a call: so indexes stay contiguous and
the stop reason stays right without being touched.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kedge.proxy import json_scan
from kedge.proxy.exchange import ToolCall
from kedge.proxy.holding import MIDDLE, START, STOP, Part
from kedge.proxy.json_scan import NotFound, Span, dump
from kedge.proxy.sse import SseEvent, write_event

_KINDS = {"content_block_start": START, "content_block_delta": MIDDLE, "content_block_stop": STOP}


class Messages:
    """How this API streams tool calls, and where they are in an answer that is not streamed."""

    marks = b"content_block_start"

    def read(self, event: SseEvent) -> Part | None:
        value = event.json or {}
        kind, key = _KINDS.get(str(value.get("type"))), value.get("index")
        if kind is None or not isinstance(key, int):
            return None
        if kind == START:
            block = value.get("content_block")
            if not isinstance(block, dict) or block.get("type") != "tool_use":
                return None
        return Part(kind, key, value)

    def build_call(self, parts: Sequence[Part]) -> ToolCall | None:
        block = parts[0].value["content_block"]
        text = "".join(_read_delta(part) for part in parts[1:-1])
        try:
            given = json.loads(text) if text else block.get("input")
        except (ValueError, RecursionError):
            return None  # cut off by the token limit
        return ToolCall(str(block.get("id") or ""), str(block.get("name") or ""), given)

    def rewrite(self, parts: Sequence[Part], call: ToolCall) -> list[bytes]:
        start = parts[0].value
        block = {**start["content_block"], "name": call.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call.input)}
        changed = {"type": "content_block_delta", "index": start["index"], "delta": delta}
        events = [{**start, "content_block": block}, changed]
        written = b"".join(write_event(event["type"], dump(event)) for event in events)
        stop = write_event("content_block_stop", dump(parts[-1].value))
        return [written, *[b""] * (len(parts) - 2), stop]

    def amend(self, event: SseEvent, refused: Sequence[ToolCall]) -> bytes:  # noqa: ARG002
        return event.raw  # no later event repeats a call

    def list_calls(self, body: bytes) -> list[ToolCall]:
        return [call for call, _ in _find_calls(body)]

    def replace_calls(self, body: bytes, changed: Sequence[ToolCall]) -> bytes:
        """Return an answer with some of its calls replaced, and every other byte as it was."""
        by_id = {call.id: call for call in changed}
        changes: list[tuple[Span, bytes]] = []
        for call, span in _find_calls(body):
            other = by_id.get(call.id)
            if other is not None:
                block = body[slice(*span)]
                name, given = json_scan.find(block, "name"), json_scan.find(block, "input")
                pieces = [(name, dump(other.tool)), (given, dump(other.input))]
                changes.append((span, json_scan.replace(block, pieces)))
        return json_scan.replace(body, changes)


def _read_delta(part: Part) -> str:
    delta = part.value.get("delta")
    text = delta.get("partial_json") if isinstance(delta, dict) else ""
    return text if isinstance(text, str) else ""


def _find_calls(body: bytes) -> list[tuple[ToolCall, Span]]:
    """Return the calls of an answer that is not streamed, with the places of their blocks."""
    try:
        spans = list(json_scan.scan_array(body, json_scan.find(body, "content").start))
        blocks: list[tuple[Any, Span]] = [(json.loads(body[slice(*span)]), span) for span in spans]
    except (NotFound, ValueError, RecursionError):
        return []
    return [
        (ToolCall(str(block.get("id") or ""), str(block.get("name")), block.get("input")), span)
        for block, span in blocks
        if isinstance(block, dict) and block.get("type") == "tool_use"
    ]
