"""The output of a program that prints text only."""

from __future__ import annotations

import sys
from typing import Any

from kedge.testing.fake_agent.dialect import Dialect


class PlainDialect(Dialect):
    def start(self) -> None:
        """Print nothing."""

    def call_tool(self, tool: str, arguments: dict[str, Any], *, ok: bool = True) -> None:
        """Print nothing."""

    def deny_tool(self, tool: str, reason: str) -> None:
        self.write_error(f"{tool}: {reason}")

    def wait(self, seconds: float) -> None:
        self.write_error(f"waiting for {seconds:g} s")

    def say(self, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def end(self) -> int:
        return 0
