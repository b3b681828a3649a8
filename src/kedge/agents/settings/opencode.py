"""opencode: kedge's plugin, the entry that loads it, and problems that keep it from running."""

from __future__ import annotations

import json
from pathlib import Path

from kedge.agents import installation
from kedge.agents.settings.hooks import Hook
from kedge.agents.settings.json_entry import JsonEntry
from kedge.agents.settings.opencode_plugin import PLUGIN
from kedge.host.project import Project

NAME = "opencode"
TITLE = "opencode"
TRACE = "opencode.json"  # a project that has it uses this agent
# Not in `.opencode`: in a project with that directory, opencode installs 63 MB of packages there.
FILE = ".kedge/opencode.js"
_PLACE = f"./{FILE}"
HOOKS = (Hook(PLUGIN, None, timeout=None),)
ENTRY = JsonEntry(TRACE, ("plugin",), "", _PLACE, lambda value: value == _PLACE)


def settings_file(*, shared: bool = False) -> str:  # noqa: ARG001 - as for the other agents
    """Return the file of the plugin."""
    return FILE


def find_problems(project: Project) -> list[str]:
    """Return the problems that keep the plugin from running here, each with what to do."""
    try:
        text = (project.root / ENTRY.file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        text = ""
    if _PLACE in text:
        return []
    return [f"{ENTRY.file} does not name {_PLACE}, so opencode does not load it; kedge update"]


def make_probe_call(url: str, home: Path, project: Project) -> installation.ProbeCall:
    """Return a call with one question to a local model, without the user's keys and settings."""
    (project.root / ENTRY.file).write_text(ENTRY.write_document(_PLACE), encoding="utf-8")
    provider = {
        "npm": "@ai-sdk/anthropic",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"m": {"limit": {"context": 200_000, "output": 8_000}}},
    }
    settings = {
        "model": "here/m",
        "small_model": "here/m",
        "autoupdate": False,
        "share": "disabled",
        "provider": {"here": provider},
    }
    env = {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "XDG_CONFIG_HOME": str(home / "config"),
        "npm_config_offline": "true",  # it installs packages for plugins, and goes on without
        "npm_config_fetch_retries": "0",
    }
    return installation.ProbeCall(["run", "--format", "json", "Answer."], env)
