"""Copilot CLI's log of a session: JSON lines of `{"type", "data", "timestamp", "agentId"?}`.

The events of subagents are in the log of their session, with the id of the subagent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

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

NAME = "copilot"
_PRODUCER = "copilot-agent"


class CopilotLog:
    """Reads the log of a session."""

    def __init__(self) -> None:
        self.facts = SessionFacts(NAME)
        self.malformed = 0
        self._at = ""
        self._reasoning: dict[str, str] = {}  # by subagent; the main agent has no id

    def read_record(self, record: JsonObject) -> list[Event]:
        kind, data = record.text("type"), record.child("data")
        if kind == "session.start" and data.text("producer") == _PRODUCER:
            return list(self._read_start(data))
        if not self.facts.session:
            return []
        self._at = record.text("timestamp") or self._at
        agent = record.text("agentId")
        match kind:
            case "session.resume" | "session.context_changed":
                return list(self._read_context(data))
            case "user.message":
                return list(self._read_prompt(record.text("id"), data, agent))
            case "assistant.message":
                self._add_reasoning(agent, data)
            case "tool.execution_start":
                return list(self._read_call(data, agent))
            case "tool.execution_complete":
                return list(self._read_result(data))
            case "session.compaction_complete":
                return [Compacted(self._at)]
        return []

    def _read_start(self, data: JsonObject) -> Iterator[Event]:
        self._at = data.text("startTime")
        facts = SessionFacts(
            NAME,
            data.text("sessionId"),
            data.child("context").text("cwd"),
            data.text("selectedModel"),
            data.text("copilotVersion"),
        )
        if not self.facts.session:
            self.facts = facts
            yield facts

    def _read_context(self, data: JsonObject) -> Iterator[Event]:
        """Yield the facts again if a resumed session has another model."""
        model = data.text("selectedModel")
        if model and model != self.facts.model:
            self.facts = replace(self.facts, model=model)
            yield self.facts

    def _read_prompt(self, name: str, data: JsonObject, agent: str) -> Iterator[Event]:
        text = data.text("content")
        if not isinstance(data.get("content"), str):
            self.malformed += 1
        if text:
            machine = bool(agent) or data.text("source") not in ("", "user")
            yield PromptMessage(name, text, self._at, machine)

    def _add_reasoning(self, agent: str, data: JsonObject) -> None:
        texts = (data.text("reasoningText"), data.text("content"))
        self._reasoning[agent] = "\n".join(filter(None, texts))[-MOST_REASONING:]

    def _read_call(self, data: JsonObject, agent: str) -> Iterator[Event]:
        call, tool = data.text("toolCallId"), data.text("toolName")
        if not call or not tool:
            self.malformed += 1
            return
        reasoning = self._reasoning.get(agent, "")
        yield ToolCall(call, tool, data.get("arguments"), self._at, agent, reasoning)

    def _read_result(self, data: JsonObject) -> Iterator[Event]:
        call, success = data.text("toolCallId"), data.get("success")
        if not call or not isinstance(success, bool):
            self.malformed += 1
            return
        yield ToolResult(
            call, success and not data.child("shellExecution").get("exitCode"), self._at
        )
