"""Gemini CLI: its settings file, and problems that keep kedge's hooks from running."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from kedge.agents import installation
from kedge.agents.json_object import JsonObject
from kedge.agents.settings.hooks import Hook
from kedge.host import files
from kedge.host.project import Project

NAME = "gemini"
TITLE = "Gemini CLI"
TRACE = ".gemini"  # a project that has it uses this agent
FILE = ".gemini/settings.json"
INSTRUCTIONS = "GEMINI.md"  # what it reads unless its settings name other files
_WAIT = 10_000  # milliseconds
_CHANGING = "write_file|replace|run_shell_command|invoke_agent|save_memory|mcp_.*"
# Not PreCompress: it comes before every request, whether anything is compressed or not.
HOOKS = (
    Hook("SessionStart", None, timeout=_WAIT),
    Hook("BeforeAgent", None, timeout=_WAIT),
    Hook("BeforeTool", None, timeout=_WAIT),
    Hook("AfterTool", _CHANGING, timeout=_WAIT),
    Hook("AfterAgent", None, timeout=_WAIT),
    Hook("SessionEnd", None, timeout=_WAIT),
)
_TRUSTING = "GEMINI_CLI_TRUST_WORKSPACE"


def settings_file(*, shared: bool = False) -> str:  # noqa: ARG001 - as for the other agents
    """Return the file for hooks: Gemini CLI has only one in a project, in git or not."""
    return FILE


def find_problems(project: Project) -> list[str]:
    """Return the problems that keep hooks from running here, each with what to do.

    In a folder that it does not trust, it stops, or with --skip-trust ignores the hooks silently.
    """
    problems = [
        f"{where}: hooksConfig.enabled is false, so no hook runs; set it to true"
        for where, settings in _read_layers(project)
        if settings.child("hooksConfig").get("enabled") is False
    ]
    if not _is_trusted(project):
        problems.append(
            "Gemini CLI does not trust this folder, and with --skip-trust it works here without "
            "kedge's hooks; start gemini here and trust the folder"
        )
    return problems


def find_instruction_problems(project: Project) -> list[str]:
    """Return the reasons for which kedge's section does not reach it exactly once."""
    names = list_instruction_files(project)
    reads_own = INSTRUCTIONS in names and (project.root / INSTRUCTIONS).is_file()
    if "AGENTS.md" in names and reads_own:
        problem = (
            f"Gemini CLI reads AGENTS.md twice: by itself, and imported in {INSTRUCTIONS}; "
            "take AGENTS.md out of context.fileName in its settings"
        )
        return [problem]
    if "AGENTS.md" not in names and not reads_own:
        problem = (
            f"Gemini CLI does not read AGENTS.md, but {' and '.join(names)}; "
            "kedge init --for gemini writes GEMINI.md, which imports it"
        )
        return [problem]
    return []


def list_instruction_files(project: Project) -> list[str]:
    """List the names of the files that it reads as instructions."""
    for _, settings in _read_layers(project):
        given = settings.child("context").get("fileName")
        names = given if isinstance(given, list) else [given]
        if found := [name for name in names if isinstance(name, str)]:
            return found
    return [INSTRUCTIONS]


def make_probe_call(url: str, home: Path, project: Project) -> installation.ProbeCall:  # noqa: ARG001 - as in codex
    """Return a call with one question to a local model, without the user's keys and settings.

    The folder is trusted in this call; `find_problems` says whether it is.
    """
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "disableUpdateNag": True},
    }
    files.write_atomic(home / FILE, json.dumps(settings).encode())
    env = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, _TRUSTING: "true"}
    args = ["-p", "Answer with a word.", "-m", "gemini-2.5-pro", "-o", "json"]
    return installation.ProbeCall(args, env)


def _is_trusted(project: Project) -> bool:
    """True if the longest of its rules that covers the project trusts it."""
    home = _find_home()
    if os.environ.get(_TRUSTING) == "true" or home is None:
        return True
    trust = _read(home / "settings.json").child("security").child("folderTrust")
    if trust.get("enabled") is False:
        return True
    rules = _read(home / "trustedFolders.json")
    root, longest, trusted = Path(os.path.realpath(project.root)), -1, False
    for name in rules.names():
        level = rules.text(name)
        rule = Path(os.path.realpath(name))
        place = rule.parent if level == "TRUST_PARENT" else rule
        if root.is_relative_to(place) and len(str(place)) > longest:
            longest, trusted = len(str(place)), level in ("TRUST_FOLDER", "TRUST_PARENT")
    return trusted


def _read_layers(project: Project) -> list[tuple[str, JsonObject]]:
    """Return the settings of the project and of the user; the first ones win."""
    home = _find_home()
    layers = [(FILE, project.root / FILE)]
    layers += [(str(home / "settings.json"), home / "settings.json")] if home else []
    return [(where, _read(path)) for where, path in layers]


def _read(path: Path) -> JsonObject:
    """Return a settings file; empty where it is missing or has comments, which JSON has not."""
    try:
        data: Any = json.loads(files.read_bytes(path) or b"{}")
    except ValueError:
        return JsonObject()
    return JsonObject(data)


def _find_home() -> Path | None:
    try:
        return Path(os.environ.get("GEMINI_CLI_HOME") or Path.home(), ".gemini")
    except RuntimeError:
        return None
