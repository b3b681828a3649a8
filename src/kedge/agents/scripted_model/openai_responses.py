"""A turn in the format of OpenAI's Responses API."""

from __future__ import annotations

import json
from typing import Any

from kedge.agents.scripted_model.anthropic_messages import Event, split_text
from kedge.agents.scripted_model.script import Thinking, Tool, Turn


def make_body(turn: Turn, model: str, ids: str) -> Event:
    """Return an answer that is not streamed. `ids` makes the ids in it unique."""
    output = [_item(block, f"{ids}{at}") for at, block in enumerate(turn.blocks)]
    return {
        "id": f"resp_{ids}",
        "object": "response",
        "status": "completed",
        "model": model,
        "output": output,
        "usage": {
            "input_tokens": turn.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": turn.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": turn.input_tokens + turn.output_tokens,
        },
    }


def make_events(turn: Turn, model: str, ids: str) -> tuple[list[Event], list[Event]]:
    """Return the events up to the end of the last item, and the one that ends the response."""
    response = make_body(turn, model, ids)
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    sent: list[Event] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        kind, field, text = _split_item(item)
        empty = {**item, field: "" if field != "content" else [], "status": "in_progress"}
        sent.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        if kind == "output_text":
            place["content_index"] = 0
        if kind:
            name = f"response.{kind}.delta"
            sent.extend({"type": name, **place, "delta": one} for one in split_text(text))
        sent.append({"type": "response.output_item.done", "output_index": index, "item": item})
    return sent, [{"type": "response.completed", "response": response}]


def make_error_body(kind: str, message: str) -> Event:
    """Return an error as the body of an answer."""
    return {"error": {"type": kind, "code": kind, "message": message, "param": None}}


def make_error_event(kind: str, message: str) -> Event:
    """Return an error as an event of a stream."""
    error = {"code": kind, "message": message}
    return {"type": "response.failed", "response": {"status": "failed", "error": error}}


def _item(block: str | Tool | Thinking, ids: str) -> Event:
    if isinstance(block, Thinking):
        summary = [{"type": "summary_text", "text": block.text}]
        return {"type": "reasoning", "id": f"rs_{ids}", "summary": summary, "status": "completed"}
    if isinstance(block, str):
        content: list[Any] = [{"type": "output_text", "text": block, "annotations": []}]
        item = {"type": "message", "id": f"msg_{ids}", "role": "assistant", "content": content}
        return {**item, "status": "completed"}
    call = {"id": f"fc_{ids}", "call_id": block.id or f"call_{ids}", "name": block.name}
    if isinstance(block.input, str):
        return {"type": "custom_tool_call", **call, "input": block.input, "status": "completed"}
    call |= {"namespace": block.namespace} if block.namespace else {}
    arguments = json.dumps(block.input, ensure_ascii=False)
    return {"type": "function_call", **call, "arguments": arguments, "status": "completed"}


def _split_item(item: Event) -> tuple[str, str, str]:
    """Return the kind of the deltas that fill the item, the field that they fill, and the text."""
    if item["type"] == "message":
        return "output_text", "content", item["content"][0]["text"]
    if item["type"] == "function_call":
        return "function_call_arguments", "arguments", item["arguments"]
    if item["type"] == "custom_tool_call":
        return "custom_tool_call_input", "input", item["input"]
    return "", "status", ""
