"""Claude Code: `claude -p` with a stream of JSON, hooks and permissions in the call.

The stream has one event for each block of a message. Each carries the message's id and a usage
that is not final. The final usage is in the events of partial messages, which also show that the
agent is thinking and not hanging. `terminal_reason` and `is_error` say how a run ended; `subtype`
may say success after a failure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kedge.agents.json_object import JsonObject
from kedge.agents.launch.events import Event, Reason, RetryWait, Usage
from kedge.agents.launch.invocation import Invocation, Launch, encode_stdin, fits_argument
from kedge.agents.launch.json_fields import parse_line
from kedge.agents.launch.provider_faults import ProviderFault, classify_fault
from kedge.agents.launch.stream_state import StreamState, make_finished, sum_usage
from kedge.agents.settings import hooks
from kedge.host.running import Line

NAME = "claude"
MARK = b'"type"'

_REASONS = {
    "completed": Reason.COMPLETED,
    "max_turns": Reason.MAX_TURNS,
    "budget_exhausted": Reason.BUDGET,
    "prompt_too_long": Reason.TOO_LONG,
    "blocking_limit": Reason.TOO_LONG,
    "rapid_refill_breaker": Reason.TOO_LONG,
    "hook_stopped": Reason.HOOK_STOPPED,
    "stop_hook_prevented": Reason.HOOK_STOPPED,
    "tool_deferred": Reason.HOOK_STOPPED,
    "aborted_streaming": Reason.KILLED,
    "aborted_tools": Reason.KILLED,
}


def launch(invocation: Invocation) -> Launch:
    argv = [*invocation.program, "-p", "--output-format", "stream-json", "--verbose"]
    argv.append("--include-partial-messages")
    # As root, Claude Code refuses bypassPermissions unless IS_SANDBOX=1 is set.
    mode = "bypassPermissions" if invocation.permissions.full else "acceptEdits"
    argv += ["--permission-mode", mode]
    if settings := _settings(invocation):
        argv += ["--settings", json.dumps(settings)]
    in_flag = fits_argument(invocation.system)
    if invocation.system and in_flag:
        argv += ["--append-system-prompt", invocation.system]
    named = {
        "--model": invocation.model,
        "--session-id": invocation.session,
        "--max-turns": invocation.max_turns,
        "--max-budget-usd": invocation.max_cost,
    }
    for flag, value in named.items():
        if value is not None:
            argv += [flag, str(value)]
    return Launch(
        tuple(argv), encode_stdin("" if in_flag else invocation.system, invocation.prompt), {}
    )


def _settings(invocation: Invocation) -> dict[str, Any]:
    """Return the settings of this call, which add to those of the user and the project."""
    settings: dict[str, Any] = {}
    if invocation.hooks:
        settings |= json.loads(hooks.install(None, invocation.hooks))
    prefixes = () if invocation.permissions.full else invocation.permissions.prefixes
    rules = [rule for one in prefixes for rule in (f"Bash({one})", f"Bash({one}:*)")]
    if rules:
        settings["permissions"] = {"allow": rules}
    return settings


def follow(stream: StreamState, line: Line) -> Iterator[Event]:
    event = parse_line(line)
    match event.get("type"):
        case "system":
            yield from _read_system(stream, event)
        case "stream_event":
            yield from _read_part(stream, event)
        case "assistant":
            yield from _read_assistant(stream, event)
        case "user":
            yield from _read_user(stream, event)
        case "rate_limit_event":
            info = event.child("rate_limit_info")
            if info.get("status") == "rejected":
                stream.resets_at = info.number("resetsAt")
        case "result":
            yield from _read_result(stream, event)


finish = make_finished


def _read_system(stream: StreamState, event: JsonObject) -> Iterator[Event]:
    match event.get("subtype"):
        case "init":
            session = event.text("session_id")
            if session != stream.session:  # each turn of a long session begins with one
                yield stream.start(session, event.text("model") or None)
        case "api_retry":
            delay, error = event.number("retry_delay_ms"), event.text("error")
            status = event.get("error_status")
            reason = f"{error or 'error'} ({status})" if status else error or "no connection"
            yield RetryWait(None if delay is None else delay / 1000, reason)
        case "permission_denied":
            tool, call = event.text("tool_name"), event.text("tool_use_id")
            yield stream.deny_call(tool, event.text("message"), call)
        case "informational" if event.get("prevent_continuation") is True:
            stream.fault = ProviderFault(event.text("content"), Reason.HOOK_STOPPED)


def _read_part(stream: StreamState, event: JsonObject) -> Iterator[Event]:
    """Read a partial message: its start and its end say how many tokens it used."""
    part = event.child("event")
    match part.get("type"):
        case "message_start":
            message = part.child("message")
            stream.message = message.text("id")
            yield from _count_usage(stream, message)
        case "message_delta":
            stream.message = event.text("api_message_id") or stream.message
            yield from _count_usage(stream, part)


def _read_assistant(stream: StreamState, event: JsonObject) -> Iterator[Event]:
    message = event.child("message")
    name = message.text("id")
    yield from _count_usage(stream, message, name)
    main = event.get("parent_tool_use_id") is None
    for block in message.children("content"):
        if block.get("type") == "tool_use":
            yield stream.start_call(block.text("name"), block.text("id"), block.get("input"))
        elif main and block.get("type") == "text" and (text := block.text("text")):
            yield stream.say(text, name)


def _count_usage(
    stream: StreamState, message: JsonObject, name: str | None = None
) -> Iterator[Event]:
    """Add the usage in a message, which is the current partial one unless it has a name."""
    name, usage = stream.message if name is None else name, message.child("usage")
    if not name or not usage or message.get("model") == "<synthetic>":
        return
    if stream.add_usage(name, _read_usage(usage)) and stream.usage is not None:
        yield stream.usage


def _read_user(stream: StreamState, event: JsonObject) -> Iterator[Event]:
    rejected = {
        one.text("id")
        for one in event.children("tool_result_meta")
        if one.child("permission_decision").get("decision") == "reject"
    }
    for block in event.child("message").children("content"):
        if block.get("type") != "tool_result":
            continue
        call = block.text("tool_use_id")
        if call in rejected - stream.denied:  # by a hook, for which there is no event
            yield stream.deny_call(stream.calls.get(call, ""), block.text("content"), call)
        yield stream.finish_call(call, ok=block.get("is_error") is not True)


def _read_result(stream: StreamState, event: JsonObject) -> Iterator[Event]:
    """Read the end of a turn. A session with background work has several; the last one counts."""
    text, failed = event.text("result"), event.get("is_error") is True
    if text and not failed:
        stream.text = text
    for one in event.children("permission_denials"):
        if (call := one.text("tool_use_id")) not in stream.denied:
            yield stream.deny_call(one.text("tool_name"), "", call)
    # `modelUsage` has all requests of the session; `usage` lacks those of a turn cut short.
    each = [_read_model_usage(one) for one in event.child("modelUsage").values()]
    each = each or [_read_usage(event.child("usage"))]
    stream.total = replace(sum_usage(each), cost=event.number("total_cost_usd"))
    stream.end(_find_fault(stream, event, text or "; ".join(event.texts("errors"))))
    yield stream.total


def _find_fault(stream: StreamState, event: JsonObject, message: str) -> ProviderFault | None:
    """Return why a turn was not completed; None if it was."""
    terminal = event.text("terminal_reason")
    reason = _REASONS.get(terminal, Reason.FAILED) if terminal else Reason.COMPLETED
    if event.get("is_error") is True:
        if terminal in _REASONS and reason is not Reason.COMPLETED:
            return ProviderFault(message, reason)
        fault = classify_fault(message, event.get("api_error_status"))
        unknown = fault.reason is Reason.FAILED and event.get("api_error_status") is None
        if unknown and terminal == "api_error":
            return replace(fault, reason=Reason.UNAVAILABLE)
        return fault
    if event.get("stop_reason") == "refusal":
        return ProviderFault(message, Reason.REFUSED)
    if stream.fault is not None and stream.fault.reason is Reason.HOOK_STOPPED:
        return stream.fault
    if reason is Reason.COMPLETED:
        return None
    return ProviderFault(terminal if reason is Reason.FAILED else message or terminal, reason)


def _read_usage(usage: JsonObject) -> Usage:
    cached = usage.count("cache_read_input_tokens")
    new = usage.count("input_tokens") + usage.count("cache_creation_input_tokens")
    return Usage(new + cached, usage.count("output_tokens"), cached)


def _read_model_usage(usage: JsonObject) -> Usage:
    cached = usage.count("cacheReadInputTokens")
    new = usage.count("inputTokens") + usage.count("cacheCreationInputTokens")
    return Usage(new + cached, usage.count("outputTokens"), cached)
