"""Claude Code's transcripts: JSON lines, one record for each content block.

The records make a tree, in which a message that was taken back leaves a branch of its own. What
was done there was done, so every branch counts.
"""

from __future__ import annotations

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

NAME = "claude"
_KINDS = ("user", "assistant", "system", "attachment")
_NO_RECORD = b'{"type":"'  # how lines begin that are not of the conversation, most of the time
_ATTACHMENT = b'"attachment":{"type":"'
_MESSAGE = b'"message":'
_QUEUED = "queued_command"  # what the user wrote while the agent was at work
_HEAD = 600  # bytes in which a record's kind is found, where it is found without decoding
_PEOPLE = ("human", "person", "composer", "voice-call")  # origins of a message
_REFUSED = "The user doesn't want to "
_SAID = "the user said:\n"  # what follows a refusal
_ASKING = "AskUserQuestion"
_SUBAGENT = "subagent"  # one without a name
_MOST_ASKED = 100
_NOTHING = msgspec.Raw(b"null")
_UNKNOWN = Facts(NAME)


class _Record(msgspec.Struct, gc=False, rename="camel"):
    """A line. What may be of another type than it should is `Any`."""

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


class Transcript:
    """Reads the transcript of a session, or of one of its subagents."""

    def __init__(self) -> None:
        self._facts = Facts(NAME)
        self._at = ""
        self._model = ""
        self._message = ""  # whose text is kept
        self._said = ""
        self._asked: dict[str, None] = {}  # questions to the user that have no answer yet

    def take(self, line: bytes) -> list[Event]:
        if passed_over(line):
            return []
        record = _record(line)
        if record.type not in _KINDS:
            return []
        at = text_of(record.timestamp) or self._at
        events: list[Event]
        if record.type == "assistant":
            events = self._answer(record, at)
        elif record.type == "user":
            events = self._user(record, at)
        elif record.type == "attachment":
            events = _added(record, at)
        else:
            events = [Compacted(at)] if record.subtype == "compact_boundary" else []
        self._at = at
        return [*self._known(record), *events]

    def _known(self, record: _Record) -> list[Event]:
        facts = self._facts
        known = (
            NAME,
            text_of(record.session_id) or facts.session,
            facts.cwd or text_of(record.cwd),
            self._model,
            text_of(record.version) or facts.version,
            facts.subagent if facts != _UNKNOWN else _agent(record),
        )
        if known == facts[: len(known)]:
            return []
        self._facts = Facts(*known)
        return [self._facts]

    def _user(self, record: _Record, at: str) -> list[Event]:
        content = _content(record.message).content
        id = text_of(record.uuid)  # noqa: A001 - the word that agents use
        machine = bool(
            record.is_meta
            or record.is_compact_summary
            or record.is_visible_in_transcript_only
            or record.is_sidechain
            or record.prompt_source == "system"
            or _from_elsewhere(record.origin)
        )
        events: list[Event] = []
        texts = []
        for block in _parts(content):
            if block.type == "text":
                texts.append(text_of(block.text))
            elif block.type == "tool_result":
                call = text_of(block.tool_use_id)
                events.append(Result(call, block.is_error is not True, at))
                said = "" if machine else self._in_result(block, call, record.tool_use_result)
                if said:
                    events.append(Prompt(call, said, at))
        if any(texts):
            events.append(Prompt(id, "\n".join(texts), at, machine))
        return events

    def _in_result(self, block: _Block, call: str, structured: msgspec.Raw) -> str:
        """What the user says in the result of a call: why they refuse it, or an answer."""
        if block.is_error is True:
            text = "\n".join(text_of(part.text) for part in _parts(block.content))
            return text.partition(_SAID)[2] if text.startswith(_REFUSED) else ""
        if call not in self._asked:
            return ""
        del self._asked[call]
        if not _begins(structured, b"{"):
            return ""
        found = _answers(structured)
        given = found.answers.values() if isinstance(found.answers, dict) else ()
        return "\n".join(filter(None, map(text_of, (*given, found.response))))

    def _answer(self, record: _Record, at: str) -> list[Event]:
        message = _content(record.message)
        parts = _parts(message.content)
        name = text_of(message.id)
        if name != self._message or not name:
            self._message, self._said = name, ""
        agent = _agent(record)
        cwd = text_of(record.cwd)
        events: list[Event] = []
        model = text_of(message.model)
        if not self._model and not model.startswith("<"):  # `<synthetic>`
            self._model = model
        for part in parts:
            if part.type == "tool_use":
                id, tool = text_of(part.id), text_of(part.name)  # noqa: A001
                events.append(Call(id, tool, part.input, at, agent, self._said, cwd))
                if tool == _ASKING and id:
                    kept = [*self._asked, id][-_MOST_ASKED:]
                    self._asked = dict.fromkeys(kept)
            else:
                said = text_of(part.text) or text_of(part.thinking)
                self._said = f"{self._said}\n{said}".strip()[-MOST_REASONING:]
        return events


def passed_over(line: bytes) -> bool:
    """Whether a line is seen to be of no interest without decoding it: most bytes are in these."""
    if line.startswith(_NO_RECORD):
        end = line.find(b'"', len(_NO_RECORD), _HEAD)
        return end > 0 and line[len(_NO_RECORD) : end].decode("ascii", "replace") not in _KINDS
    place = line.find(_ATTACHMENT, 0, _HEAD)
    if place < 0 or line.find(_MESSAGE, 0, place) >= 0:
        return False
    return not line.startswith(_QUEUED.encode(), place + len(_ATTACHMENT))


def _added(record: _Record, at: str) -> list[Event]:
    if not _begins(record.attachment, b"{"):
        return []
    queued = _queued(record.attachment)
    if queued.type != _QUEUED:
        return []
    text = "\n".join(text_of(part.text) for part in _parts(queued.prompt))
    machine = bool(
        queued.is_meta
        or record.is_sidechain
        or _from_elsewhere(queued.origin)
        or queued.command_mode not in (None, "prompt")
    )
    return [Prompt(text_of(record.uuid), text, at, machine)] if text else []


def _agent(record: _Record) -> str:
    if not record.is_sidechain and not record.agent_id:
        return ""
    return text_of(record.agent_id) or _SUBAGENT


def _from_elsewhere(origin: object) -> bool:
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return kind is not None and kind not in _PEOPLE


def _content(message: msgspec.Raw) -> _Message:
    return _message(message) if _begins(message, b"{") else _Message()


def _parts(content: msgspec.Raw) -> list[_Block]:
    """The blocks of a message; its text, where it is just text, is one."""
    if _begins(content, b"["):
        return _blocks(content)
    return [_Block("text", _text(content))] if _begins(content, b'"') else []


def _begins(raw: msgspec.Raw, mark: bytes) -> bool:
    return memoryview(raw)[0] == mark[0]
