"""A turn in the format of the Gemini API: `generateContent` and `streamGenerateContent`."""

from __future__ import annotations

import json
from typing import Any

from kedge.agents.scripted_model.anthropic_messages import Event, split_text
from kedge.agents.scripted_model.script import Thinking, Tool, Turn

# The names that the Anthropic API has for errors, and what they are here.
_ERRORS = {
    "invalid_request_error": (400, "INVALID_ARGUMENT"),
    "authentication_error": (401, "UNAUTHENTICATED"),
    "permission_error": (403, "PERMISSION_DENIED"),
    "not_found_error": (404, "NOT_FOUND"),
    "rate_limit_error": (429, "RESOURCE_EXHAUSTED"),
    "overloaded_error": (503, "UNAVAILABLE"),
}


def make_body(turn: Turn, model: str, ids: str) -> Event:
    """Return an answer that is not streamed. `ids` makes the ids in it unique."""
    parts = [_make_part(block) for block in turn.blocks]
    return {**_make_chunk(parts, model, ids, end=True), "usageMetadata": _usage(turn)}


def make_events(turn: Turn, model: str, ids: str) -> tuple[list[Event], list[Event]]:
    """Return the chunks up to the last part, and the one that ends the answer."""
    parts: list[Event] = []
    for block in turn.blocks:
        if isinstance(block, Tool):  # a call comes whole
            parts.append(_make_part(block))
        else:
            part = _make_part(block)
            parts.extend({**part, "text": piece} for piece in split_text(part["text"]))
    sent = [_make_chunk([part], model, ids) for part in parts]
    end = _make_chunk([{"text": ""}], model, ids, end=True)
    return sent, [{**end, "usageMetadata": _usage(turn)}]


def make_error_body(kind: str, message: str) -> Event:
    """Return an error as the body of an answer."""
    status, name = _ERRORS.get(kind, (500, "INTERNAL"))
    return {"error": {"code": status, "message": message, "status": name}}


make_error_event = make_error_body


def _make_chunk(parts: list[Event], model: str, ids: str, *, end: bool = False) -> Event:
    candidate: Event = {"content": {"role": "model", "parts": parts}, "index": 0}
    if end:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate], "modelVersion": model, "responseId": f"resp_{ids}"}


def _make_part(block: str | Tool | Thinking) -> Event:
    if isinstance(block, Tool):
        return {"functionCall": {"name": block.name, "args": _arguments(block)}}
    if isinstance(block, Thinking):
        return {"text": block.text, "thought": True}
    return {"text": block}


def _arguments(tool: Tool) -> Any:
    return json.loads(tool.input) if isinstance(tool.input, str) else tool.input


def _usage(turn: Turn) -> dict[str, int]:
    return {
        "promptTokenCount": turn.input_tokens,
        "candidatesTokenCount": turn.output_tokens,
        "totalTokenCount": turn.input_tokens + turn.output_tokens,
    }
