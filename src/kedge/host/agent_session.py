"""Tell whether an agent started this process: what it types is not the user's word.

Only the environment is asked. An agent that clears it passes for the user, as it could do anything
else that the user can; its hooks see the command before it runs.
"""

from __future__ import annotations

from collections.abc import Mapping

# set by agents for the programs that they start; the first ones hold the session's id
SESSION_IDS = ("CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID", "CODEX_THREAD_ID")
_AGENTS = (
    *SESSION_IDS, "CLAUDECODE", "CODEX_CI", "CODEX_SANDBOX", "AI_AGENT", "GEMINI_CLI", "OPENCODE",
    "COPILOT_CLI", "CURSOR_AGENT",
)  # fmt: skip
_UNATTENDED = ("KEDGE_RUN", "KEDGE_JUDGE", "KEDGE_CHECK")  # set by kedge for what it starts


def is_agent(environment: Mapping[str, str]) -> bool:
    """True if an agent started this process, as far as its environment tells."""
    return any(environment.get(name) for name in _AGENTS)


def is_user(environment: Mapping[str, str]) -> bool:
    """True if neither an agent nor a run or a check of kedge started this process."""
    return not is_agent(environment) and not any(environment.get(name) for name in _UNATTENDED)
