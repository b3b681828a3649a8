"""Answers of OpenAI's Responses API, as Codex uses it.

A call is an output item: `response.output_item.added`, events that fill it, and
`response.output_item.done` with the whole item. The last event of the stream has all items again.
Events are numbered, so a replaced call has as many events as the one that it replaces.
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

_ADDED, _DONE = "response.output_item.added", "response.output_item.done"
_FILLED = {"function_call": "arguments", "custom_tool_call": "input"}
_SHELL = "local_shell_call"


class Responses:
    """How this API streams tool calls, and where they are in an answer that is not streamed."""

    marks = b"response.output_item.added"

    def read(self, event: SseEvent) -> Part | None:
        value = event.json or {}
        kind, key = str(value.get("type")), value.get("output_index")
        if not isinstance(key, int):
            return None
        if kind == _ADDED:
            item = value.get("item")
            is_call = isinstance(item, dict) and read_call(item) is not None
            return Part(START, key, value) if is_call else None
        if kind == _DONE:
            return Part(STOP, key, value)
        return Part(MIDDLE, key, value)

    def build_call(self, parts: Sequence[Part]) -> ToolCall | None:
        item = parts[-1].value.get("item")
        return read_call(item) if isinstance(item, dict) else None

    def rewrite(self, parts: Sequence[Part], call: ToolCall) -> list[bytes]:
        written, text = [], ""
        for part in parts:
            value = dict(part.value)
            if isinstance(value.get("item"), dict):
                value["item"] = item = replace_item(value["item"], call)
                text = ""
                if part.kind == START and item["type"] in _FILLED:
                    field = _FILLED[item["type"]]
                    text, item[field] = item[field], ""
            if "delta" in value:
                value["delta"], text = text, ""
            for field in ("arguments", "input"):
                if isinstance(value.get(field), str):
                    value[field] = _write_input(call.input)
            written.append(write_event(str(value["type"]), dump(value)))
        return written

    def amend(self, event: SseEvent, refused: Sequence[ToolCall]) -> bytes:
        data = event.data
        try:
            output = json_scan.find(data, "response", "output")
            changed = _replace_items(data, output, refused)
        except NotFound:
            return event.raw
        return write_event(event.name, changed) if changed != data else event.raw

    def list_calls(self, body: bytes) -> list[ToolCall]:
        try:
            return [call for call, _, _ in _find_calls(body, json_scan.find(body, "output"))]
        except NotFound:
            return []

    def replace_calls(self, body: bytes, changed: Sequence[ToolCall]) -> bytes:
        """Return an answer with some of its calls replaced, and every other byte as it was."""
        return _replace_items(body, json_scan.find(body, "output"), changed)


def read_call(item: dict[str, Any]) -> ToolCall | None:
    """Return the call that an item of the conversation makes, or None."""
    kind = str(item.get("type"))
    name = str(item.get("call_id") or item.get("id") or "")
    if kind == _SHELL:
        return ToolCall(name, "local_shell", item.get("action"))
    if kind not in _FILLED:
        return None
    tool, space = str(item.get("name") or ""), str(item.get("namespace") or "")
    if space.startswith("mcp__") and not tool.startswith("mcp__"):
        tool = f"{space.removesuffix('__')}__{tool}"
    given = item.get(_FILLED[kind])
    if kind == "function_call" and isinstance(given, str) and given:
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return ToolCall(name, tool, given)
    return ToolCall(name, tool, given)


def replace_item(item: dict[str, Any], call: ToolCall) -> dict[str, Any]:
    """Return an item that makes another call, with the ids of this one."""
    if item["type"] == _SHELL:
        return {**item, "action": call.input}
    field = _FILLED[item["type"]]
    changed = {**item, "name": call.tool, field: _write_input(call.input)}
    original = read_call(item)
    if original is not None and original.tool == call.tool:
        changed["name"] = item["name"]  # which may be in a namespace
    return changed


def _write_input(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given)


def _find_calls(data: bytes, output: Span) -> list[tuple[ToolCall, Span, dict[str, Any]]]:
    found = []
    for span in json_scan.scan_array(data, output.start):
        try:
            item = json.loads(data[slice(*span)])
        except (ValueError, RecursionError) as error:
            raise NotFound("an item that is not valid") from error
        call = read_call(item) if isinstance(item, dict) else None
        if call is not None:
            found.append((call, span, item))
    return found


def _replace_items(data: bytes, output: Span, changed: Sequence[ToolCall]) -> bytes:
    by_id = {call.id: call for call in changed}
    changes = [
        (span, dump(replace_item(item, by_id[call.id])))
        for call, span, item in _find_calls(data, output)
        if call.id in by_id
    ]
    return json_scan.replace(data, changes)
