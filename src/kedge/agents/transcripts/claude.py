"""Claude Code's transcripts: JSON lines, one record for each content block.

The records form a tree: a message that the user took back leaves a branch. Every branch counts,
because its tool calls were made all the same.
"""

from __future__ import annotations

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

NAME = "claude"
_KINDS = ("user", "assistant", "system", "attachment")
_NO_RECORD = b'{"type":"'  # how most lines start that are not part of the conversation
_ATTACHMENT = b'"attachment":{"type":"'
_MESSAGE = b'"message":'
_QUEUED = "queued_command"  # a message that the user wrote while the agent was working
_HEAD = 600  # bytes in which to look for a record's kind without decoding it
_PEOPLE = ("human", "person", "composer", "voice-call")  # origins of a message
_REFUSED = "The user doesn't want to "
_SAID = "the user said:\n"  # precedes the user's words in a refusal
_ASKING = "AskUserQuestion"
_SUBAGENT = "subagent"  # the id of a subagent without one
_MOST_QUESTIONS = 100
_NOTHING = msgspec.Raw(b"null")
_UNKNOWN = SessionFacts(NAME)


class _Record(msgspec.Struct, gc=False, rename="camel"):
    """A line. Fields that may have an unexpected type are `Any`."""

    type: Any = None
    subtype: Any = None
    uuid: Any = None
    timestamp: Any = None
    cwd: Any = None
    session_id: Any = None
    version: Any = None
    is_sidechain: Any = None
    agent_id: Any = None
    is_meta: Any = None
    is_compact_summary: Any = None
    is_visible_in_transcript_only: Any = None
    prompt_source: Any = None
    origin: Any = None
    message: msgspec.Raw = _NOTHING
    attachment: msgspec.Raw = _NOTHING
    tool_use_result: msgspec.Raw = _NOTHING


class _Message(msgspec.Struct, gc=False):
    id: Any = None
    model: Any = None
    content: msgspec.Raw = _NOTHING


class _Block(msgspec.Struct, gc=False):
    type: Any = None
    text: Any = None
    thinking: Any = None
    id: Any = None
    name: Any = None
    input: Any = None
    tool_use_id: Any = None
    is_error: Any = None
    content: msgspec.Raw = _NOTHING


class _Queued(msgspec.Struct, gc=False, rename="camel"):
    type: Any = None
    prompt: msgspec.Raw = _NOTHING
    origin: Any = None
    is_meta: Any = None
    command_mode: Any = None


class _Answers(msgspec.Struct, gc=False):
    answers: Any = None
    response: Any = None


_record = msgspec.json.Decoder(_Record).decode
_message = msgspec.json.Decoder(_Message).decode
_blocks = msgspec.json.Decoder(list[_Block]).decode
_queued = msgspec.json.Decoder(_Queued).decode
_answers = msgspec.json.Decoder(_Answers).decode
_text = msgspec.json.Decoder(str).decode


