"""Claude Code: its settings files, and problems that keep kedge's hooks from running."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from kedge.agents import installation
from kedge.agents.settings import hooks
from kedge.agents.settings.hook_command import guard_command
from kedge.agents.settings.hooks import Hook
from kedge.errors import KedgeError
from kedge.host import daemon
from kedge.host.daemon import Daemon
from kedge.host.project import Project

NAME = "claude"
TITLE = "Claude Code"
TRACE = ".claude"  # a project that has it uses this agent
HOOKS = hooks.HOOKS
_CALLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
LOCAL = ".claude/settings.local.json"
SHARED = ".claude/settings.json"
MANAGED = Path(
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)


def settings_file(*, shared: bool = False) -> str:
    """Return the file for hooks: the user's own in this project, or the one shared through git."""
    return SHARED if shared else LOCAL


def send_calls(own: Iterable[Hook], to: Daemon, home: Path) -> tuple[Hook, ...]:
    """Return hooks that send each call to `kedge serve` while it runs, and run the command else.

    The other events are rare, and those that begin a session or a turn look after the server.
    """
    kept = tuple(
        replace(hook, command=guard_command(hook.command, home / daemon.PID))
        if hook.event in _CALLS
        else hook
        for hook in own
    )
    url = f"http://127.0.0.1:{to.port}/kedge/hooks/{NAME}"
    headers = {daemon.TOKEN_HEADER: to.token}
    headers |= {header: f"${name}" for header, name in daemon.VARIABLES.items()}
    sent = (replace(hook, command="", url=url, headers=headers) for hook in kept)
    return (*kept, *(hook for hook in sent if hook.event in _CALLS))


def find_problems(project: Project, *, managed: Path = MANAGED) -> list[str]:
    """Return the problems that keep hooks from running here, each with what to do."""
    problems = []
    disabled = None
    for path, where in list_layers(project, managed):
        try:
            if not Path(where).is_absolute():
                project.path(where)
            text = hooks.read_settings(path, where=where)
            if text is None:
                continue
            off = hooks.read_setting(text, "disableAllHooks", where=where)
            only = path == managed and hooks.read_setting(
                text, "allowManagedHooksOnly", where=where
            )
        except KedgeError as error:
            problems.append(f"{error.message}: Claude Code cannot use the file; correct it")
            continue
        if disabled is None and isinstance(off, bool):
            disabled = off
            if off:
                problems.append(
                    f"{where}: disableAllHooks is true, so no hook runs; set it to false"
                )
        if only is True:
            problems.append(
                f"{where}: allowManagedHooksOnly is true, so only the administrator's hooks run; "
                "ask for kedge's to be added there"
            )
    return problems


def make_probe_call(url: str, home: Path, project: Project) -> installation.ProbeCall:  # noqa: ARG001 - as in codex
    """Return a call with one question to a local model, without the user's keys and settings."""
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
    return installation.ProbeCall(["-p", "Answer with a word.", "--output-format", "json"], env)


def list_layers(project: Project, managed: Path = MANAGED) -> list[tuple[Path, str]]:
    """Return the settings files and how to show their paths; the first one wins.

    They are the administrator's, the user's own in the project, the shared ones, and the user's.
    """
    layers = [(managed, str(managed))]
    layers += [(project.root / name, name) for name in (LOCAL, SHARED)]
    user = installation.settings_directory("CLAUDE_CONFIG_DIR", ".claude")
    if user:
        layers.append((user / "settings.json", str(user / "settings.json")))
    return layers
