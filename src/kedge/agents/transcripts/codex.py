"""Codex's rollouts: JSON lines of `{"timestamp", "type", "payload"}`, the first one `session_meta`.

What a person wrote and what a tool gave back is in the items of the conversation; the events that
repeat it are left alone. The oldest rollouts have the items bare, without a payload around them.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from kedge.agents.transcripts.events import (
    MOST_REASONING,
    Call,
    Compacted,
    Event,
    Facts,
    Prompt,
    Result,
    text_of,
)

NAME = "codex"
_HEAD = 200  # bytes in which a line's type is found
_TYPE = b'"type":"'
_ITEMS = ("message", "reasoning", "function_call", "function_call_output", "custom_tool_call",
          "custom_tool_call_output", "local_shell_call", "web_search_call")  # fmt: skip
_LINES = ("session_meta", "turn_context", "response_item", "compacted", *_ITEMS)
_OURS = frozenset(name.encode() for name in _LINES)
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_NOTHING = msgspec.Raw(b"null")
# in what a tool gave back, as JSON has it
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
    """A line. What may be of another type than it should is `Any`."""

    type: Any = None
    timestamp: Any = None
    payload: msgspec.Raw = _NOTHING
    id: Any = None
    instructions: msgspec.Raw = msgspec.Raw(b"")


class _Meta(msgspec.Struct, gc=False):
    """Of the session and of a turn."""

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


class Rollout:
    """Reads the rollout of a session, or of a thread that one has spawned."""

    def __init__(self) -> None:
        self._facts = Facts(NAME)
        self._at = ""
        self._cwd = ""
        self._said = ""

    def take(self, line: bytes) -> list[Event]:
        if passed_over(line):
            return []
        record = _line(line)
        at = text_of(record.timestamp) or self._at
        events: list[Event] = []
        if record.type == "session_meta":
            events = self._begun(_meta(record.payload))
        elif record.type == "turn_context":
            events = self._turn(_meta(record.payload))
        elif record.type == "compacted":
            self._said = ""
            events = [Compacted(at)]
        elif record.type == "response_item":
            events = self._done(_item(record.payload), at)
        elif record.type in _ITEMS:
            events = self._done(_item(line), at)
        elif record.type is None and bytes(record.instructions) and text_of(record.id):
            events = self._begun(_Meta(record.id))
        self._at = at
        return events

    def _begun(self, meta: _Meta) -> list[Event]:
        """Only the first counts: a copied history brings that of its own session."""
        if self._facts.session:
            return []
        own = text_of(meta.id)
        parent = text_of(meta.parent_thread_id) or _spawned_by(meta.source)
        session = text_of(meta.session_id) or own
        if parent and session == own:
            session = parent
        self._cwd = text_of(meta.cwd)
        version = text_of(meta.cli_version)
        subagent = own if parent else ""
        self._facts = Facts(NAME, session, self._cwd, "", version, subagent, parent)
        return [self._facts]

    def _turn(self, meta: _Meta) -> list[Event]:
        self._cwd = text_of(meta.cwd) or self._cwd
        found = self._facts._replace(
            cwd=self._facts.cwd or self._cwd, model=text_of(meta.model) or self._facts.model
        )
        if found == self._facts:
            return []
        self._facts = found
        return [found]

    def _done(self, item: _Item, at: str) -> list[Event]:
        if item.type in _OUTPUTS:
            ok = succeeded(item.output)
            self._said = ""
            return [Result(text_of(item.call_id), ok, at)]
        if item.type == "message" and item.role == "user":
            self._said = ""
            return self._user(item, at)
        if item.type == "message" and item.role == "assistant":
            self._say(_texts(item.content))
        elif item.type == "reasoning":
            self._say(_texts(item.summary))
        else:
            return self._call(item, at)
        return []

    def _user(self, item: _Item, at: str) -> list[Event]:
        told = item.internal_chat_message_metadata_passthrough
        kinds = told.get("content_item_kinds") if isinstance(told, dict) else None
        texts = _texts(item.content)
        theirs = texts
        if isinstance(kinds, list) and len(kinds) == len(texts):
            pairs = zip(texts, kinds, strict=True)
            theirs = [text for text, kind in pairs if text_of(kind).startswith(("user", "unknown"))]
        machine = bool(self._facts.subagent) or not theirs
        text = "\n".join(theirs or texts)
        return [Prompt(text_of(item.id), text, at, machine)] if text else []

    def _say(self, texts: list[str]) -> None:
        self._said = "\n".join((self._said, *texts)).strip()[-MOST_REASONING:]

    def _call(self, item: _Item, at: str) -> list[Event]:
        id, tool, given = text_of(item.call_id), text_of(item.name), item.input  # noqa: A001
        if item.type == "function_call":
            given = _arguments(item.arguments)
            space = text_of(item.namespace)
            if space.startswith("mcp__") and not tool.startswith("mcp__"):
                tool = f"{space.removesuffix('__')}__{tool}"
        elif item.type == "local_shell_call":
            tool, given = "local_shell", _action(item.action)
        elif item.type == "web_search_call":
            tool, given = "web_search", item.action
        elif item.type != "custom_tool_call":
            return []
        id = id or text_of(item.id)  # noqa: A001
        return [Call(id, tool, given, at, self._facts.subagent, self._said, self._cwd)]


def passed_over(line: bytes) -> bool:
    """Whether a line is seen to be of no interest without decoding it: most bytes are in these."""
    place = line.find(_TYPE, 0, _HEAD) + len(_TYPE)
    if place < len(_TYPE):
        return False
    end = line.find(b'"', place, place + 40)
    return end > 0 and line[place:end] not in _OURS


def succeeded(output: msgspec.Raw) -> bool:
    """Whether a tool did what it was called for, by what it gave back."""
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


def _spawned_by(source: object) -> str:
    """The thread that spawned this one: `{"subagent": {"thread_spawn": {"parent_thread_id"}}}`."""
    for name in ("subagent", "thread_spawn", "parent_thread_id"):
        source = source.get(name) if isinstance(source, dict) else None
    return text_of(source)


def _texts(content: msgspec.Raw) -> list[str]:
    if bytes(memoryview(content)[:1]) != b"[":
        return []
    return [text_of(part.text) for part in _parts(content)]


def _arguments(given: object) -> Any:
    """A call's arguments, which are JSON in a text."""
    try:
        return _any(given) if isinstance(given, str) else given
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return given


def _action(given: object) -> Any:
    if not isinstance(given, dict):
        return given
    return {**given, "workdir": given.get("working_directory")}
