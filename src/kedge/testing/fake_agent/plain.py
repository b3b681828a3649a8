"""As a program speaks that is no agent: text alone."""

from __future__ import annotations

import sys
from typing import Any

from kedge.testing.fake_agent.voice import Voice


class Plain(Voice):
    def started(self) -> None:
        """It just starts."""

    def called(self, tool: str, arguments: dict[str, Any], *, ok: bool = True) -> None:
        """It keeps to itself what it does."""

    def denied(self, tool: str, reason: str) -> None:
        self.complain(f"{tool}: {reason}")

    def waiting(self, seconds: float) -> None:
        self.complain(f"waiting for {seconds:g} s")

    def said(self, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def ended(self) -> int:
        return 0
