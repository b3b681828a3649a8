"""The adapters by name."""

from __future__ import annotations

from kedge.agents.launch import claude, codex, copilot, gemini, opencode, plain_command
from kedge.agents.launch.adapter import Adapter
from kedge.errors import ConfigError

ADAPTERS: dict[str, Adapter] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "copilot": copilot,
    "opencode": opencode,
    "command": plain_command,
}


def find_adapter(name: str) -> Adapter:
    """Return the adapter with this name; raises ConfigError if there is none."""
    if name not in ADAPTERS:
        raise ConfigError(f"no agent {name!r}", hint=f"one of {', '.join(ADAPTERS)}")
    return ADAPTERS[name]
