"""Every adapter against the fake agent that speaks as its agent does."""

from __future__ import annotations

from pathlib import Path

from kedge.agents.launch import claude, codex, copilot, gemini, opencode, plain_command
from kedge.agents.launch.adapter import Adapter
from kedge.testing.agents import AdapterSuite


class TestClaude(AdapterSuite):
    dialect = "claude"

    def adapter(self) -> Adapter:
        return claude


class TestCodex(AdapterSuite):
    dialect = "codex"
    reports_cost = False

    def adapter(self) -> Adapter:
        return codex


class TestGemini(AdapterSuite):
    dialect = "gemini"
    reports_cost = False

    def adapter(self) -> Adapter:
        return gemini


class TestCopilot(AdapterSuite):
    dialect = "copilot"
    reports_cost = False

    def adapter(self) -> Adapter:
        return copilot

    def environment(self, place: Path) -> dict[str, str]:
        return {"COPILOT_HOME": str(place / "copilot")}


class TestOpencode(AdapterSuite):
    dialect = "opencode"
    reports_waiting = False

    def adapter(self) -> Adapter:
        return opencode


class TestCommand(AdapterSuite):
    dialect = "plain"
    reports_calls = False
    reports_denials = False
    reports_tokens = False
    reports_waiting = False

    def adapter(self) -> Adapter:
        return plain_command
