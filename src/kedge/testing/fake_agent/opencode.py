"""The output of opencode with `run --format json`."""

from __future__ import annotations

from typing import Any

from kedge.testing.fake_agent.dialect import Dialect

_STATUSES = {"rate-limit": 429, "auth": 401, "overloaded": 529}
_STEPS = {"too-long": "length", "refused": "content-filter"}
_DENIED = "The user has specified a rule which prevents you from using this specific tool call."


class OpencodeDialect(Dialect):
    _reported_usage = False

    def start(self) -> None:
        self._write("step_start", type="step-start")

    def call_tool(self, tool: str, arguments: dict[str, Any], *, ok: bool = True) -> None:
        state = {"status": "completed", "input": arguments, "metadata": {"exit": 0 if ok else 1}}
        self._write(
            "tool_use", type="tool", tool=tool.lower(), callID=self.make_id("c"), state=state
        )
        self._write_step("tool-calls")

    def deny_tool(self, tool: str, reason: str) -> None:
        error = f"{_DENIED} Here are some of the relevant rules [{reason}]"
        state = {"status": "error", "input": {}, "error": error}
        self._write(
            "tool_use", type="tool", tool=tool.lower(), callID=self.make_id("c"), state=state
        )
        self._write_step("tool-calls")

    def wait(self, seconds: float) -> None:
        """opencode does not report it."""

    def say(self, text: str) -> None:
        self._write("text", type="text", text=text, messageID=self.make_id("m"))

    def end(self) -> int:
        fault = self.part.fault
        if fault in _STATUSES:
            message = "the provider said so"
            if self.part.resets_in is not None:
                message = f"Please try again in {self.part.resets_in:g}s."
            data = {"message": message, "statusCode": _STATUSES[fault]}
            error = {"name": "APIError", "data": data}
            self.write_event({"type": "error", "sessionID": self.session, "error": error})
            return 1
        self._write_step(_STEPS.get(fault, "stop"))
        return 0

    def _write_step(self, reason: str) -> None:
        """Write the end of a message. The first message has used everything."""
        part = self.part
        cached = 0 if self._reported_usage else part.cached
        tokens = {
            "input": 0 if self._reported_usage else part.tokens_in - cached,
            "output": 0 if self._reported_usage else part.tokens_out,
            "reasoning": 0,
            "cache": {"read": cached, "write": 0},
        }
        cost = 0 if self._reported_usage else part.cost
        name = self.make_id("m")
        self._write(
            "step_finish",
            type="step-finish",
            reason=reason,
            tokens=tokens,
            cost=cost,
            messageID=name,
        )
        self._reported_usage = True

    def _write(self, event: str, **part: Any) -> None:
        self.write_event({"type": event, "sessionID": self.session, "part": part})
