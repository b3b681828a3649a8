"""GitHub Copilot CLI: its hooks file, and problems that keep kedge's hooks from running."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from kedge.agents import installation
from kedge.agents.json_object import JsonObject
from kedge.agents.settings.hooks import Hook
from kedge.host import files
from kedge.host.project import Project

NAME = "copilot"
TITLE = "Copilot CLI"
TRACE = ".github/hooks"  # a project that has it uses this agent
FILE = ".github/hooks/kedge.json"
_CHANGING = "Edit|Write|Bash|apply_patch|Agent|.*-.*"
# By the names that Claude Code has for events: by its own names, it sends and takes other fields.
HOOKS = (
    Hook("SessionStart", None),
    Hook("UserPromptSubmit", None),
    Hook("PreToolUse", None),
    Hook("PostToolUse", _CHANGING),
    Hook("PostToolUseFailure", _CHANGING),
    Hook("Stop", None),
    Hook("SubagentStop", None),
    Hook("PreCompact", None),
    Hook("SessionEnd", None),
)
_COMMENT = re.compile(rb"^\s*//.*$", re.MULTILINE)


def settings_file(*, shared: bool = False) -> str:  # noqa: ARG001 - as for the other agents
    """Return the file for hooks: Copilot reads every file in this folder, in git or not."""
    return FILE


def find_problems(project: Project) -> list[str]:
    """Return the problems that keep hooks from running here, each with what to do.

    Copilot silently skips the hooks of a folder that is not trusted.
    """
    home = _find_home()
    if home is None or os.environ.get("COPILOT_ALLOW_ALL") == "true":
        return []
    settings = _read(home / "config.json")
    trusted = [
        Path(os.path.realpath(name))
        for key in ("trustedFolders", "trusted_folders")
        for name in settings.texts(key)
    ]
    root = Path(os.path.realpath(project.root))
    if any(root.is_relative_to(folder) for folder in trusted):
        return []
    problem = (
        "Copilot CLI does not trust this folder and silently skips the hooks; start copilot here "
        "and trust the folder, or pass --trust-folder"
    )
    return [problem]


def find_instruction_problems(project: Project) -> list[str]:
    """Return the reasons for which kedge's section does not reach it exactly once."""
    text = files.read_bytes(project.root / "CLAUDE.md") or b""
    if b"@AGENTS.md" not in text:
        return []
    problem = (
        "Copilot CLI reads AGENTS.md twice: by itself, and imported in CLAUDE.md, where Claude "
        "Code needs it; "
    )
    return [problem]


def make_probe_call(url: str, home: Path, project: Project) -> installation.ProbeCall:  # noqa: ARG001 - as in codex
    """Return a call with one question to a local model, without the user's keys and settings.

    The folder is trusted in this call; `find_problems` says whether it is.
    """
    _link_cache(home)
    env = {
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_MODEL": "claude-sonnet-4.6",
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_PROVIDER_BASE_URL": url,
        "COPILOT_PROVIDER_TYPE": "anthropic",
    }
    args = ["-p", "Answer with a word.", "--trust-folder", "--output-format", "json"]
    return installation.ProbeCall(args, env)


def _link_cache(home: Path) -> None:
    """Let the probe use what Copilot has unpacked for the user: each home takes 235 MB."""
    cache = Path.home() / ".cache" / "copilot"
    if cache.is_dir():
        (home / ".cache").mkdir(parents=True, exist_ok=True)
        (home / ".cache" / "copilot").symlink_to(cache)


def _read(path: Path) -> JsonObject:
    """Return a file of Copilot's own, which begins with comments; empty where it cannot be read."""
    try:
        return JsonObject(json.loads(_COMMENT.sub(b"", files.read_bytes(path) or b"{}")))
    except ValueError:
        return JsonObject()


def _find_home() -> Path | None:
    return installation.settings_directory("COPILOT_HOME", ".copilot")
