"""The output of Claude Code with `--output-format stream-json`."""

from __future__ import annotations

import time
from typing import Any

from kedge.testing.fake_agent.dialect import Dialect

_STATUSES = {"rate-limit": 429, "auth": 401, "overloaded": 529}
_KINDS = {429: "rate_limit", 401: "authentication_failed", 529: "overloaded"}
# Fault: terminal_reason, is_error, subtype, message.
_ENDS = {
    "too-long": ("prompt_too_long", True, "success", "Prompt is too long"),
    "max-turns": ("max_turns", True, "error_max_turns", "Reached maximum number of turns"),
    "budget": ("budget_exhausted", True, "error_max_budget_usd", "Reached maximum budget"),
    "refused": ("completed", False, "success", "I can't help with that."),
    "hook": ("hook_stopped", False, "success", ""),
}


class ClaudeDialect(Dialect):
    model = "claude-fake-1"
    _reported_usage = False
    _text = ""
    _denials: tuple[dict[str, Any], ...] = ()

    def start(self) -> None:
        self._write("system", subtype="init", model=self.model, permissionMode="acceptEdits")

    def call_tool(self, tool: str, arguments: dict[str, Any], *, ok: bool = True) -> None:
        call = self.make_id("toolu")
        block = {"type": "tool_use", "id": call, "name": tool, "input": arguments}
        self._write_message({"type": "text", "text": f"I use {tool}."}, block)
        result = {"type": "tool_result", "tool_use_id": call, "content": "", "is_error": not ok}
        self._write("user", message={"role": "user", "content": [result]})

    def deny_tool(self, tool: str, reason: str) -> None:
        call = self.make_id("toolu")
        self._write_message({"type": "tool_use", "id": call, "name": tool, "input": {}})
        self._denials += ({"tool_name": tool, "tool_use_id": call, "tool_input": {}},)
        self._write(
            "system",
            subtype="permission_denied",
            tool_name=tool,
            tool_use_id=call,
            message=reason,
        )
        result = {"type": "tool_result", "tool_use_id": call, "content": reason, "is_error": True}
        meta = [{"id": call, "permission_decision": {"decision": "reject", "source": "config"}}]
        message = {"role": "user", "content": [result]}
        self._write("user", message=message, tool_result_meta=meta)

    def wait(self, seconds: float) -> None:
        self._write(
            "system",
            subtype="api_retry",
            attempt=1,
            max_retries=10,
            retry_delay_ms=int(seconds * 1000),
            error_status=529,
            error="overloaded",
        )

    def say(self, text: str) -> None:
        self._text = text
        self._write_message({"type": "text", "text": text})

    def end(self) -> int:
        fault = self.part.fault
        if fault in _STATUSES:
            return self._refuse(_STATUSES[fault])
        reason, error, subtype, text = _ENDS.get(fault, ("completed", False, "success", self._text))
        more: dict[str, Any] = {"result": text} if subtype == "success" else {"errors": [text]}
        stop = "refusal" if fault == "refused" else "end_turn"
        self._result(
            terminal_reason=reason, is_error=error, subtype=subtype, stop_reason=stop, **more
        )
        return int(error)

    def _refuse(self, status: int) -> int:
        kind, text = _KINDS[status], f"API Error: {status}"
        if status == 429 and self.part.resets_in is not None:
            at = int(time.time() + self.part.resets_in)
            info = {"status": "rejected", "resetsAt": at, "rateLimitType": "five_hour"}
            self._write("rate_limit_event", rate_limit_info=info)
            text = "You've hit your 5-hour limit"
        message = self._make_message("<synthetic>", {"type": "text", "text": text}, {})
        self._write("assistant", message=message, error=kind, is_api_error_message=True)
        self._result(
            terminal_reason="api_error",
            is_error=True,
            subtype="success",
            api_error_status=status,
            result=text,
        )
        return 1

    def _write_message(self, *blocks: dict[str, Any]) -> None:
        """Write one event for each block, each with the usage at the start of the message."""
        message = self.make_id("msg")
        usage, whole = self._usage(1), self._usage(self.part.tokens_out)
        for block in blocks:
            self._write(
                "assistant", message={**self._make_message(self.model, block, usage), "id": message}
            )
        part = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": whole}
        self._write("stream_event", event=part, api_message_id=message)
        self._reported_usage = True

    def _make_message(
        self, model: str, block: dict[str, Any], usage: dict[str, Any]
    ) -> dict[str, Any]:
        role = {"id": self.make_id("msg"), "type": "message", "role": "assistant", "model": model}
        return {**role, "content": [block], "stop_reason": None, "usage": usage}

    def _usage(self, out: int) -> dict[str, int]:
        """Return the usage of a message: the first one has used everything."""
        part = self.part
        if self._reported_usage:
            return {"input_tokens": 0, "output_tokens": 0}
        return {
            "input_tokens": part.tokens_in - part.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": part.cached,
            "output_tokens": out,
        }

    def _result(self, **fields: Any) -> None:
        part = self.part
        spent = self._reported_usage
        used = {
            "inputTokens": part.tokens_in - part.cached,
            "outputTokens": part.tokens_out,
            "cacheReadInputTokens": part.cached,
            "cacheCreationInputTokens": 0,
        }
        self._write(
            "result",
            num_turns=1,
            duration_ms=1,
            total_cost_usd=(part.cost or 0) if spent else 0,
            usage={"input_tokens": 0, "output_tokens": 0},
            modelUsage={self.model: used} if spent else {},
            permission_denials=list(self._denials),
            **fields,
        )

    def _write(self, kind: str, **fields: Any) -> None:
        self.write_event(
            {"type": kind, **fields, "session_id": self.session, "parent_tool_use_id": None}
        )
