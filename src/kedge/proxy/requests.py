"""Read the conversation in a request of each API. Unknown roles, blocks and items are ignored."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kedge.agents.json_object import JsonObject, to_text
from kedge.agents.transcripts.codex import is_success
from kedge.host.digest import digest
from kedge.proxy.conversation import Answered, Entry, Returned, Said
from kedge.proxy.exchange import ToolCall
from kedge.proxy.responses import read_call

_TOOLS_ITEM = "additional_tools"


def read_entries(api: str, body: JsonObject) -> list[Entry]:
    """Return the entries of a conversation, in order."""
    return list(_READERS[api](body))


def has_tools(body: JsonObject) -> bool:
    """False for requests beside the conversation: titles, topics, routing.

    Codex lists the tools of newer models in the conversation.
    """
    items = body.children("input")
    return bool(body.items("tools")) or any(item.text("type") == _TOOLS_ITEM for item in items)


def _read_messages(body: JsonObject) -> Iterator[Entry]:
    for index, message in enumerate(map(JsonObject, body.items("messages"))):
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        parts = [JsonObject(one) for one in blocks] if isinstance(blocks, list) else []
        texts = "\n".join(one.text("text") for one in parts if one.text("type") == "text")
        if message.text("role") == "user":
            for one in parts:
                if one.text("type") == "tool_result":
                    ok = one.get("is_error") is not True
                    yield Returned(index, one.text("tool_use_id"), ok, _join(one.get("content")))
            yield Said(index, texts)
        elif message.text("role") == "assistant":
            calls = tuple(
                ToolCall(one.text("id"), one.text("name"), one.get("input"))
                for one in parts
                if one.text("type") == "tool_use"
            )
            thoughts = "\n".join(filter(None, (one.text("thinking") for one in parts)))
            yield Answered(index, texts or thoughts, calls)
        elif message.text("role") == "system":
            yield Said(index, "")  # newer clients put reminders there, behind the last result


def _read_responses(body: JsonObject) -> Iterator[Entry]:
    given = body.get("input")
    if isinstance(given, str):
        yield Said(0, given)
    for index, item in enumerate(map(JsonObject, body.items("input"))):
        kind, role = item.text("type") or "message", item.text("role")
        if kind == "message" and role in ("user", "assistant"):
            text = _join(item.get("content"))
            yield Said(index, text) if role == "user" else Answered(index, text)
        elif kind.endswith("_call_output"):
            output = item.get("output")
            yield Returned(index, item.text("call_id"), is_success(output), _join(output))
        elif kind == "reasoning":
            yield Answered(index, _join(item.get("summary")))
        else:
            call = read_call(body.items("input")[index]) if item else None
            if call is not None:
                yield Answered(index, "", (call,))


def _read_chat(body: JsonObject) -> Iterator[Entry]:
    for index, message in enumerate(map(JsonObject, body.items("messages"))):
        text = _join(message.get("content"))
        role = message.text("role")
        if role == "user":
            yield Said(index, text)
        elif role == "tool":
            yield Returned(index, message.text("tool_call_id"), is_success(text), text)
        elif role == "assistant":
            calls = message.children("tool_calls")
            yield Answered(index, text, tuple(read_function(one) for one in calls))


def _read_gemini(body: JsonObject) -> Iterator[Entry]:
    made: list[str] = []
    returned = 0
    for index, content in enumerate(body.children("contents")):
        parts = content.children("parts")
        text = "\n".join(
            filter(None, (one.text("text") for one in parts if not one.get("thought")))
        )
        if content.text("role") == "model":
            calls = []
            for one in parts:
                if "functionCall" in one:
                    calls.append(read_gemini_call(one.child("functionCall"), len(made)))
                    made.append(calls[-1].id)
            yield Answered(index, text, tuple(calls))
            continue
        for one in parts:
            if "functionResponse" in one and returned < len(made):
                ok = "error" not in one.child("functionResponse").child("response")
                yield Returned(index, made[returned], ok)
                returned += 1
        yield Said(index, text)


def _join(content: Any) -> str:
    """Return the text of a message, which is a string or a list of parts."""
    if not isinstance(content, list):
        return to_text(content)
    return "\n".join(filter(None, (JsonObject(part).text("text") for part in content)))


def read_function(call: JsonObject) -> ToolCall:
    """Return a call of Chat Completions."""
    function = call.child("function")
    given = function.get("arguments")
    with contextlib.suppress(ValueError, RecursionError):
        given = json.loads(given) if isinstance(given, str) and given else {}
    return ToolCall(call.text("id"), function.text("name"), given)


def read_gemini_call(call: JsonObject, number: int) -> ToolCall:
    """Return a call of Gemini, with an id of its number and what it does.

    Answers come without ids, and the client makes some up for the next request.
    """
    tool, given = call.text("name"), call.get("args")
    content = json.dumps([tool, given], sort_keys=True).encode()
    return ToolCall(f"call-{number}-{digest([content])[:16]}", tool, given)


_READERS: Mapping[str, Callable[[JsonObject], Iterator[Entry]]] = {
    "messages": _read_messages,
    "responses": _read_responses,
    "chat": _read_chat,
    "gemini": _read_gemini,
}
