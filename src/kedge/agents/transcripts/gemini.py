"""Gemini CLI's chats: JSON lines of a header, messages, and patches `{"$set": …}`.

A message is appended again, with the same id, when its tool calls have ended; a call that was
read before counts once. A patch that sets all messages repeats the history: of a resumed session,
or the summary of a compressed one. Where the session ran is in a file beside the chats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from kedge.agents.dialects.gemini import HOOK_CONTEXT
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

NAME = "gemini"
_HOOKS = re.compile(rf"{HOOK_CONTEXT}\s{{0,10}}")
_SNAPSHOT = "<state_snapshot>"
_EXIT = re.compile(r"^Exit Code: (\d{1,9})$", re.MULTILINE)
_UNFINISHED = ("", "validating", "scheduled", "executing", "awaiting_approval")


class GeminiChat:
    """Reads the chat of a session, or of one of its subagents."""

    def __init__(self) -> None:
        self.facts = SessionFacts(NAME)
        self.malformed = 0
        self._at = ""
        self._ended: set[str] = set()

    def read_record(self, record: JsonObject) -> list[Event]:
        if "projectHash" in record and record.text("sessionId"):
            return list(self._read_header(record))
        if "$set" in record:
            return list(self._read_patch(record.child("$set")))
        if not self.facts.session or not record.text("id"):
            return []
        self._at = record.text("timestamp") or self._at
        match record.get("type"):
            case "user":
                return list(self._read_user(record))
            case "gemini":
                return list(self._read_answer(record))
        return []

    def _read_header(self, header: JsonObject) -> Iterator[Event]:
        if self.facts.session:  # a resumed session begins again
            return
        self._at = header.text("startTime")
        own = header.text("sessionId")
        cwd = next(iter(header.texts("directories")), "")
        subagent = own if header.get("kind") == "subagent" else ""
        self.facts = SessionFacts(NAME, own, cwd, subagent=subagent)
        yield self.facts

    def _read_patch(self, patch: JsonObject) -> Iterator[Event]:
        texts = (_join_texts(message) for message in patch.children("messages"))
        if any(text.lstrip().startswith(_SNAPSHOT) for text in texts):
            yield Compacted(patch.text("lastUpdated") or self._at)

    def _read_user(self, record: JsonObject) -> Iterator[Event]:
        if not isinstance(record.get("content"), str | list):
            self.malformed += 1
        text = _HOOKS.sub("", _join_texts(record)).strip()
        if text:  # not the results of tools
            yield PromptMessage(record.text("id"), text, self._at, bool(self.facts.subagent))

    def _read_answer(self, record: JsonObject) -> Iterator[Event]:
        model = record.text("model")
        if model and not self.facts.model:
            self.facts = replace(self.facts, model=model)
            yield self.facts
        thoughts = [one.text("description") for one in record.children("thoughts")]
        reasoning = "\n".join((*thoughts, to_text(record.get("content")))).strip()
        if "toolCalls" in record and not isinstance(record.get("toolCalls"), list):
            self.malformed += 1
        for call in record.children("toolCalls"):
            name, status = call.text("id"), call.text("status")
            if not name or not call.text("name"):
                self.malformed += 1
                continue
            at = call.text("timestamp") or self._at
            if name not in self._ended:
                yield ToolCall(
                    name,
                    call.text("name"),
                    call.get("args"),
                    at,
                    self.facts.subagent,
                    reasoning[-MOST_REASONING:],
                )
            if status not in _UNFINISHED and name not in self._ended:
                self._ended.add(name)
                yield ToolResult(name, status == "success" and not _has_failed(call), at)


def complete_facts(facts: SessionFacts, path: PurePath, root: str) -> SessionFacts:
    """Return the facts with what only the place of the file says.

    `root` is the project's directory. The chat of a subagent is in a directory named after the
    session that started it.
    """
    facts = replace(facts, cwd=facts.cwd or root)
    parent = path.parent.name
    return replace(facts, session=parent, parent=parent) if facts.subagent else facts


def find_root_file(path: PurePath) -> PurePath:
    """Return the file beside a chat that names the project's directory."""
    chats = next((each for each in path.parents if each.name == "chats"), path.parent)
    return chats.parent / ".project_root"


def _join_texts(message: JsonObject) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (part.text("text") for part in message.children("content"))))


def _has_failed(call: JsonObject) -> bool:
    """True if a tool's answer names an exit code other than 0: to Gemini the call succeeded."""
    for part in call.children("result"):
        output = part.child("functionResponse").child("response").text("output")
        if (found := _EXIT.search(output[-2000:])) and int(found[1]):
            return True
    return False
