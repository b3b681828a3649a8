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

from kedge.agents.launch.events import (
    Event,
    Finished,
    Message,
    Reason,
    RetryWait,
    Started,
    ToolDenied,
    ToolFinished,
    ToolStarted,
    Usage,
)
from kedge.agents.launch.invocation import Invocation, Launch, encode_stdin, fits_argument
from kedge.agents.launch.json_fields import (
    get_object,
    parse_object,
    summarize_arguments,
    to_count,
    to_number,
    to_text,
)
from kedge.agents.launch.provider_faults import ProviderFault, classify_fault
from kedge.agents.launch.stream_state import ProcessEnd, StreamState, make_finished
from kedge.agents.settings import hooks
from kedge.host.running import Line

NAME = "claude"

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


def follow(stream: StreamState, line: Line) -> tuple[StreamState, list[Event]]:
    if line.error:
        return stream, []
    event = parse_object(line.data)
    read = _READERS.get(to_text(event.get("type")))
    return read(stream, event) if read else (stream, [])


def finish(stream: StreamState, end: ProcessEnd) -> Finished:
    return make_finished(stream, end)


def _system(stream: StreamState, event: dict[str, Any]) -> tuple[StreamState, list[Event]]:
    kind = event.get("subtype")
    if kind == "init":
        session, model = to_text(event.get("session_id")), to_text(event.get("model")) or None
        if session == stream.session:  # each turn of a long session begins with one
            return stream, []
        return replace(stream, session=session, model=model), [Started(session, model)]
    if kind == "api_retry":
        delay = to_number(event.get("retry_delay_ms"))
        status, error = event.get("error_status"), to_text(event.get("error"))
        reason = f"{error or 'error'} ({status})" if status else error or "no connection"
        return stream, [RetryWait(None if delay is None else delay / 1000, reason)]
    if kind == "permission_denied":
        call, reason = to_text(event.get("tool_use_id")), to_text(event.get("message"))
        return stream.add_denial(call), [ToolDenied(to_text(event.get("tool_name")), reason, call)]
    if kind == "informational" and event.get("prevent_continuation") is True:
        return replace(
            stream, fault=ProviderFault(to_text(event.get("content")), Reason.HOOK_STOPPED)
        ), []
    return stream, []


def _limit(stream: StreamState, event: dict[str, Any]) -> tuple[StreamState, list[Event]]:
    info = get_object(event, "rate_limit_info")
    if info.get("status") != "rejected":
        return stream, []
    return replace(stream, resets_at=to_number(info.get("resetsAt"))), []


def _part(stream: StreamState, event: dict[str, Any]) -> tuple[StreamState, list[Event]]:
    """Read a partial message: its start and its end say how many tokens it used."""
    part = get_object(event, "event")
    if part.get("type") == "message_start":
        message = get_object(part, "message")
    elif part.get("type") == "message_delta":
        message = {"id": event.get("api_message_id") or stream.message, "usage": part.get("usage")}
    else:
        return stream, []
    name = to_text(message.get("id"))
    return _count_usage(replace(stream, message=name), name, message)


def _assistant(stream: StreamState, event: dict[str, Any]) -> tuple[StreamState, list[Event]]:
    message = get_object(event, "message")
    name = to_text(message.get("id"))
    after, events = _count_usage(stream, name, message)
    main = event.get("parent_tool_use_id") is None
    for block in _blocks(message):
        if block.get("type") == "tool_use":
            call, tool = to_text(block.get("id")), to_text(block.get("name"))
            after = after.add_call(call, tool)
            events.append(ToolStarted(tool, call, summarize_arguments(block.get("input"))))
        elif main and block.get("type") == "text" and (text := to_text(block.get("text"))):
            after = after.add_text(text, name)
            events.append(Message(text))
    return after, events


def _count_usage(
    stream: StreamState, name: str, message: dict[str, Any]
) -> tuple[StreamState, list[Event]]:
    usage = get_object(message, "usage")
    if not name or not usage or message.get("model") == "<synthetic>":
        return stream, []
    after = stream.add_usage(name, _read_usage(usage))
    total = after.usage
    return after, [total] if total is not None and after is not stream else []


