"""A step as it is kept: what was done, what came of it, and the terms to find it again by."""

from __future__ import annotations

from kedge.drift import memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.drift.actions import Action
    from kedge.drift.engine import Session
    from kedge.drift.scoring import Verdict

_FILES = 50
_KEYWORDS = 12
_COMMAND = 2_000  # characters
_TYPES = {"none": "none", "nudge": "minor", "correct": "minor", "intervene": "major",
          "halt": "critical"}  # fmt: skip
_DECIDING = ("decided", "decide to", "instead of", "rather than", "chose ", "choose ", "trade-off",
             "tradeoff", "the approach")  # fmt: skip
_FOUNDATIONS = ("migration", "schema", "dockerfile", "makefile", ".github/", "pyproject.toml",
                "package.json", "cargo.toml", "go.mod")  # fmt: skip


def step(session: Session, action: Action, verdict: Verdict) -> dict[str, Any]:
    """The columns of a step that its action and the verdict on it decide."""
    files = _files(action)
    return {
        "tool": action.tool[:100],
        "action_type": action.kind,
        "files": files,
        "folders": folders(files),
        "command": action.command[:_COMMAND],
        "reasoning": action.note[:_COMMAND],
        "drift_score": verdict.score,
        "drift_type": _TYPES[verdict.level],
        "level": verdict.level,
        "rules": [list(rule) for rule in verdict.rules],
        "lacks": list(verdict.lacks),
        "changes": bool(memory.changed(action)),
        "is_key_decision": is_key(action, action.note),
        "is_validated": verdict.score >= 5,
        "keywords": keywords(session, action),
    }


def folders(files: list[str]) -> list[str]:
    """The folders that the files are in; the project's own is the dot."""
    return list(dict.fromkeys(path.rpartition("/")[0] or "." for path in files))


def keywords(session: Session, action: Action) -> list[str]:
    """The words of the goal that an action meets."""
    state = session.state
    changed = bool(memory.changed(action)) and state.window
    met = state.window[-1].words if changed else state.reading.read_words
    return [word for word in met if word in state.words][:_KEYWORDS]


def is_key(action: Action, reasoning: str) -> bool:
    """Whether a step decides something that later ones rest on.

    It makes, moves or removes files, adds a dependency, changes what all rests on, or the agent
    says that it chose.
    """
    effects = action.effects
    if effects.deleted or effects.moved or effects.installs:
        return True
    changed = memory.changed(action)
    if not changed:
        return False
    if action.kind == "write" or any(
        mark in path.lower() for path in changed for mark in _FOUNDATIONS
    ):
        return True
    return decides(reasoning)


def decides(reasoning: str) -> bool:
    """Whether an agent's words about a step say that it chose."""
    text = reasoning.lower()
    return any(word in text for word in _DECIDING)


def _files(action: Action) -> list[str]:
    changed = memory.changed(action)
    return list(dict.fromkeys((*changed, *action.effects.read)))[:_FILES]
