"""A turn in the format of OpenAI's chat completions."""

from __future__ import annotations

import json

from kedge.agents.scripted_model.anthropic_messages import Event, split_text
from kedge.agents.scripted_model.script import Tool, Turn


def make_body(turn: Turn, model: str, ids: str) -> Event:
    """Return an answer that is not streamed. `ids` makes the ids in it unique."""
    message: Event = {"role": "assistant", "content": _join_texts(turn)}
    if turn.tools:
        message["tool_calls"] = _list_calls(turn, ids)
    choice = {"index": 0, "message": message, "finish_reason": _reason(turn)}
    answer = _answer("chat.completion", model, ids)
    return {**answer, "choices": [choice], "usage": _usage(turn)}


def make_events(turn: Turn, model: str, ids: str) -> tuple[list[Event], list[Event]]:
    """Return the chunks up to the last call, and those that end the answer."""
    deltas: list[Event] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in split_text(_join_texts(turn)) if piece]
    for index, call in enumerate(_list_calls(turn, ids)):
        function = call["function"]
        start = {**call, "index": index, "function": {**function, "arguments": ""}}
        deltas.append({"tool_calls": [start]})
        for piece in split_text(function["arguments"]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    answer = _answer("chat.completion.chunk", model, ids)
    sent = [_make_chunk(answer, delta, None) for delta in deltas]
    usage = {**answer, "choices": [], "usage": _usage(turn)}
    return sent, [_make_chunk(answer, {}, _reason(turn)), usage]


def make_error_body(kind: str, message: str) -> Event:
    """Return an error as the body of an answer."""
    return {"error": {"type": kind, "code": kind, "message": message, "param": None}}


make_error_event = make_error_body


def _make_chunk(answer: Event, delta: Event, reason: str | None) -> Event:
    return {**answer, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def _answer(kind: str, model: str, ids: str) -> Event:
    return {"id": f"chatcmpl-{ids}", "object": kind, "created": 1_700_000_000, "model": model}


def _reason(turn: Turn) -> str:
    return "tool_calls" if turn.tools else "stop"


def _join_texts(turn: Turn) -> str:
    return "".join(block for block in turn.blocks if isinstance(block, str))


def _list_calls(turn: Turn, ids: str) -> list[Event]:
    return [_make_call(tool, f"call_{ids}{at}") for at, tool in enumerate(turn.tools)]


def _make_call(tool: Tool, name: str) -> Event:
    given = tool.input
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    function = {"name": tool.name, "arguments": arguments}
    return {"id": tool.id or name, "type": "function", "function": function}


def _usage(turn: Turn) -> dict[str, int]:
    return {
        "prompt_tokens": turn.input_tokens,
        "completion_tokens": turn.output_tokens,
        "total_tokens": turn.input_tokens + turn.output_tokens,
    }
