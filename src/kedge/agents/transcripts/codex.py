"""Codex's rollouts: JSON lines of `{"timestamp", "type", "payload"}`, the first one `session_meta`.

Prompts and tool results are in the items of the conversation; the events that repeat them are
ignored. The oldest rollouts have the items bare, without a payload around them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import msgspec

from kedge.agents.transcripts.events import (
    MOST_REASONING,
    Compacted,
    Event,
    PromptMessage,
    SessionFacts,
    ToolCall,
    ToolResult,
    to_text,
)

NAME = "codex"
_HEAD = 200  # bytes in which to look for a line's type
_TYPE = b'"type":"'
_ITEMS = ("message", "reasoning", "function_call", "function_call_output", "custom_tool_call",
          "custom_tool_call_output", "local_shell_call", "web_search_call")  # fmt: skip
_LINES = ("session_meta", "turn_context", "response_item", "compacted", *_ITEMS)
_OURS = frozenset(name.encode() for name in _LINES)
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_NOTHING = msgspec.Raw(b"null")
# in the JSON of a tool's result
_EXIT = re.compile(
    rb'(?:Process exited with code |Exit code: |exit_code\\?"\s{0,4}:\s{0,4})(-?\d+)'
)
_WRAPPED = rb'"{\"output\":'  # with its exit code at the end
_FAILED = re.compile(
    rb'"(?:\w{1,40} verification failed|execution error|Command blocked by|failed to parse'
    rb"|unsupported call|aborted|\w{1,40} failed|patch rejected|rejected by user|err(?:or)?\b)",
    re.IGNORECASE,
)


class _Line(msgspec.Struct, gc=False):
    """A line. Fields that may have an unexpected type are `Any`."""

    type: Any = None
    timestamp: Any = None
    payload: msgspec.Raw = _NOTHING
    id: Any = None
    instructions: msgspec.Raw = msgspec.Raw(b"")


class _Meta(msgspec.Struct, gc=False):
    """The metadata of a session or of a turn."""

    id: Any = None
    session_id: Any = None
    cwd: Any = None
    cli_version: Any = None
    model: Any = None
    parent_thread_id: Any = None
    source: Any = None


class _Item(msgspec.Struct, gc=False):
    type: Any = None
    id: Any = None
    role: Any = None
    name: Any = None
    namespace: Any = None
    call_id: Any = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    content: msgspec.Raw = _NOTHING
    summary: msgspec.Raw = _NOTHING
    output: msgspec.Raw = _NOTHING
    internal_chat_message_metadata_passthrough: Any = None


class _Part(msgspec.Struct, gc=False):
    text: Any = None


class _Output(msgspec.Struct, gc=False):
    success: Any = None


_line = msgspec.json.Decoder(_Line).decode
_meta = msgspec.json.Decoder(_Meta).decode
_item = msgspec.json.Decoder(_Item).decode
_parts = msgspec.json.Decoder(list[_Part]).decode
_output = msgspec.json.Decoder(_Output).decode
_any = msgspec.json.Decoder().decode


class CodexRollout:
    """Reads the rollout of a session, or of a thread that a session spawned."""

    def __init__(self) -> None:
        self._facts = SessionFacts(NAME)
        self._at = ""
        self._cwd = ""
        self._reasoning = ""

    def read_line(self, line: bytes) -> list[Event]:
        if is_irrelevant(line):
            return []
        record = _line(line)
        at = to_text(record.timestamp) or self._at
        events: list[Event] = []
        if record.type == "session_meta":
            events = self._read_meta(_meta(record.payload))
        elif record.type == "turn_context":
            events = self._read_turn(_meta(record.payload))
        elif record.type == "compacted":
            self._reasoning = ""
            events = [Compacted(at)]
        elif record.type == "response_item":
            events = self._read_item(_item(record.payload), at)
        elif record.type in _ITEMS:
            events = self._read_item(_item(line), at)
        elif record.type is None and bytes(record.instructions) and to_text(record.id):
            events = self._read_meta(_Meta(record.id))
        self._at = at
        return events

    def _read_meta(self, meta: _Meta) -> list[Event]:
        """Read the metadata of the session. Only the first counts: copied history has its own."""
        if self._facts.session:
            return []
        own = to_text(meta.id)
        parent = to_text(meta.parent_thread_id) or _find_parent(meta.source)
        session = to_text(meta.session_id) or own
        if parent and session == own:
            session = parent
        self._cwd = to_text(meta.cwd)
        version = to_text(meta.cli_version)
        subagent = own if parent else ""
        self._facts = SessionFacts(NAME, session, self._cwd, "", version, subagent, parent)
        return [self._facts]

    def _read_turn(self, meta: _Meta) -> list[Event]:
        self._cwd = to_text(meta.cwd) or self._cwd
        found = replace(
            self._facts,
            cwd=self._facts.cwd or self._cwd,
            model=to_text(meta.model) or self._facts.model,
        )
        if found == self._facts:
            return []
        self._facts = found
        return [found]

    def _read_item(self, item: _Item, at: str) -> list[Event]:
        if item.type in _OUTPUTS:
            ok = is_success(item.output)
            self._reasoning = ""
            return [ToolResult(to_text(item.call_id), ok, at)]
        if item.type == "message" and item.role == "user":
            self._reasoning = ""
            return self._read_user(item, at)
        if item.type == "message" and item.role == "assistant":
            self._add_reasoning(_texts(item.content))
        elif item.type == "reasoning":
            self._add_reasoning(_texts(item.summary))
        else:
            return self._read_call(item, at)
        return []

    def _read_user(self, item: _Item, at: str) -> list[Event]:
        metadata = item.internal_chat_message_metadata_passthrough
        kinds = metadata.get("content_item_kinds") if isinstance(metadata, dict) else None
        texts = _texts(item.content)
        theirs = texts
        if isinstance(kinds, list) and len(kinds) == len(texts):
            pairs = zip(texts, kinds, strict=True)
            theirs = [text for text, kind in pairs if to_text(kind).startswith(("user", "unknown"))]
        machine = bool(self._facts.subagent) or not theirs
        text = "\n".join(theirs or texts)
        return [PromptMessage(to_text(item.id), text, at, machine)] if text else []

    def _add_reasoning(self, texts: list[str]) -> None:
        self._reasoning = "\n".join((self._reasoning, *texts)).strip()[-MOST_REASONING:]

    def _read_call(self, item: _Item, at: str) -> list[Event]:
        id, tool, given = to_text(item.call_id), to_text(item.name), item.input  # noqa: A001
        if item.type == "function_call":
            given = _arguments(item.arguments)
            space = to_text(item.namespace)
            if space.startswith("mcp__") and not tool.startswith("mcp__"):
                tool = f"{space.removesuffix('__')}__{tool}"
        elif item.type == "local_shell_call":
            tool, given = "local_shell", _action(item.action)
        elif item.type == "web_search_call":
            tool, given = "web_search", item.action
        elif item.type != "custom_tool_call":
            return []
        id = id or to_text(item.id)  # noqa: A001
        return [ToolCall(id, tool, given, at, self._facts.subagent, self._reasoning, self._cwd)]


def is_irrelevant(line: bytes) -> bool:
    """True if a line can be skipped without decoding it, which saves most of the work."""
    place = line.find(_TYPE, 0, _HEAD) + len(_TYPE)
    if place < len(_TYPE):
        return False
    end = line.find(b'"', place, place + 40)
    return end > 0 and line[place:end] not in _OURS


def is_success(output: msgspec.Raw) -> bool:
    """True if the tool's output does not say that the call failed."""
    raw = memoryview(output)
    head = bytes(raw[:400])
    if head.startswith(b"{"):
        return _output(output).success is not False
    if head.startswith(_WRAPPED):
        head = bytes(raw[-200:])
    code = _EXIT.search(head.partition(b"Output:")[0])
    if code is not None:
        return int(code[1]) == 0
    return _FAILED.match(head) is None


def _find_parent(source: object) -> str:
    """Return the thread that spawned this one.

    The source is `{"subagent": {"thread_spawn": {"parent_thread_id": …}}}`.
    """
    for name in ("subagent", "thread_spawn", "parent_thread_id"):
        source = source.get(name) if isinstance(source, dict) else None
    return to_text(source)


def _texts(content: msgspec.Raw) -> list[str]:
    if bytes(memoryview(content)[:1]) != b"[":
        return []
    return [to_text(part.text) for part in _parts(content)]


def _arguments(given: object) -> Any:
    """Return the arguments of a call, which are JSON in a string."""
    try:
        return _any(given) if isinstance(given, str) else given
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return given


def _action(given: object) -> Any:
    if not isinstance(given, dict):
        return given
    return {**given, "workdir": given.get("working_directory")}
