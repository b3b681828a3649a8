"""Claude Code: its settings files, and what may keep kedge's hooks from running."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kedge.agents import hooks, program
from kedge.errors import KedgeError
from kedge.host.project import Project

NAME = "claude"
TITLE = "Claude Code"
LOCAL = ".claude/settings.local.json"
SHARED = ".claude/settings.json"
MANAGED = Path(
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)


def settings_file(*, shared: bool = False) -> str:
    """The file that hooks go into: the user's own in this project, or the one that git has."""
    return SHARED if shared else LOCAL


def found() -> Path | None:
    return program.find(NAME)


def version() -> str | None:
    path = found()
    return program.version(path) if path else None


def used(project: Project) -> bool:
    return any(os.path.lexists(project.root / name) for name in (".claude", "CLAUDE.md"))


def problems(project: Project, *, managed: Path = MANAGED) -> list[str]:
    """What keeps hooks from running here, each with what to do."""
    told = []
    disabled = None
    for path, where in _layers(project, managed):
        try:
            if not Path(where).is_absolute():
                project.path(where)
            text = hooks.read(path, where=where)
            if text is None:
                continue
            off = hooks.setting(text, "disableAllHooks", where=where)
            only = path == managed and hooks.setting(text, "allowManagedHooksOnly", where=where)
        except KedgeError as error:
            told.append(f"{error.message}: Claude Code cannot use the file; mend it")
            continue
        if disabled is None and isinstance(off, bool):
            disabled = off
            if off:
                told.append(f"{where}: disableAllHooks is true, so no hook runs; set it to false")
        if only is True:
            told.append(
                f"{where}: allowManagedHooksOnly is true, so only the administrator's hooks run; "
                "ask for kedge's to be added there"
            )
    return told


def probe(url: str, home: Path, project: Project) -> program.Launch:  # noqa: ARG001 - as for codex
    """One question to a model on this machine, without the user's keys, settings or tools."""
    env = {
        "ANTHROPIC_API_KEY": "sk-ant-none",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "CLAUDE_CODE_TMPDIR": str(home / "tmp"),
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }
    return program.Launch(["-p", "Answer with a word.", "--output-format", "json"], env)


def _layers(project: Project, managed: Path) -> list[tuple[Path, str]]:
    """Where settings are read from, and how the place is shown; what comes first wins."""
    layers = [(managed, str(managed))]
    layers += [(project.root / name, name) for name in (LOCAL, SHARED)]
    user = program.settings_directory("CLAUDE_CONFIG_DIR", ".claude")
    if user:
        layers.append((user / "settings.json", str(user / "settings.json")))
    return layers
