"""As Gemini CLI speaks with `-o stream-json`."""

from __future__ import annotations

import json
from typing import Any

from kedge.testing.fake_agent.voice import Voice

_TOOLS = {"Bash": "run_shell_command", "Write": "write_file", "Edit": "replace"}
_FAULTS = {"rate-limit": (429, "RESOURCE_EXHAUSTED"), "auth": (401, "UNAUTHENTICATED")}
_PIECE = 20  # characters of a message that come at once


class Gemini(Voice):
    model = "gemini-fake-1"

    def started(self) -> None:
        self.tell({"type": "init", "session_id": self.session, "model": self.model})
        self.tell({"type": "message", "role": "user", "content": "…"})

    def called(self, tool: str, arguments: dict[str, Any], *, ok: bool = True) -> None:
        call = self._call(tool, arguments)
        self.tell({"type": "tool_result", "tool_id": call, "status": "success" if ok else "error"})

    def denied(self, tool: str, reason: str) -> None:
        call, error = self._call(tool, {}), {"type": "policy_violation", "message": reason}
        self.tell({"type": "tool_result", "tool_id": call, "status": "error", "error": error})

    def waiting(self, seconds: float) -> None:
        self.complain(f"Attempt 1 failed. Retrying after {seconds * 1000:g}ms...")

    def said(self, text: str) -> None:
        for at in range(0, len(text), _PIECE):
            piece = text[at : at + _PIECE]
            self.tell({"type": "message", "role": "assistant", "content": piece, "delta": True})

    def ended(self) -> int:
        part = self.part
        stats = {
            "total_tokens": part.tokens_in + part.tokens_out,
            "input_tokens": part.tokens_in,
            "output_tokens": part.tokens_out,
            "cached": part.cached,
        }
        if part.fault == "max-turns":
            error = {"type": "FatalTurnLimitedError", "message": "Reached max session turns"}
            self.tell({"type": "result", "status": "error", "error": error, "stats": stats})
            return 53
        if part.fault:
            code, status = _FAULTS.get(part.fault, (503, "UNAVAILABLE"))
            said = "no more" if part.resets_in is None else f"Please retry in {part.resets_in:g}s."
            answer = json.dumps({"error": {"code": code, "message": said, "status": status}})
            error = {"type": "unknown", "message": f"[API Error: {answer}]"}
            self.tell({"type": "result", "status": "error", "error": error, "stats": stats})
            return code % 256
        self.tell({"type": "result", "status": "success", "stats": stats})
        return 0

    def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        call, name = self.name("call"), _TOOLS.get(tool, tool)
        event = {"type": "tool_use", "tool_name": name, "tool_id": call, "parameters": arguments}
        self.tell(event)
        return call
