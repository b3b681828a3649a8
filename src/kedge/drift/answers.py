"""What a hook answers, by policy. Kedge never allows a call: where it has nothing against one, the
answer is empty, and the agent's own permissions decide.

    observe   nothing is said
    advise    corrections as context; what the user forbade is asked about
    enforce   what must be intervened in is denied
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kedge.drift.scoring import Verdict

OFF, OBSERVE, ADVISE, ENFORCE = "off", "observe", "advise", "enforce"
POLICIES = (OFF, OBSERVE, ADVISE, ENFORCE)
NONE, ASK, DENY = "none", "ask", "deny"
_STOPS = ("intervene", "halt")
_ASKS = ("claude",)  # agents that can put a question to their user before a call


def decision(policy: str, agent: str, verdict: Verdict, level: str) -> str:
    """What becomes of a call: `level` is the verdict's after what went before it.

    An agent that cannot ask its user is told no, and to ask by itself.
    """
    if level not in _STOPS or verdict.score >= 8:
        return NONE
    if policy == ENFORCE:
        return DENY
    if policy == ADVISE and verdict.level in _STOPS and verdict.rules[0].rule == "constraint":
        return ASK if agent in _ASKS else DENY
    return NONE


def before(what: str, reason: str) -> dict[str, Any]:
    """The answer to a call that is not to go through as it is."""
    return _output("PreToolUse", permissionDecision=what, permissionDecisionReason=reason)


def context(event: str, texts: Sequence[str]) -> dict[str, Any] | None:
    """Text for the agent, beside what it reads next."""
    return _output(event, additionalContext="\n\n".join(texts)) if texts else None


def go_on(reason: str) -> dict[str, Any]:
    """The agent is to go on instead of stopping."""
    return {"decision": "block", "reason": reason}


def notice(text: str) -> dict[str, Any]:
    """A line for the user, not for the agent."""
    return {"systemMessage": text}


def _output(event: str, **more: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **more}}