def _user(stream: StreamState, event: dict[str, Any]) -> tuple[StreamState, list[Event]]:
    rejected = {
        to_text(one.get("id"))
        for one in _objects(event.get("tool_result_meta"))
        if get_object(one, "permission_decision").get("decision") == "reject"
    }
    events: list[Event] = []
    for block in _blocks(get_object(event, "message")):
        if block.get("type") != "tool_result":
            continue
        call = to_text(block.get("tool_use_id"))
        if call in rejected - stream.denied:  # by a hook, for which there is no event
            events.append(
                ToolDenied(stream.calls.get(call, ""), to_text(block.get("content")), call)
            )
            stream = stream.add_denial(call)
        events.append(ToolFinished(call, block.get("is_error") is not True))
        stream = stream.remove_call(call)
    return stream, events


def _result(stream: StreamState, event: dict[str, Any]) -> tuple[StreamState, list[Event]]:
    """Read the end of a turn. A session with background work has several; the last one counts."""
    text = to_text(event.get("result"))
    failed = event.get("is_error") is True
    models = get_object(event, "modelUsage")
    cost = to_number(event.get("total_cost_usd"))
    used = _read_usage(get_object(event, "usage"), cost)
    if models:  # all requests of the session; `usage` lacks those of a turn that was cut short
        each = [_read_model_usage(get_object(models, name)) for name in models]
        tokens_in, tokens_out, cached = (sum(one) for one in zip(*each, strict=True))
        used = Usage(tokens_in, tokens_out, cached, cost)
    after = replace(stream, total=used, text=stream.text if failed or not text else text)
    message = text or "; ".join(_texts(event.get("errors")))
    reason, why = _reason(after, event, message)
    after = replace(after, ended=reason, fault=why)
    events: list[Event] = []
    for one in _objects(event.get("permission_denials")):
        if (call := to_text(one.get("tool_use_id"))) not in after.denied:
            after = after.add_denial(call)
            events.append(ToolDenied(to_text(one.get("tool_name")), "", call))
    return after, [*events, used]


def _reason(
    stream: StreamState, event: dict[str, Any], message: str
) -> tuple[Reason, ProviderFault | None]:
    terminal = to_text(event.get("terminal_reason"))
    known = _REASONS.get(terminal)
    if event.get("is_error") is True:
        if known is None or known is Reason.COMPLETED:
            status = event.get("api_error_status")
            fault = classify_fault(message, status if type(status) is int else None)
            if fault.reason is Reason.FAILED and terminal == "api_error" and status is None:
                fault = replace(fault, reason=Reason.UNAVAILABLE)
            return fault.reason, fault
        return known, ProviderFault(message, known)
    if event.get("stop_reason") == "refusal":
        return Reason.REFUSED, ProviderFault(message, Reason.REFUSED)
    if stream.fault is not None and stream.fault.reason is Reason.HOOK_STOPPED:
        return Reason.HOOK_STOPPED, stream.fault
    if known is None and terminal:
        return Reason.FAILED, ProviderFault(terminal, Reason.FAILED)
    reason = known or Reason.COMPLETED
    return reason, None if reason is Reason.COMPLETED else ProviderFault(
        message or terminal, reason
    )


_READERS = {
    "system": _system,
    "stream_event": _part,
    "assistant": _assistant,
    "user": _user,
    "rate_limit_event": _limit,
    "result": _result,
}


def _read_usage(usage: dict[str, Any], cost: float | None = None) -> Usage:
    cached = to_count(usage.get("cache_read_input_tokens"))
    new = to_count(usage.get("input_tokens")) + to_count(usage.get("cache_creation_input_tokens"))
    return Usage(new + cached, to_count(usage.get("output_tokens")), cached, cost)


def _read_model_usage(usage: dict[str, Any]) -> tuple[int, int, int]:
    cached = to_count(usage.get("cacheReadInputTokens"))
    new = to_count(usage.get("inputTokens")) + to_count(usage.get("cacheCreationInputTokens"))
    return new + cached, to_count(usage.get("outputTokens")), cached


def _blocks(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return _objects(message.get("content"))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (one for one in (value if isinstance(value, list) else ()) if isinstance(one, dict))


def _texts(value: Any) -> Iterator[str]:
    return (to_text(one) for one in (value if isinstance(value, list) else ()) if to_text(one))
