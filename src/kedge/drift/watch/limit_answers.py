"""What the user is asked about limits and grave acts, and what their Yes lifts."""

from __future__ import annotations

from kedge.drift import inputs
from kedge.drift.evidence.outward_acts import IRREVERSIBLE
from kedge.drift.watch import unread
from kedge.drift.watch.answers import ALLOWED, ASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from typing import Any

    from kedge.drift.actions import Action
    from kedge.drift.engine import Session
    from kedge.drift.scoring import Verdict

REMINDER = (
    "[kedge] The user's message may set a limit that is not recorded. If it does, record it: "
    '`kedge drift limit add --only|--forbid|--no-read PATH --no ACT --quote "their words"` '
    "(`--help` lists all). If not, go on."
)
_MODIFYING = ("edit", "write", "delete", "move", "vcs", "install")


def record_limits(
    db: sqlite3.Connection,
    name: str,
    session: Session,
    action: Action,
    agent_limits: Callable[[], bool],
) -> None:
    """Record the limits that an agent is about to record with the user's words."""
    if not inputs.records_limits(action) or not agent_limits():
        return
    from kedge.drift.watch import limit_records

    limits = inputs.find_recorded_limits(
        session, action, lambda quote: limit_records.has_said(db, name, quote)
    )
    if limits:
        limit_records.add(db, name, limits)


def list_asked(session: Session, action: Action, verdict: Verdict) -> list[list[str]]:
    """Return what a Yes would lift: pairs of a limit's id, or of a rule, and its evidence."""
    from kedge.drift.limits.action_view import ActionView
    from kedge.drift.limits.breaches import find_all_breaches

    asked = [[rule.rule, rule.evidence] for rule in verdict.rules if rule.rule in IRREVERSIBLE]
    if any(rule.rule == "limit" for rule in verdict.rules):
        view = ActionView(action)
        for limit in session.charter.limits:
            found = find_all_breaches(limit, view, exists=session.exists, read=session.read)
            asked += [[limit.id, breach.evidence] for breach in found]
    return asked


def address_agent(
    session: Session,
    call: str,
    decision: str,
    level: str,
    verdict: Verdict,
    earlier: Sequence[str],
    asked: Sequence[Sequence[str]],
) -> str:
    """Return the text for the agent about a call that is asked about or denied.

    Its correction counts as delivered.
    """
    from kedge.drift.corrections import tell_agent, write_correction

    corrections = session.deliver((call,), earlier)
    if corrections:
        text = corrections[0].text
    else:
        text = write_correction(
            level, session.charter.goal, verdict.rules, earlier, session.way_back
        ).text
    return f"{text}\n{tell_agent(decision == ASK, _list_limits(asked, verdict.rules))}"


def address_user(step: dict[str, Any]) -> str:
    """Return the text for the user about a step that is asked about or denied."""
    from kedge.drift.corrections import write_notice, write_question
    from kedge.drift.scoring import Penalty

    rules = [Penalty(*rule) for rule in step["rules"]]
    if step["correction_given"] == unread.TO_AGENT:
        return unread.TO_USER
    if step["decision"] == ASK:
        return write_question(rules)
    return write_notice(rules, _list_limits(step["asked"], rules))


def _list_limits(asked: Sequence[Sequence[str]], rules: Sequence[Any]) -> list[str]:
    """Return the ids of the limits among what is asked about; none if another rule is heavier."""
    if not rules or max(rules, key=lambda rule: rule.weight).rule != "limit":
        return []
    return [name for name, _ in asked if name not in IRREVERSIBLE]


def take_agreement(
    db: sqlite3.Connection, name: str, session: Session, step: dict[str, Any]
) -> str:
    """Lift what the user agreed to when asked, as the result of the call shows.

    Return a line for the user that says so.
    """
    if step["decision"] != ASK:
        return ""
    from kedge.store import sessions

    session.allow(step["asked"])
    sessions.change_step(db, name, step["id"], decision=ALLOWED)
    what = ", ".join(dict.fromkeys(evidence for _, evidence in step["asked"]))
    return f"kedge: allowed in this session: {what[:200]}" if what else ""


def remind_once(
    session: Session, step: dict[str, Any], agent_limits: Callable[[], bool]
) -> list[str]:
    """Return the reminder to record a limit, once after a message that may set one."""
    charter = session.charter
    if not charter.unrecorded or step["action_type"] not in _MODIFYING:
        return []
    session.charter = charter._replace(unrecorded=False)
    return [REMINDER] if agent_limits() else []
