"""As Claude Code speaks with `--output-format stream-json`."""

from __future__ import annotations

import time
from typing import Any

from kedge.testing.fake_agent.voice import Voice

_STATUSES = {"rate-limit": 429, "auth": 401, "overloaded": 529}
_KINDS = {429: "rate_limit", 401: "authentication_failed", 529: "overloaded"}
# Fault: terminal_reason, is_error, subtype, what is said.
_ENDS = {
    "too-long": ("prompt_too_long", True, "success", "Prompt is too long"),
    "max-turns": ("max_turns", True, "error_max_turns", "Reached maximum number of turns"),
    "budget": ("budget_exhausted", True, "error_max_budget_usd", "Reached maximum budget"),
    "refused": ("completed", False, "success", "I can't help with that."),
    "hook": ("hook_stopped", False, "success", ""),
}


class Claude(Voice):
    model = "claude-fake-1"
    _told = False
    _text = ""
    _denials: tuple[dict[str, Any], ...] = ()

    def started(self) -> None:
        self._tell("system", subtype="init", model=self.model, permissionMode="acceptEdits")

    def called(self, tool: str, arguments: dict[str, Any], *, ok: bool = True) -> None:
        call = self.name("toolu")
        block = {"type": "tool_use", "id": call, "name": tool, "input": arguments}
        self._message({"type": "text", "text": f"I use {tool}."}, block)
        result = {"type": "tool_result", "tool_use_id": call, "content": "", "is_error": not ok}
        self._tell("user", message={"role": "user", "content": [result]})

    def denied(self, tool: str, reason: str) -> None:
        call = self.name("toolu")
        self._message({"type": "tool_use", "id": call, "name": tool, "input": {}})
        self._denials += ({"tool_name": tool, "tool_use_id": call, "tool_input": {}},)
        self._tell(
            "system",
            subtype="permission_denied",
            tool_name=tool,
            tool_use_id=call,
            message=reason,
        )
        result = {"type": "tool_result", "tool_use_id": call, "content": reason, "is_error": True}
        meta = [{"id": call, "permission_decision": {"decision": "reject", "source": "config"}}]
        message = {"role": "user", "content": [result]}
        self._tell("user", message=message, tool_result_meta=meta)

    def waiting(self, seconds: float) -> None:
        self._tell(
            "system",
            subtype="api_retry",
            attempt=1,
            max_retries=10,
            retry_delay_ms=int(seconds * 1000),
            error_status=529,
            error="overloaded",
        )

    def said(self, text: str) -> None:
        self._text = text
        self._message({"type": "text", "text": text})

    def ended(self) -> int:
        fault = self.part.fault
        if fault in _STATUSES:
            return self._refused(_STATUSES[fault])
        reason, error, subtype, text = _ENDS.get(fault, ("completed", False, "success", self._text))
        more: dict[str, Any] = {"result": text} if subtype == "success" else {"errors": [text]}
        stop = "refusal" if fault == "refused" else "end_turn"
        self._result(
            terminal_reason=reason, is_error=error, subtype=subtype, stop_reason=stop, **more
        )
        return int(error)

    def _refused(self, status: int) -> int:
        kind, text = _KINDS[status], f"API Error: {status}"
        if status == 429 and self.part.resets_in is not None:
            at = int(time.time() + self.part.resets_in)
            info = {"status": "rejected", "resetsAt": at, "rateLimitType": "five_hour"}
            self._tell("rate_limit_event", rate_limit_info=info)
            text = "You've hit your 5-hour limit"
        message = self._made("<synthetic>", {"type": "text", "text": text}, {})
        self._tell("assistant", message=message, error=kind, is_api_error_message=True)
        self._result(
            terminal_reason="api_error",
            is_error=True,
            subtype="success",
            api_error_status=status,
            result=text,
        )
        return 1

    def _message(self, *blocks: dict[str, Any]) -> None:
        """One event for each block, each with the usage that the message began with."""
        message = self.name("msg")
        usage, whole = self._usage(1), self._usage(self.part.tokens_out)
        for block in blocks:
            self._tell("assistant", message={**self._made(self.model, block, usage), "id": message})
        part = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": whole}
        self._tell("stream_event", event=part, api_message_id=message)
        self._told = True

    def _made(self, model: str, block: dict[str, Any], usage: dict[str, Any]) -> dict[str, Any]:
        role = {"id": self.name("msg"), "type": "message", "role": "assistant", "model": model}
        return {**role, "content": [block], "stop_reason": None, "usage": usage}

    def _usage(self, out: int) -> dict[str, int]:
        """The first message has used all of it, and the others nothing."""
        part = self.part
        if self._told:
            return {"input_tokens": 0, "output_tokens": 0}
        return {
            "input_tokens": part.tokens_in - part.cached,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": part.cached,
            "output_tokens": out,
        }

    def _result(self, **fields: Any) -> None:
        part = self.part
        spent = self._told
        used = {
            "inputTokens": part.tokens_in - part.cached,
            "outputTokens": part.tokens_out,
            "cacheReadInputTokens": part.cached,
            "cacheCreationInputTokens": 0,
        }
        self._tell(
            "result",
            num_turns=1,
            duration_ms=1,
            total_cost_usd=(part.cost or 0) if spent else 0,
            usage={"input_tokens": 0, "output_tokens": 0},
            modelUsage={self.model: used} if spent else {},
            permission_denials=list(self._denials),
            **fields,
        )

    def _tell(self, kind: str, **fields: Any) -> None:
        self.tell({"type": kind, **fields, "session_id": self.session, "parent_tool_use_id": None})
