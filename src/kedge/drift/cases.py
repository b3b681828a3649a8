"""Recorded sessions as cases: `{"id", "events": [prompt | action | result]}`, one per line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kedge.drift.past_session import PastSession
from kedge.drift.recorded_tree import RecordedTree
from kedge.errors import InvalidValue

if TYPE_CHECKING:
    from kedge.drift.evidence.distance import CodeMap
    from kedge.drift.scoring import Verdict


_HINT = 'a case is {"id": "…", "events": [{"type": "prompt" | "action" | "result", …}]}'


def read(line: bytes, number: int) -> dict[str, Any]:
    """Parse the case on one line. Raise InvalidValue, which names the line, if it is not one."""
    try:
        case: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"line {number} is not JSON: {error}", hint=_HINT) from error
    events = case.get("events") if isinstance(case, dict) else None
    if not isinstance(events, list) or not isinstance(case.get("id"), str):
        raise InvalidValue(f"line {number} has no id or no events", hint=_HINT)
    for place, event in enumerate(events):
        if not isinstance(event, dict) or not _is_complete(event):
            raise InvalidValue(
                f"line {number}: event {place} has missing or wrong fields", hint=_HINT
            )
    return {"id": case["id"], "events": events}


def _is_complete(event: dict[str, Any]) -> bool:
    needed = {"prompt": ("text",), "action": ("id", "tool"), "result": ("id",)}
    return all(isinstance(event.get(name), str) for name in needed.get(str(event.get("type")), ()))


def score(
    case: dict[str, Any], root: str | None = None, code_map: CodeMap | None = None
) -> dict[str, Any]:
    """Return the verdicts on the actions of a case, and its course at the end.

    `root` is the project that the session worked in, as it was before.
    """
    tree = RecordedTree(root) if root is not None else None
    session = PastSession(root, code_map=code_map, tree=tree)
    verdicts = []
    for event in case["events"]:
        kind = event.get("type")
        if kind == "prompt":
            session.prompt(event["text"])
        elif kind == "action":
            verdict = session.call(event["id"], event["tool"], event.get("input"))
            verdicts.append(_show_verdict(event["id"], verdict))
        elif kind == "result":
            session.result(event["id"], event.get("ok") is not False)
    course = {
        "score": round(session.engine.course.score, 1),
        "state": session.engine.course.state,
    }
    return {"id": case["id"], "verdicts": verdicts, "course": course}


def _show_verdict(action: str, verdict: Verdict) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "action": action,
        "score": verdict.score,
        "level": verdict.level,
        "rules": [rule._asdict() for rule in verdict.rules],
    }
    if verdict.lacks:
        shown["lacks"] = list(verdict.lacks)
    return shown
