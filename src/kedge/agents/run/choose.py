"""The adapters by name."""

from __future__ import annotations

from kedge.agents.run import claude, codex, command, gemini, opencode
from kedge.agents.run.adapter import Adapter
from kedge.errors import ConfigError

ADAPTERS: dict[str, Adapter] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
    "command": command,
}


def adapter(name: str) -> Adapter:
    if name not in ADAPTERS:
        raise ConfigError(f"no agent {name!r}", hint=f"one of {', '.join(ADAPTERS)}")
    return ADAPTERS[name]
