"""The interface of a dialect: what every fake agent reports, in its own format."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from typing import Any

from kedge.testing.fake_agent.script import Part


class Dialect(ABC):
    """One dialect, in one call. `end` comes last and returns the exit code."""

    model = "fake-model"

    def __init__(self, part: Part, session: str) -> None:
        self.part = part
        self.session = session
        self._ids = 0

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def call_tool(self, tool: str, arguments: dict[str, Any], *, ok: bool = True) -> None: ...

    @abstractmethod
    def deny_tool(self, tool: str, reason: str) -> None: ...

    @abstractmethod
    def wait(self, seconds: float) -> None: ...

    @abstractmethod
    def say(self, text: str) -> None: ...

    @abstractmethod
    def end(self) -> int: ...

    def make_id(self, kind: str) -> str:
        """Return an id that this call has not used."""
        self._ids += 1
        return f"{kind}_{self.session[:8]}{self._ids:04}"

    def write_event(self, event: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def write_error(self, text: str) -> None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
