"""What a hook answers, by policy. Kedge never allows a call: without an objection the answer is
empty, and the agent's own permissions decide.

    observe   nothing is said
    advise    corrections as context; a call against the user's word, and an irreversible one that
              nobody asked for, is put to the user
    enforce   a call at level intervene or halt is denied

Under advise and enforce, an agent is denied any change to what watches it.
"""

from __future__ import annotations

from kedge.drift import course
from kedge.drift.evidence.outward_acts import IRREVERSIBLE
from kedge.drift.scoring import WATCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kedge.drift.scoring import Verdict

OFF, OBSERVE, ADVISE, ENFORCE = "off", "observe", "advise", "enforce"
POLICIES = (OFF, OBSERVE, ADVISE, ENFORCE)
NONE, ASK, DENY = "none", "ask", "deny"
ALLOWED = "allowed"  # the user was asked and agreed
RELEASED = "released"  # the verdict came too late: the call had gone to the agent
_STOPS = ("intervene", "halt")
_GRAVE = 6  # points that a rule takes from ten, at level intervene
_LONGEST_NOTIFICATION = 240  # characters
_ASKS = ("claude",)  # agents that can ask their user before a call


def choose_level(verdict: Verdict, escalation: int) -> str:
    """Return the level of a verdict after escalation; words alone lead to a correction at most."""
    soft = bool(verdict.rules) and verdict.rules[0].rule == "topic"
    return course.choose_level(verdict.score, escalation, soft=soft)


def can_ask(agent: str) -> bool:
    """True if the agent's hooks can put a call to its user."""
    return agent in _ASKS


def decide(policy: str, asks: bool, verdict: Verdict, level: str) -> str:
    """Decide what happens to a call; `level` is the verdict's level after escalation.

    An agent that cannot ask its user is denied the call, and told to ask by itself.
    """
    if policy not in (ADVISE, ENFORCE) or verdict.score >= 8:
        return NONE
    grave = {rule.rule for rule in verdict.rules if rule.weight >= _GRAVE}
    if WATCH in grave:
        return DENY
    if level not in _STOPS:
        return NONE
    if policy == ENFORCE:
        return DENY
    if "limit" in grave or grave & IRREVERSIBLE:
        return choose_question(asks)
    return NONE


def choose_question(asks: bool) -> str:
    """Return how a call is put to the user: where nobody can ask, it is denied."""
    return ASK if asks else DENY


def answer_call(decision: str, agent: str, user: str) -> dict[str, Any]:
    """Return the answer to a call that is asked about or denied: a text for each reader.

    Claude Code shows the reason of a question to the user in the dialog of a command, but not in
    that of a file, so the terminal is asked to notify them; it passes the context to the model
    whatever the user answers.
    """
    if decision == ASK:
        answer = _answer(
            "PreToolUse",
            permissionDecision=ASK,
            permissionDecisionReason=user,
            additionalContext=agent,
        )
        return {**answer, "terminalSequence": _write_notification(user)}
    answer = _answer("PreToolUse", permissionDecision=decision, permissionDecisionReason=agent)
    return {**answer, "systemMessage": user}


def _write_notification(text: str) -> str:
    """Return the escape sequence (OSC 9) with which a terminal shows a notification."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return f"\x1b]9;{plain[:_LONGEST_NOTIFICATION]}\x07"


def give_context(event: str, texts: Sequence[str], notice: str = "") -> dict[str, Any] | None:
    """Return an answer that adds text to what the agent reads next; the notice is the user's."""
    answer = _answer(event, additionalContext="\n\n".join(texts)) if texts else {}
    return (answer | notify_user(notice) if notice else answer) or None


def block_stop(reason: str) -> dict[str, Any]:
    """Return the answer that makes the agent continue instead of stopping."""
    return {"decision": "block", "reason": reason}


def notify_user(text: str) -> dict[str, Any]:
    """Return an answer that shows a line to the user, but not to the agent."""
    return {"systemMessage": text}


def _answer(event: str, **fields: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}
