"""What a session came to: where it strayed, what it changed and decided, and what needs a look."""

from __future__ import annotations

from kedge.drift.course import LEVELS, NORMAL
from kedge.store import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from typing import Any

DRIFTED, REVIEW = "had-drift", "needs-review"  # labels of a task
_ALARM = LEVELS.index("correct")
_GRAVE = LEVELS.index("intervene")
_FILES = 200
_DECISIONS = 20
_LONGEST = 240  # characters of a decision


def account(db: sqlite3.Connection, row: dict[str, Any]) -> dict[str, Any]:
    """The session in figures and words."""
    events = sessions.events(db, row["id"])
    steps = sessions.steps(db, row["id"])
    levels = {level: sum(one["level"] == level for one in events) for level in LEVELS[1:]}
    worst = max((LEVELS.index(one["level"]) for one in events), default=0)
    why = reasons(row, events, steps)
    changed = dict.fromkeys(
        path for step in steps if step["changes"] and _done(step) for path in step["files"]
    )
    return {
        "goal": row["goal"],
        "task": row["task"],
        "actions": len(steps),
        "alarms": sum(LEVELS.index(one["level"]) >= _ALARM for one in events),
        "worst": LEVELS[worst],
        "levels": levels,
        "score": round(row["score"], 1),
        "state": row["course"],
        "needs_review": bool(why),
        "why": why,
        "files": list(changed)[:_FILES],
        "decisions": _decisions(steps),
    }


def reasons(
    row: dict[str, Any], events: Sequence[dict[str, Any]], steps: Sequence[dict[str, Any]]
) -> list[str]:
    """Why somebody should look at it: what was done against the user's word, or not taken back."""
    done = {step["id"] for step in steps if _done(step)}
    found = []
    for event in events:
        if LEVELS.index(event["level"]) < _ALARM or event["step"] not in done:
            continue
        for rule, evidence, weight in event["evidence"][:1]:
            grave = LEVELS.index(event["level"]) >= _GRAVE and rule != "repetition"
            if grave or (rule == "weakened check" and weight >= 4):
                found.append(f"{rule}: {evidence}"[:_LONGEST])
    if row["course"] != NORMAL:
        found.append(f"the session did not come back on course ({row['course']})")
    return list(dict.fromkeys(found))


def labels(found: dict[str, Any]) -> list[str]:
    """The labels that a task gets from a session about it."""
    named = [DRIFTED] if found["alarms"] else []
    return [*named, REVIEW] if found["needs_review"] else named


def notice(session: str, found: dict[str, Any]) -> str:
    """The line that tells the user."""
    more = len(found["why"]) - 1
    rest = f", and {more} more" if more else ""
    return f"kedge: needs review: {found['why'][0]}{rest} (kedge drift explain {session[:8]})"


def missing(row: dict[str, Any], checks: Iterable[str], steps: Sequence[dict[str, Any]]) -> str:
    """What a session about a task still owes: checks that did not pass after the last change."""
    changed = [step["position"] for step in steps if step["changes"] and _done(step)]
    if not changed:
        return ""
    passed = [
        step["command"] for step in steps if step["position"] > changed[-1] and step["ok"] is True
    ]
    owed = [check for check in checks if not any(check in command for command in passed)]
    if not owed:
        return ""
    named = ", ".join(f"`{check}`" for check in owed[:3])
    return (
        f"[kedge] Task {row['task']} is not shown to be done: {named} did not pass since the last "
        "change. Run it; if it cannot pass, say why."
    )


def _done(step: dict[str, Any]) -> bool:
    """Whether a step took place, as far as is known: what was asked about may have been refused."""
    return step["ok"] is not None or step["decision"] == "none"


def _decisions(steps: Iterable[dict[str, Any]]) -> list[str]:
    found = []
    for step in steps:
        if step["is_key_decision"] and step["is_validated"] and _done(step):
            what = f"{step['action_type']} {', '.join(step['files'][:3]) or step['command'][:80]}"
            said = " ".join(step["reasoning"].split())
            found.append(f"{what}: {said}"[:_LONGEST] if said else what)
    return list(dict.fromkeys(found))[-_DECISIONS:]
