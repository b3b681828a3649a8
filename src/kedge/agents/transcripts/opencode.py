"""opencode's sessions: the parts of messages, as its database has them.

A record is a part with its message and its session. A part is a text, a tool call with its
result, or a mark such as that of a compaction.
"""

from __future__ import annotations

from collections.abc import Iterator

from kedge.agents.dialects.opencode import unquote
from kedge.agents.json_object import JsonObject
from kedge.agents.transcripts.events import (
    MOST_REASONING,
    Compacted,
    Event,
    PromptMessage,
    SessionFacts,
    ToolCall,
    ToolResult,
)

NAME = "opencode"
_ENDED = ("completed", "error")


class OpencodeSession:
    """Reads a session, or that of one of its subagents."""

    def __init__(self) -> None:
        self.facts = SessionFacts(NAME)
        self.malformed = 0
        self._message = ""
        self._reasoning = ""

    def read_record(self, record: JsonObject) -> list[Event]:
        message, part = record.child("message"), record.child("part")
        return [*self._update_facts(record.child("session"), message), *self._read(record, part)]

    def _update_facts(self, session: JsonObject, message: JsonObject) -> Iterator[Event]:
        own, parent = session.text("id"), session.text("parent_id")
        model = message.text("modelID") or message.child("model").text("modelID")
        known = SessionFacts(
            NAME,
            parent or own,
            session.text("directory"),
            self.facts.model or model,
            session.text("version"),
            own if parent else "",
            parent,
        )
        if own and known != self.facts:
            self.facts = known
            yield known

    def _read(self, record: JsonObject, part: JsonObject) -> Iterator[Event]:
        name, at = record.text("message_id"), record.text("at")
        message = record.child("message")
        if name != self._message:
            self._message, self._reasoning = name, ""
        match part.text("type"), message.text("role"):
            case "text", "user":
                text = unquote(part.text("text"))
                machine = bool(self.facts.subagent) or part.get("synthetic") is True
                if text.strip():
                    yield PromptMessage(record.text("id"), text, at, machine)
            case "text" | "reasoning", _:
                text = f"{self._reasoning}\n{part.text('text')}"
                self._reasoning = text.strip()[-MOST_REASONING:]
            case "tool", _:
                yield from self._read_call(part, message, at)
            case "compaction", _:
                yield Compacted(at)

    def _read_call(self, part: JsonObject, message: JsonObject, at: str) -> Iterator[Event]:
        call, tool, state = part.text("callID"), part.text("tool"), part.child("state")
        if not call or not tool or not state:
            self.malformed += 1
            return
        agent, cwd = self.facts.subagent, message.child("path").text("cwd")
        yield ToolCall(call, tool, state.get("input"), at, agent, self._reasoning, cwd)
        if state.get("status") in _ENDED:
            ok = state.get("status") == "completed" and not state.child("metadata").get("exit")
            yield ToolResult(call, ok, at)
