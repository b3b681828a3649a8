"""The events of a session, as far as its transcript shows them.

Readers do no I/O: `read_record` returns the events of a record. Every `at` is the record's
timestamp or, if it has none, that of the record before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from kedge.agents.json_object import JsonObject

MOST_REASONING = 400  # characters


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What is known about the session; repeated whenever more is known."""

    agent: str
    session: str = ""
    cwd: str = ""  # where it started
    model: str = ""
    version: str = ""
    subagent: str = ""  # the subagent whose transcript this is, if any
    parent: str = ""  # the session that started this one


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message to the agent. `machine` means that it does not come from the user."""

    id: str
    text: str
    at: str
    machine: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool was called. `reasoning` is the end of what the agent wrote and thought before."""

    id: str
    tool: str
    input: Any
    at: str
    agent_id: str = ""
    reasoning: str = ""
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A call ended; `ok` unless the record says that it failed or was refused."""

    id: str
    ok: bool
    at: str


@dataclass(frozen=True, slots=True)
class Compacted:
    """The agent's context was replaced by a summary."""

    at: str


Event: TypeAlias = SessionFacts | PromptMessage | ToolCall | ToolResult | Compacted


class TranscriptReader(Protocol):
    """Reads one transcript, record by record. `facts` is what it knows so far.

    A record of an unknown kind has no events. `malformed` counts those of a known kind that lack
    what they must have.
    """

    facts: SessionFacts
    malformed: int

    def read_record(self, record: JsonObject) -> list[Event]:
        """Return the events of a record; an irrelevant one has none. Never raises."""
