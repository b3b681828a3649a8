"""What a hook answers, by policy. Kedge never allows a call: without an objection the answer is
empty, and the agent's own permissions decide.

    observe   nothing is said
    advise    corrections as context; a call against the user's word is put to the user
    enforce   a call at level intervene or halt is denied
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
_ASKS = ("claude",)  # agents that can ask their user before a call


def decide(policy: str, agent: str, verdict: Verdict, level: str) -> str:
    """Decide what happens to a call; `level` is the verdict's level after escalation.

    An agent that cannot ask its user is denied the call, and told to ask by itself.
    """
    if level not in _STOPS or verdict.score >= 8:
        return NONE
    if policy == ENFORCE:
        return DENY
    if policy == ADVISE and verdict.level in _STOPS and verdict.rules[0].rule == "limit":
        return ASK if agent in _ASKS else DENY
    return NONE


def answer_call(decision: str, reason: str) -> dict[str, Any]:
    """Return the answer to a call that is asked about or denied."""
    return _answer("PreToolUse", permissionDecision=decision, permissionDecisionReason=reason)


def give_context(event: str, texts: Sequence[str]) -> dict[str, Any] | None:
    """Return an answer that adds text to what the agent reads next."""
    return _answer(event, additionalContext="\n\n".join(texts)) if texts else None


def block_stop(reason: str) -> dict[str, Any]:
    """Return the answer that makes the agent continue instead of stopping."""
    return {"decision": "block", "reason": reason}


def notify_user(text: str) -> dict[str, Any]:
    """Return an answer that shows a line to the user, but not to the agent."""
    return {"systemMessage": text}


def _answer(event: str, **fields: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}
