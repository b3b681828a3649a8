"""What happened in a session, as far as a transcript tells.

Readers are sans-IO: `take` gets a line and gives the events in it. Every `at` is the record's own
timestamp or, where it has none, that of the record before it.
"""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, TypeAlias
else:
    Protocol = object


MOST_REASONING = 400  # characters


class Facts(NamedTuple):
    """What is known of the session; given again whenever more of it is known."""

    agent: str
    session: str = ""
    cwd: str = ""  # where it started
    model: str = ""
    version: str = ""
    subagent: str = ""  # whose transcript this is, where it is not the session's own
    parent: str = ""  # the session that started this one


class Prompt(NamedTuple):
    """A message to the agent. `machine` says that its record does not have it from the user."""

    id: str
    text: str
    at: str
    machine: bool = False


class Call(NamedTuple):
    """A tool was called. `reasoning` is the end of what the agent said and thought before it."""

    id: str
    tool: str
    input: Any
    at: str
    agent_id: str = ""
    reasoning: str = ""
    cwd: str = ""


class Result(NamedTuple):
    """A call ended; `ok` unless the record says that it failed, or was refused."""

    id: str
    ok: bool
    at: str


class Compacted(NamedTuple):
    """What was said before is gone from the agent's context but for a summary."""

    at: str


Event: TypeAlias = Facts | Prompt | Call | Result | Compacted


class Reader(Protocol):
    """Reads one transcript, line by line."""

    def take(self, line: bytes) -> list[Event]:
        """The events of a line; a record of no interest has none.

        Raises msgspec.DecodeError, UnicodeDecodeError or RecursionError for a line that is no
        record, or one of a known kind that is not made as it should be.
        """


def text_of(value: object) -> str:
    """A value that should be text, or nothing."""
    return value if isinstance(value, str) else ""
