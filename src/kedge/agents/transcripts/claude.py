"""Claude Code's transcripts: JSON lines, one record for each content block.

The records form a tree: a message that the user took back leaves a branch. Every branch counts,
because its tool calls were made all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

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

NAME = "claude"
_KINDS = ("user", "assistant", "system", "attachment")
_MACHINE = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSidechain")
_PEOPLE = ("human", "person", "composer", "voice-call")  # origins of a message
_REFUSED = "The user doesn't want to "
_SAID = "the user said:\n"  # precedes the user's words in a refusal
_SUBAGENT = "subagent"  # the id of a subagent without one
_MOST_QUESTIONS = 100


class ClaudeTranscript:
    """Reads the transcript of a session, or of one of its subagents."""

    def __init__(self) -> None:
        self.facts = SessionFacts(NAME)
        self.malformed = 0
        self._at = ""
        self._model = ""
        self._message = ""  # the id of the message that `_reasoning` is from
        self._reasoning = ""
        self._questions: list[str] = []  # calls that asked the user, not answered yet

    def read_record(self, record: JsonObject) -> list[Event]:
        kind = record.text("type")
        if kind not in _KINDS:
            return []
        self._at = record.text("timestamp") or self._at
        events: list[Event] = []
        if kind == "assistant":
            events += self._read_answer(record)
        elif kind == "user":
            events += self._read_user(record)
        elif kind == "attachment":
            events += self._read_attachment(record)
        elif record.get("subtype") == "compact_boundary":
            events.append(Compacted(self._at))
        return [*self._update_facts(record), *events]

    def _update_facts(self, record: JsonObject) -> Iterator[Event]:
        facts = self.facts
        known = SessionFacts(
            NAME,
            record.text("sessionId") or facts.session,
            facts.cwd or record.text("cwd"),
            self._model,
            record.text("version") or facts.version,
            _subagent(record) if facts == SessionFacts(NAME) else facts.subagent,
        )
        if known != facts:
            self.facts = known
            yield known

    def _read_user(self, record: JsonObject) -> Iterator[Event]:
        machine = (
            any(map(record.get, _MACHINE))
            or record.get("promptSource") == "system"
            or _is_from_machine(record)
        )
        texts = []
        for block in _blocks(record.child("message"), "content"):
            if block.get("type") == "text":
                texts.append(block.text("text"))
            elif block.get("type") == "tool_result":
                call = block.text("tool_use_id")
                yield ToolResult(call, block.get("is_error") is not True, self._at)
                words = "" if machine else self._find_user_words(record, block)
                if words:
                    yield PromptMessage(call, words, self._at)
        if any(texts):
            yield PromptMessage(record.text("uuid"), "\n".join(texts), self._at, machine)

    def _find_user_words(self, record: JsonObject, block: JsonObject) -> str:
        """Return the user's words in the result of a call: why they refused it, or an answer."""
        if block.get("is_error") is True:
            text = _join_texts(block, "content")
            return text.partition(_SAID)[2] if text.startswith(_REFUSED) else ""
        call = block.text("tool_use_id")
        if call not in self._questions:
            return ""
        self._questions.remove(call)
        result = record.child("toolUseResult")
        answers = result.get("answers")
        given = answers.values() if isinstance(answers, dict) else ()
        return "\n".join(filter(None, (*map(to_text, given), result.text("response"))))

    def _read_answer(self, record: JsonObject) -> Iterator[Event]:
        message = record.child("message")
        name, model = message.text("id"), message.text("model")
        if name != self._message or not name:
            self._message, self._reasoning = name, ""
        if not self._model and not model.startswith("<"):  # `<synthetic>`
            self._model = model
        for block in _blocks(message, "content"):
            if block.get("type") != "tool_use":
                text = block.text("text") or block.text("thinking")
                self._reasoning = f"{self._reasoning}\n{text}".strip()[-MOST_REASONING:]
                continue
            call, tool = block.text("id"), block.text("name")
            if tool == "AskUserQuestion" and call:
                self._questions = [*self._questions, call][-_MOST_QUESTIONS:]
            yield ToolCall(
                call,
                tool,
                block.get("input"),
                self._at,
                _subagent(record),
                self._reasoning,
                record.text("cwd"),
            )

    def _read_attachment(self, record: JsonObject) -> Iterator[Event]:
        """Read a message that the user wrote while the agent was working."""
        queued = record.child("attachment")
        text = _join_texts(queued, "prompt")
        if queued.get("type") == "queued_command" and text:
            machine = bool(
                queued.get("isMeta")
                or record.get("isSidechain")
                or _is_from_machine(queued)
                or queued.get("commandMode") not in (None, "prompt")
            )
            yield PromptMessage(record.text("uuid"), text, self._at, machine)


def _subagent(record: JsonObject) -> str:
    if not record.get("isSidechain") and not record.get("agentId"):
        return ""
    return record.text("agentId") or _SUBAGENT


def _is_from_machine(message: JsonObject) -> bool:
    kind = message.child("origin").get("kind")
    return kind is not None and kind not in _PEOPLE


def _blocks(message: JsonObject, name: str) -> list[JsonObject]:
    """Return the blocks of a message; plain text is one block."""
    content = message.get(name)
    if isinstance(content, str):
        return [JsonObject({"type": "text", "text": content})]
    return message.children(name)


def _join_texts(message: JsonObject, name: str) -> str:
    return "\n".join(block.text("text") for block in _blocks(message, name))
