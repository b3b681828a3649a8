"""Changes to the watch itself: its limits, its settings, its hooks, its database, its keys."""

from __future__ import annotations

from kedge.drift.evidence.memory import find_changed_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kedge.drift.actions import Action
    from kedge.drift.limits.action_view import ReadFile

_DATABASE = ".git/kedge/kedge.db"
_KEYS = (".git/kedge/dashboard.key", ".git/kedge/serve.json", ".git/kedge/daemon.json")
_FILES = (
    ".kedge/config.toml",
    "/kedge/config.toml",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".github/hooks/kedge.json",
    ".kedge/opencode.js",
    _DATABASE,
)
# The user's settings of these agents are the watch while they hold kedge's part, which has all of
# the first words; a change of a text with none of the second ones leaves it alone.
_SHARED = {
    "opencode.json": ((".kedge/opencode.js",), ("kedge", "plugin")),
    ".gemini/settings.json": (("kedge", "BeforeTool"), ("kedge", "hook")),
}


def find_change(action: Action, request: str, read: ReadFile | None = None) -> str:
    """Return the command or file by which an action weakens the watch; empty if it does not.

    A request that speaks of hooks or of the file allows the files, but never the database. `read`
    returns a file as it was before.
    """
    for words in action.effects.kedge:
        if _is_for_the_user(words):
            return " ".join(("kedge", *words))[:120]
    for path in action.effects.read:  # a key lets its reader do what only the user may
        if path.endswith(_KEYS):
            return path
    changed = find_changed_files(action)
    touched = next(
        (path for path in changed if path.endswith(_FILES) or _takes_part(action, path, read)), ""
    )
    asked = ("kedge", "hook", touched.rpartition("/")[2])
    if touched.endswith(_DATABASE) or not any(word in request.lower() for word in asked):
        return touched
    return ""


def _takes_part(action: Action, path: str, read: ReadFile | None) -> bool:
    """True if an action may take kedge's part out of the user's settings."""
    if path not in _SHARED:
        return False
    marks, words = _SHARED[path]
    before = None if read is None else (read(path) or b"").decode("utf-8", "replace")
    if before is not None and not _has_all(before, marks):
        return False
    if action.removed:
        return any(word in action.removed + action.text for word in words)
    return not _has_all(action.text, marks)


def _has_all(text: str, marks: Sequence[str]) -> bool:
    return all(mark in text for mark in marks)


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
