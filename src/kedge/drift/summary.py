"""The summary of a session: where it strayed, what it changed and decided, what needs review."""

from __future__ import annotations

from kedge.drift.course import LEVELS, NORMAL, ON_COURSE
from kedge.host.text import shorten
from kedge.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from typing import Any

    from kedge.tasks.binding import Binding

DRIFTED, REVIEW = "had-drift", "needs-review"  # labels of a task
_ALARM = LEVELS.index("correct")
_GRAVE = LEVELS.index("intervene")
_FILES = 200
_DECISIONS = 20
_LONGEST = 240  # characters of a decision
_TITLE = 80  # characters of a task's title in a line
_QUOTE, _QUOTES = 60, 2  # characters of a limit in a line, and how many of them


def summarize(db: sqlite3.Connection, row: dict[str, Any]) -> dict[str, Any]:
    """Return the summary that is stored with the session."""
    steps = sessions.steps(db, row["id"])
    allowed = {step["id"] for step in steps if step["decision"] == "allowed"}  # by the user
    events = [each for each in sessions.events(db, row["id"]) if each["step"] not in allowed]
    levels = {level: sum(event["level"] == level for event in events) for level in LEVELS[1:]}
    worst = max((LEVELS.index(event["level"]) for event in events), default=0)
    why = find_review_reasons(row, events, steps)
    changed = dict.fromkeys(
        path for step in steps if step["changes"] and _was_done(step) for path in step["files"]
    )
    return {
        "goal": row["goal"],
        "task": row["task"],
        "actions": len(steps),
        "alarms": sum(LEVELS.index(event["level"]) >= _ALARM for event in events),
        "worst": LEVELS[worst],
        "levels": levels,
        "score": round(row["score"], 1),
        "state": row["course"],
        "needs_review": bool(why),
        "why": why,
        "files": list(changed)[:_FILES],
        "decisions": _list_decisions(steps),
    }


def find_review_reasons(
    row: dict[str, Any], events: Sequence[dict[str, Any]], steps: Sequence[dict[str, Any]]
) -> list[str]:
    """Return why somebody should review the session: grave steps, or drift that lasted."""
    done = {step["id"] for step in steps if _was_done(step)}
    reasons = []
    for event in events:
        if LEVELS.index(event["level"]) < _ALARM or event["step"] not in done:
            continue
        for rule, evidence, weight in event["evidence"][:1]:
            grave = LEVELS.index(event["level"]) >= _GRAVE and rule != "repetition"
            if grave or (rule == "weakened check" and weight >= 4):
                reasons.append(f"{rule}: {evidence}"[:_LONGEST])
    if row["course"] != NORMAL and _has_strayed(events, done):
        reasons.append(f"the session did not come back on course ({row['course']})")
    return list(dict.fromkeys(reasons))


def _has_strayed(events: Sequence[dict[str, Any]], done: set[str]) -> bool:
    """True if a step of the drift that lasts was done: calls that were stopped changed nothing."""
    for event in reversed(events):
        if event["step"] in done:
            return True
        if event["before"] == NORMAL:
            return False
    return True


def choose_labels(summary: dict[str, Any]) -> list[str]:
    """Return the labels that a task gets from a session bound to it."""
    labels = [DRIFTED] if summary["alarms"] else []
    return [*labels, REVIEW] if summary["needs_review"] else labels


def write_notice(session: str, summary: dict[str, Any]) -> str:
    """Write the line that tells the user why the session needs review."""
    more = len(summary["why"]) - 1
    rest = f", and {more} more" if more else ""
    return f"kedge: needs review: {summary['why'][0]}{rest} (kedge drift explain {session[:8]})"


def write_start_notice(policy: str, binding: Binding, limits: Sequence[str] = ()) -> str:
    """Write the line that tells the user what is watched; "" if nothing is."""
    from kedge.drift.watch.answers import OFF
    from kedge.tasks.binding import describe_binding

    if policy == OFF:
        return ""
    if binding.task is not None:
        title = shorten(binding.task.title, _TITLE)
        task = f", {describe_binding(binding.task.id, binding.how)}: {title}"
    elif binding.candidates:
        names = ", ".join(each.id for each in binding.candidates[:5])
        task = f", bound to no task: {len(binding.candidates)} are in progress here ({names})"
    else:
        task = ": tool calls are compared with what you ask"
    return f"kedge watches this session ({policy}){task}; {_name_limits(limits)}"


def _name_limits(limits: Sequence[str]) -> str:
    if not limits:
        return "no limits yet"
    shown = ", ".join(f"“{shorten(each, _QUOTE)}”" for each in limits[:_QUOTES])
    more = f" and {len(limits) - _QUOTES} more" if len(limits) > _QUOTES else ""
    return f"{'limit' if len(limits) == 1 else 'limits'}: {shown}{more}"


def write_reminder(
    row: dict[str, Any], checks: Iterable[str], steps: Sequence[dict[str, Any]], since: str = ""
) -> str:
    """Write a reminder of the checks that did not pass since the last change.

    Empty if all passed, or if nothing was changed after the time `since`.
    """
    changed = [step for step in steps if step["changes"] and _was_done(step)]
    if not changed or changed[-1]["at"] < since:
        return ""
    last = changed[-1]["position"]
    passed = [step["command"] for step in steps if step["position"] > last and step["ok"] is True]
    owed = [check for check in checks if not any(check in command for command in passed)]
    if not owed:
        return ""
    named = ", ".join(f"`{check}`" for check in owed[:3])
    return (
        f"[kedge] Task {row['task']} is not proven done: {named} did not pass since the last "
        "change. Run it; if it cannot pass, say why."
    )


def _was_done(step: dict[str, Any]) -> bool:
    """True if a step took place as far as is known; one the user was asked about may not have."""
    return step["ok"] is not None or step["decision"] == "none"


def _list_decisions(steps: Iterable[dict[str, Any]]) -> list[str]:
    decisions = []
    for step in steps:
        on_course = step["is_validated"] and step["drift_score"] >= ON_COURSE
        if step["is_key_decision"] and on_course and _was_done(step):
            what = f"{step['action_type']} {', '.join(step['files'][:3]) or step['command'][:80]}"
            reasoning = " ".join(step["reasoning"].split())
            decisions.append(f"{what}: {reasoning}"[:_LONGEST] if reasoning else what)
    return list(dict.fromkeys(decisions))[-_DECISIONS:]
