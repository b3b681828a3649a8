"""Every adapter against the fake agent that speaks as its agent does."""

from __future__ import annotations

from kedge.agents.run import claude, codex, command, gemini, opencode
from kedge.agents.run.adapter import Adapter
from kedge.testing.agents import AdapterSuite


class TestClaude(AdapterSuite):
    dialect = "claude"

    def adapter(self) -> Adapter:
        return claude


class TestCodex(AdapterSuite):
    dialect = "codex"
    tells_cost = False

    def adapter(self) -> Adapter:
        return codex


class TestGemini(AdapterSuite):
    dialect = "gemini"
    tells_cost = False
    tells_waiting = False

    def adapter(self) -> Adapter:
        return gemini


class TestOpencode(AdapterSuite):
    dialect = "opencode"
    tells_waiting = False

    def adapter(self) -> Adapter:
        return opencode


class TestCommand(AdapterSuite):
    dialect = "plain"
    tells_calls = False
    tells_denials = False
    tells_tokens = False
    tells_waiting = False

    def adapter(self) -> Adapter:
        return command
