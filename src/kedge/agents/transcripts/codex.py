"""Codex's rollouts: JSON lines of `{"timestamp", "type", "payload"}`, the first one `session_meta`.

Prompts and tool results are in the items of the conversation; the events that repeat them are
ignored. The oldest rollouts have the items bare, without a payload around them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kedge.agents.json_object import JsonObject, to_text
from kedge.agents.transcripts.events import (
    MOST_REASONING,
    Compacted,
    Event,
    PromptMessage,
    SessionFacts,
    ToolCall,
    ToolResult,
)

NAME = "codex"
# in a tool's output
_EXIT = re.compile(
    r'(?:Process exited with code |Exit code: |exit_code"\s{0,4}:\s{0,4})(-?\d{1,9})'
)
_WRAPPED = '{"output":'  # with its exit code at the end
_FAILED = re.compile(
    r"(?:\w{1,40} verification failed|execution error|Command blocked by|failed to parse"
    r"|unsupported call|aborted|\w{1,40} failed|patch rejected|rejected by user|err(?:or)?\b)",
    re.IGNORECASE,
)


class CodexRollout:
    """Reads the rollout of a session, or of a thread that a session spawned."""

    def __init__(self) -> None:
        self.facts = SessionFacts(NAME)
        self.malformed = 0
        self._at = ""
        self._cwd = ""
        self._reasoning = ""

    def read_record(self, record: JsonObject) -> list[Event]:
        self._at = record.text("timestamp") or self._at
        payload = record.child("payload")
        match record.text("type"):
            case "session_meta":
                return list(self._read_meta(payload))
            case "turn_context":
                return list(self._read_turn(payload))
            case "compacted":
                self._reasoning = ""
                return [Compacted(self._at)]
            case "response_item":
                return list(self._read_item(payload))
            case "" if "instructions" in record and record.text("id"):
                return list(self._read_meta(record))
            case _:
                return list(self._read_item(record))

    def _read_meta(self, meta: JsonObject) -> Iterator[Event]:
        """Read the metadata of the session. Only the first counts: copied history has its own."""
        if self.facts.session:
            return
        own, spawn = meta.text("id"), meta.child("source").child("subagent").child("thread_spawn")
        parent = meta.text("parent_thread_id") or spawn.text("parent_thread_id")
        session = meta.text("session_id") or own
        if parent and session == own:
            session = parent
        self._cwd = meta.text("cwd")
        version, subagent = meta.text("cli_version"), own if parent else ""
        self.facts = SessionFacts(NAME, session, self._cwd, "", version, subagent, parent)
        yield self.facts

    def _read_turn(self, meta: JsonObject) -> Iterator[Event]:
        facts = self.facts
        self._cwd = meta.text("cwd") or self._cwd
        model = meta.text("model") or facts.model
        self.facts = replace(facts, cwd=facts.cwd or self._cwd, model=model)
        if self.facts != facts:
            yield self.facts

    def _read_item(self, item: JsonObject) -> Iterator[Event]:
        """Read an item of the conversation; what else a record may be is ignored."""
        call = item.text("call_id") or item.text("id")
        match item.text("type"), item.get("role"):
            case "function_call_output" | "custom_tool_call_output", _:
                self._reasoning = ""
                yield ToolResult(item.text("call_id"), is_success(item.get("output")), self._at)
            case "message", "user":
                self._reasoning = ""
                yield from self._read_user(item)
            case "message", "assistant":
                self._add_reasoning(item, "content")
            case "reasoning", _:
                self._add_reasoning(item, "summary")
            case "function_call", _:
                tool, space = item.text("name"), item.text("namespace")
                if space.startswith("mcp__") and not tool.startswith("mcp__"):
                    tool = f"{space.removesuffix('__')}__{tool}"
                yield self._make_call(call, tool, _parse_arguments(item.get("arguments")))
            case "custom_tool_call", _:
                yield self._make_call(call, item.text("name"), item.get("input"))
            case "local_shell_call", _:
                given = item.get("action")
                if isinstance(given, dict):
                    given = {**given, "workdir": given.get("working_directory")}
                yield self._make_call(call, "local_shell", given)
            case "web_search_call", _:
                yield self._make_call(call, "web_search", item.get("action"))

    def _make_call(self, call: str, tool: str, given: Any) -> ToolCall:
        subagent = self.facts.subagent
        return ToolCall(call, tool, given, self._at, subagent, self._reasoning, self._cwd)

    def _read_user(self, item: JsonObject) -> Iterator[Event]:
        texts = [part.text("text") for part in item.children("content")]
        kinds = item.child("internal_chat_message_metadata_passthrough").items("content_item_kinds")
        theirs = texts
        if len(kinds) == len(texts):
            pairs = zip(texts, kinds, strict=True)
            theirs = [text for text, kind in pairs if to_text(kind).startswith(("user", "unknown"))]
        machine = bool(self.facts.subagent) or not theirs
        if text := "\n".join(theirs or texts):
            yield PromptMessage(item.text("id"), text, self._at, machine)

    def _add_reasoning(self, item: JsonObject, name: str) -> None:
        texts = [part.text("text") for part in item.children(name)]
        self._reasoning = "\n".join((self._reasoning, *texts)).strip()[-MOST_REASONING:]


def is_success(output: Any) -> bool:
    """True if the tool's output does not say that the call failed."""
    if isinstance(output, dict):
        return output.get("success") is not False
    text = to_text(output)
    head = text[-200:] if text.startswith(_WRAPPED) else text[:400]
    code = _EXIT.search(head.partition("Output:")[0])
    return int(code[1]) == 0 if code else _FAILED.match(head) is None


def _parse_arguments(given: Any) -> Any:
    """Return the arguments of a call, which are JSON in a string."""
    try:
        return json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return given
