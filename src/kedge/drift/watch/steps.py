"""A step as it is stored: the action, its verdict, and the terms to find it by."""

from __future__ import annotations

from kedge.drift.course import NORMAL, ON_COURSE
from kedge.drift.evidence import memory

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
_CHOOSING = ("decided", "decide to", "instead of", "rather than", "chose ", "choose ", "trade-off",
             "tradeoff", "the approach")  # fmt: skip
_FOUNDATIONS = ("migration", "schema", "dockerfile", "makefile", ".github/", "pyproject.toml",
                "package.json", "cargo.toml", "go.mod")  # fmt: skip


def describe_step(session: Session, action: Action, verdict: Verdict) -> dict[str, Any]:
    """Return the columns of a step that follow from its action and verdict."""
    files = _list_files(action)
    # Saving pauses while a session is off its course: only the drift log has what it does then.
    is_validated = verdict.score >= 5 and session.course.state == NORMAL
    return {
        "tool": action.tool[:100],
        "action_type": action.kind,
        "files": files,
        "folders": list_folders(files),
        "command": action.command[:_COMMAND],
        "reasoning": action.note[:_COMMAND],
        "drift_score": verdict.score,
        "drift_type": _TYPES[verdict.level],
        "level": verdict.level,
        "rules": [list(rule) for rule in verdict.rules],
        "lacks": list(verdict.lacks),
        "changes": bool(memory.find_changed_files(action)),
        "is_key_decision": is_validated
        and verdict.score >= ON_COURSE
        and is_key_decision(action, action.note),
        "is_validated": is_validated,
        "keywords": find_keywords(session, action),
    }


def is_unpredictable(action: Action) -> bool:
    """True if an action may change files that it does not name: scripts, generators, make.

    Test runners and linters are taken at their word, and what kedge writes is its own.
    """
    effects = action.effects
    if effects.unread:
        return True
    checks = [" ".join(check.command) for check in effects.checks]
    others = [run for run in effects.runs if run.partition(" ")[0] != "kedge"]
    return any(not any(check.startswith(run) for check in checks) for run in others)


def list_folders(files: list[str]) -> list[str]:
    """Return the folders of the files; the project's root is `.`."""
    return list(dict.fromkeys(path.rpartition("/")[0] or "." for path in files))


def find_keywords(session: Session, action: Action) -> list[str]:
    """Return the words of the goal that an action mentions."""
    known = session.memory
    changed = bool(memory.find_changed_files(action)) and known.window
    words = known.window[-1].words if changed else known.reading.read_words
    return [word for word in words if word in known.words][:_KEYWORDS]


def is_key_decision(action: Action, reasoning: str) -> bool:
    """True if later steps depend on what this step decides.

    Such a step creates, moves or removes files, adds a dependency, changes a foundation such as a
    schema or the build, or the agent calls it a choice.
    """
    effects = action.effects
    if effects.deleted or effects.moved or effects.installs:
        return True
    changed = memory.find_changed_files(action)
    if not changed:
        return False
    if action.kind == "write" or any(
        mark in path.lower() for path in changed for mark in _FOUNDATIONS
    ):
        return True
    return is_choice(reasoning)


def is_choice(reasoning: str) -> bool:
    """True if an agent's words about a step say that it chose something."""
    text = reasoning.lower()
    return any(word in text for word in _CHOOSING)


def _list_files(action: Action) -> list[str]:
    changed = memory.find_changed_files(action)
    return list(dict.fromkeys((*changed, *action.effects.read)))[:_FILES]
