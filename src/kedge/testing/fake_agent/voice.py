"""What every dialect has to say, and the pipes that it says it to."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from typing import Any

from kedge.testing.fake_agent.script import Part


class Voice(ABC):
    """One dialect, in one call. `ended` is told last; its answer is the exit code."""

    model = "fake-model"

    def __init__(self, part: Part, session: str) -> None:
        self.part = part
        self.session = session
        self._ids = 0

    @abstractmethod
    def started(self) -> None: ...

    @abstractmethod
    def called(self, tool: str, arguments: dict[str, Any], *, ok: bool = True) -> None: ...

    @abstractmethod
    def denied(self, tool: str, reason: str) -> None: ...

    @abstractmethod
    def waiting(self, seconds: float) -> None: ...

    @abstractmethod
    def said(self, text: str) -> None: ...

    @abstractmethod
    def ended(self) -> int: ...

    def name(self, kind: str) -> str:
        """An id that this call has not had."""
        self._ids += 1
        return f"{kind}_{self.session[:8]}{self._ids:04}"

    def tell(self, event: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def complain(self, text: str) -> None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
