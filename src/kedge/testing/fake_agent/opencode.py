"""As opencode speaks with `run --format json`."""

from __future__ import annotations

from typing import Any

from kedge.testing.fake_agent.voice import Voice

_STATUSES = {"rate-limit": 429, "auth": 401, "overloaded": 529}
_STEPS = {"too-long": "length", "refused": "content-filter"}
_DENIED = "The user has specified a rule which prevents you from using this specific tool call."


class Opencode(Voice):
    _told = False

    def started(self) -> None:
        self._tell("step_start", type="step-start")

    def called(self, tool: str, arguments: dict[str, Any], *, ok: bool = True) -> None:
        state = {"status": "completed", "input": arguments, "metadata": {"exit": 0 if ok else 1}}
        self._tell("tool_use", type="tool", tool=tool.lower(), callID=self.name("c"), state=state)
        self._step("tool-calls")

    def denied(self, tool: str, reason: str) -> None:
        error = f"{_DENIED} Here are some of the relevant rules [{reason}]"
        state = {"status": "error", "input": {}, "error": error}
        self._tell("tool_use", type="tool", tool=tool.lower(), callID=self.name("c"), state=state)
        self._step("tool-calls")

    def waiting(self, seconds: float) -> None:
        """It says nothing of it."""

    def said(self, text: str) -> None:
        self._tell("text", type="text", text=text, messageID=self.name("m"))

    def ended(self) -> int:
        fault = self.part.fault
        if fault in _STATUSES:
            message = "the provider said so"
            if self.part.resets_in is not None:
                message = f"Please try again in {self.part.resets_in:g}s."
            data = {"message": message, "statusCode": _STATUSES[fault]}
            error = {"name": "APIError", "data": data}
            self.tell({"type": "error", "sessionID": self.session, "error": error})
            return 1
        self._step(_STEPS.get(fault, "stop"))
        return 0

    def _step(self, reason: str) -> None:
        """The end of a message. The first has used all of it, and the others nothing."""
        part = self.part
        cached = 0 if self._told else part.cached
        tokens = {
            "input": 0 if self._told else part.tokens_in - cached,
            "output": 0 if self._told else part.tokens_out,
            "reasoning": 0,
            "cache": {"read": cached, "write": 0},
        }
        cost = 0 if self._told else part.cost
        name = self.name("m")
        self._tell(
            "step_finish",
            type="step-finish",
            reason=reason,
            tokens=tokens,
            cost=cost,
            messageID=name,
        )
        self._told = True

    def _tell(self, event: str, **part: Any) -> None:
        self.tell({"type": event, "sessionID": self.session, "part": part})
