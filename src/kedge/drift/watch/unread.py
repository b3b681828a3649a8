"""Answer a call that could not be read, because it is too large or took too long.

Elsewhere a hook that fails says nothing, and the agent goes on. Under `enforce` that would be a way
around it: such a call is put to the user. Hook path: imports only when that happened.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BEFORE_A_CALL = ("PreToolUse", "BeforeTool")  # the second one is Gemini CLI's
TO_USER = (
    "kedge could not read all of this call, and this session enforces its limits. Agree only if "
    "you know what the call does."
)
_DENIED = (
    "kedge denied a call that it could not read whole: this session enforces its limits. The agent "
    "is told to make it smaller or simpler."
)
TO_AGENT = (
    "kedge could not read all of this call, and the policy of this session is enforce. Make the "
    "call smaller or simpler, or split it."
)


def answer_call(home: str, agent: str, event: dict[str, Any], data: bytes) -> dict[str, Any] | None:
    """Return the answer to a call in a session under `enforce`; None for any other event."""
    from contextlib import closing

    from kedge.drift.watch import answers
    from kedge.store import sessions, sqlite

    names = {str(event.get("hook_event_name"))} if event else _find_values(data, b"hook_event_name")
    if names.isdisjoint(_BEFORE_A_CALL):
        return None
    found = {str(event.get("session_id"))} if event else _find_values(data, b"session_id")
    if not event:  # Copilot CLI's subagents have a session of their own
        found |= _find_values(data, b"parent_agent_id")
    with closing(sqlite.connect(home)[0]) as db:
        rows = [sessions.get(db, name) for name in found]
    if not any(row is not None and row["policy"] == answers.ENFORCE for row in rows):
        return None
    decision = answers.choose_question(answers.can_ask(agent))
    return answers.answer_call(decision, TO_AGENT, TO_USER if decision == answers.ASK else _DENIED)


def _find_values(data: bytes, name: bytes) -> set[str]:
    """Return the strings under a name anywhere in JSON that cannot be parsed."""
    import re

    values = re.findall(rb'"%s"\s{0,9}:\s{0,9}"([^"\\]{1,100})"' % name, data)
    return {value.decode("utf-8", "replace") for value in values[:100]}
