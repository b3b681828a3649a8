"""The output of Gemini CLI with `-o stream-json`."""

from __future__ import annotations

import json
from typing import Any

from kedge.testing.fake_agent.dialect import Dialect

_TOOLS = {"Bash": "run_shell_command", "Write": "write_file", "Edit": "replace"}
_FAULTS = {"rate-limit": (429, "RESOURCE_EXHAUSTED"), "auth": (401, "UNAUTHENTICATED")}
_PIECE = 20  # characters of a message that come at once


class GeminiDialect(Dialect):
    model = "gemini-fake-1"

    def start(self) -> None:
        self.write_event({"type": "init", "session_id": self.session, "model": self.model})
        self.write_event({"type": "message", "role": "user", "content": "…"})

    def call_tool(self, tool: str, arguments: dict[str, Any], *, ok: bool = True) -> None:
        call = self._call(tool, arguments)
        self.write_event(
            {"type": "tool_result", "tool_id": call, "status": "success" if ok else "error"}
        )

    def deny_tool(self, tool: str, reason: str) -> None:
        call, error = self._call(tool, {}), {"type": "policy_violation", "message": reason}
        self.write_event(
            {"type": "tool_result", "tool_id": call, "status": "error", "error": error}
        )

    def wait(self, seconds: float) -> None:
        self.write_error(f"Attempt 1 failed. Retrying after {seconds * 1000:g}ms...")

    def say(self, text: str) -> None:
        for at in range(0, len(text), _PIECE):
            piece = text[at : at + _PIECE]
            self.write_event(
                {"type": "message", "role": "assistant", "content": piece, "delta": True}
            )

    def end(self) -> int:
        part = self.part
        stats = {
            "total_tokens": part.tokens_in + part.tokens_out,
            "input_tokens": part.tokens_in,
            "output_tokens": part.tokens_out,
            "cached": part.cached,
        }
        if part.fault == "max-turns":
            error = {"type": "FatalTurnLimitedError", "message": "Reached max session turns"}
            self.write_event({"type": "result", "status": "error", "error": error, "stats": stats})
            return 53
        if part.fault:
            code, status = _FAULTS.get(part.fault, (503, "UNAVAILABLE"))
            said = "no more" if part.resets_in is None else f"Please retry in {part.resets_in:g}s."
            answer = json.dumps({"error": {"code": code, "message": said, "status": status}})
            error = {"type": "unknown", "message": f"[API Error: {answer}]"}
            self.write_event({"type": "result", "status": "error", "error": error, "stats": stats})
            return code % 256
        self.write_event({"type": "result", "status": "success", "stats": stats})
        return 0

    def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        call, name = self.make_id("call"), _TOOLS.get(tool, tool)
        event = {"type": "tool_use", "tool_name": name, "tool_id": call, "parameters": arguments}
        self.write_event(event)
        return call
