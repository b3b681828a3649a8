"""The output of Copilot CLI with `--output-format json`, and its log, which has the tokens."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from kedge.testing.fake_agent.dialect import Dialect

_TOOLS = {"Bash": "bash", "Write": "create", "Edit": "edit"}
_FAULTS: dict[str, tuple[str, int | None, str]] = {
    "rate-limit": ("rate_limit", 429, "Last error: 429"),
    "auth": ("authentication", 401, "Authentication failed with provider"),
    "overloaded": ("query", 529, "Last error: 529"),
    "too-long": ("query", None, "The provider rejected the prompt as too long"),
}
_REFUSED = "Permission denied because no interactive user response was available."


class CopilotDialect(Dialect):
    def start(self) -> None:
        self._write("session.tools_updated", {"model": self.model})
        self._log("session.start", {"sessionId": self.session, "context": {"cwd": str(Path.cwd())}})
        part = self.part
        usage = {
            "model": self.model,
            "inputTokens": part.tokens_in,
            "outputTokens": part.tokens_out,
            "cacheReadTokens": part.cached,
            "cost": 0.0,
        }
        self._log("session.usage_record", {"usage": usage})

    def call_tool(self, tool: str, arguments: dict[str, Any], *, ok: bool = True) -> None:
        data = {"success": True, "shellExecution": {"exitCode": 0 if ok else 1}}
        self._finish(self._call(tool, arguments), data)

    def deny_tool(self, tool: str, reason: str) -> None:
        error = {"code": "denied", "message": f"{_REFUSED} {reason}"}
        self._finish(self._call(tool, {}), {"success": False, "error": error})

    def wait(self, seconds: float) -> None:
        message = f"Request failed due to a transient API error. Retrying in {seconds:g} s..."
        self._write("session.info", {"infoType": "model_retry", "message": message})

    def say(self, text: str) -> None:
        data = {"messageId": self.make_id("m"), "content": text, "toolRequests": []}
        self._write("assistant.message", data)

    def end(self) -> int:
        code = 0
        if self.part.fault:
            kind, status, message = _FAULTS[self.part.fault]
            if self.part.resets_in is not None:
                message = f"Please try again in {self.part.resets_in:g}s."
            data = {"errorType": kind, "message": message}
            self._write("session.error", data | ({"statusCode": status} if status else {}))
            code = 1
        usage = {"premiumRequests": 0, "totalApiDurationMs": 36}
        result = {"sessionId": self.session, "exitCode": self.part.code or code, "usage": usage}
        self.write_event({"type": "result", **result})
        return code

    def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        call, name = self.make_id("c"), _TOOLS.get(tool, tool)
        given = {{"file_path": "path"}.get(key, key): value for key, value in arguments.items()}
        data = {"toolCallId": call, "toolName": name, "arguments": given}
        self._write("tool.execution_start", data)
        return call

    def _finish(self, call: str, data: dict[str, Any]) -> None:
        self._write("tool.execution_complete", {"toolCallId": call, **data})

    def _write(self, kind: str, data: dict[str, Any]) -> None:
        self.write_event({"type": kind, "data": data, "id": self.make_id("e")})

    def _log(self, kind: str, data: dict[str, Any]) -> None:
        """Append to the log of the session, as Copilot does in its own directory."""
        home = os.environ.get("COPILOT_HOME") or str(Path.home() / ".copilot")
        log = Path(home, "session-state", self.session, "events.jsonl")
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"type": kind, "data": data, "id": self.make_id("e")}) + "\n")
