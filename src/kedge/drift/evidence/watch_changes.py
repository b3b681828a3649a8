"""Changes to the watch itself: its limits, its settings, its hooks, its database."""

from __future__ import annotations

from kedge.drift.evidence.memory import find_changed_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.actions import Action

_DATABASE = ".git/kedge/kedge.db"
_FILES = (
    ".kedge/config.toml",
    "/kedge/config.toml",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".gemini/settings.json",
    ".github/hooks/kedge.json",
    ".kedge/opencode.js",
    "opencode.json",
    _DATABASE,
)


def find_change(action: Action, request: str) -> str:
    """Return the command or file by which an action weakens the watch; empty if it does not.

    A request that speaks of hooks or of the file allows the files, but never the database.
    """
    for words in action.effects.kedge:
        if _is_for_the_user(words):
            return " ".join(("kedge", *words))[:120]
    touched = next((path for path in find_changed_files(action) if path.endswith(_FILES)), "")
    asked = ("kedge", "hook", touched.rpartition("/")[2])
    if touched.endswith(_DATABASE) or not any(word in request.lower() for word in asked):
        return touched
    return ""


def _is_for_the_user(words: Sequence[str]) -> bool:
    """True for a command that only the user may give."""
    if words[:3] == ("drift", "limit", "add"):
        from kedge.drift.shell.programs.kedge import is_record

        return not is_record(list(words))
    if words[:1] == ("serve",):
        return "--stop" in words
    is_setting = words[:2] == ("config", "set") and any(
        word.startswith(("drift.", '"drift"')) for word in words[2:]
    )
    approves = words[:1] == ("trust",) and "--list" not in words
    approves = approves or "--trust" in words
    is_lift = words[:3] == ("drift", "limit", "lift")
    return is_setting or approves or is_lift or words[:1] == ("uninstall",)
