"""The output of Codex with `exec --json`."""

from __future__ import annotations

from typing import Any

from kedge.testing.fake_agent.dialect import Dialect

_FAULTS = {
    "rate-limit": "exceeded retry limit, last status: 429 Too Many Requests",
    "auth": "unexpected status 401 Unauthorized: no such key",
    "overloaded": "We’re currently experiencing high demand, which may cause temporary errors.",
    "too-long": "Codex ran out of room in the model's context window.",
}


class CodexDialect(Dialect):
    def start(self) -> None:
        self.write_event({"type": "thread.started", "thread_id": self.session})
        self.write_event({"type": "turn.started"})

    def call_tool(self, tool: str, arguments: dict[str, Any], *, ok: bool = True) -> None:
        state: dict[str, Any] = {"status": "completed" if ok else "failed"}
        if tool == "Bash":
            item = {"type": "command_execution", "command": arguments["command"]}
            state |= {"aggregated_output": "", "exit_code": 0 if ok else 1}
        else:
            changes = [{"path": arguments["file_path"], "kind": "update"}]
            item = {"type": "file_change", "changes": changes}
        item = {"id": self.make_id("item"), **item}
        self.write_event({"type": "item.started", "item": {**item, "status": "in_progress"}})
        self.write_event({"type": "item.completed", "item": {**item, **state}})

    def deny_tool(self, tool: str, reason: str) -> None:
        what = "exec_command failed: " if tool == "Bash" else "patch "
        self.write_error(f"ERROR codex_core::tools::router: error={what}rejected: {reason}")

    def wait(self, seconds: float) -> None:
        self.write_event({"type": "error", "message": f"Reconnecting... 1/5 (in {seconds:g} s)"})

    def say(self, text: str) -> None:
        item = {"id": self.make_id("item"), "type": "agent_message", "text": text}
        self.write_event({"type": "item.completed", "item": item})

    def end(self) -> int:
        part = self.part
        if part.fault:
            message = _FAULTS[part.fault]
            if part.resets_in is not None:
                message = f"rate limit exceeded. Please try again in {part.resets_in:g}s."
            self.write_event({"type": "error", "message": message})
            self.write_event({"type": "turn.failed", "error": {"message": message}})
            return 1
        usage = {
            "input_tokens": part.tokens_in,
            "cached_input_tokens": part.cached,
            "output_tokens": part.tokens_out,
        }
        self.write_event({"type": "turn.completed", "usage": usage})
        return 0