class ClaudeTranscript:
    """Reads the transcript of a session, or of one of its subagents."""

    def __init__(self) -> None:
        self._facts = SessionFacts(NAME)
        self._at = ""
        self._model = ""
        self._message = ""  # the id of the message that `_reasoning` is from
        self._reasoning = ""
        self._questions: dict[str, None] = {}  # calls that asked the user, not answered yet

    def read_line(self, line: bytes) -> list[Event]:
        if is_irrelevant(line):
            return []
        record = _record(line)
        if record.type not in _KINDS:
            return []
        at = to_text(record.timestamp) or self._at
        events: list[Event]
        if record.type == "assistant":
            events = self._read_answer(record, at)
        elif record.type == "user":
            events = self._read_user(record, at)
        elif record.type == "attachment":
            events = _read_attachment(record, at)
        else:
            events = [Compacted(at)] if record.subtype == "compact_boundary" else []
        self._at = at
        return [*self._update_facts(record), *events]

    def _update_facts(self, record: _Record) -> list[Event]:
        facts = self._facts
        known = SessionFacts(
            NAME,
            to_text(record.session_id) or facts.session,
            facts.cwd or to_text(record.cwd),
            self._model,
            to_text(record.version) or facts.version,
            facts.subagent if facts != _UNKNOWN else _agent(record),
        )
        if known == facts:
            return []
        self._facts = known
        return [self._facts]

    def _read_user(self, record: _Record, at: str) -> list[Event]:
        content = _content(record.message).content
        id = to_text(record.uuid)  # noqa: A001 - the name that agents use
        machine = bool(
            record.is_meta
            or record.is_compact_summary
            or record.is_visible_in_transcript_only
            or record.is_sidechain
            or record.prompt_source == "system"
            or _is_from_machine(record.origin)
        )
        events: list[Event] = []
        texts = []
        for block in _parts(content):
            if block.type == "text":
                texts.append(to_text(block.text))
            elif block.type == "tool_result":
                call = to_text(block.tool_use_id)
                events.append(ToolResult(call, block.is_error is not True, at))
                words = (
                    "" if machine else self._find_user_words(block, call, record.tool_use_result)
                )
                if words:
                    events.append(PromptMessage(call, words, at))
        if any(texts):
            events.append(PromptMessage(id, "\n".join(texts), at, machine))
        return events

    def _find_user_words(self, block: _Block, call: str, structured: msgspec.Raw) -> str:
        """Return the user's words in the result of a call: why they refused it, or an answer."""
        if block.is_error is True:
            text = "\n".join(to_text(part.text) for part in _parts(block.content))
            return text.partition(_SAID)[2] if text.startswith(_REFUSED) else ""
        if call not in self._questions:
            return ""
        del self._questions[call]
        if not _starts_with(structured, b"{"):
            return ""
        found = _answers(structured)
        given = found.answers.values() if isinstance(found.answers, dict) else ()
        return "\n".join(filter(None, map(to_text, (*given, found.response))))

    def _read_answer(self, record: _Record, at: str) -> list[Event]:
        message = _content(record.message)
        parts = _parts(message.content)
        name = to_text(message.id)
        if name != self._message or not name:
            self._message, self._reasoning = name, ""
        agent = _agent(record)
        cwd = to_text(record.cwd)
        events: list[Event] = []
        model = to_text(message.model)
        if not self._model and not model.startswith("<"):  # `<synthetic>`
            self._model = model
        for part in parts:
            if part.type == "tool_use":
                id, tool = to_text(part.id), to_text(part.name)  # noqa: A001
                events.append(ToolCall(id, tool, part.input, at, agent, self._reasoning, cwd))
                if tool == _ASKING and id:
                    kept = [*self._questions, id][-_MOST_QUESTIONS:]
                    self._questions = dict.fromkeys(kept)
            else:
                text = to_text(part.text) or to_text(part.thinking)
                self._reasoning = f"{self._reasoning}\n{text}".strip()[-MOST_REASONING:]
        return events


def is_irrelevant(line: bytes) -> bool:
    """True if a line can be skipped without decoding it, which saves most of the work."""
    if line.startswith(_NO_RECORD):
        end = line.find(b'"', len(_NO_RECORD), _HEAD)
        return end > 0 and line[len(_NO_RECORD) : end].decode("ascii", "replace") not in _KINDS
    place = line.find(_ATTACHMENT, 0, _HEAD)
    if place < 0 or line.find(_MESSAGE, 0, place) >= 0:
        return False
    return not line.startswith(_QUEUED.encode(), place + len(_ATTACHMENT))


def _read_attachment(record: _Record, at: str) -> list[Event]:
    if not _starts_with(record.attachment, b"{"):
        return []
    queued = _queued(record.attachment)
    if queued.type != _QUEUED:
        return []
    text = "\n".join(to_text(part.text) for part in _parts(queued.prompt))
    machine = bool(
        queued.is_meta
        or record.is_sidechain
        or _is_from_machine(queued.origin)
        or queued.command_mode not in (None, "prompt")
    )
    return [PromptMessage(to_text(record.uuid), text, at, machine)] if text else []


def _agent(record: _Record) -> str:
    if not record.is_sidechain and not record.agent_id:
        return ""
    return to_text(record.agent_id) or _SUBAGENT


def _is_from_machine(origin: object) -> bool:
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return kind is not None and kind not in _PEOPLE


def _content(message: msgspec.Raw) -> _Message:
    return _message(message) if _starts_with(message, b"{") else _Message()


def _parts(content: msgspec.Raw) -> list[_Block]:
    """Return the blocks of a message; plain text is one block."""
    if _starts_with(content, b"["):
        return _blocks(content)
    return [_Block("text", _text(content))] if _starts_with(content, b'"') else []


def _starts_with(raw: msgspec.Raw, mark: bytes) -> bool:
    return memoryview(raw)[0] == mark[0]
