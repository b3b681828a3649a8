"""Claude Code: `claude -p` with a stream of JSON, hooks and permissions in the call.

The stream has one event for each block of a message, all with the message's id and with a usage
that is not final. The final one comes with the parts of messages, which also tell an agent that
thinks from one that hangs. How a run ended stands in `terminal_reason` and `is_error`; `subtype`
says success also where there was none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from kedge.agents import hooks
from kedge.agents.run import heard as reading
from kedge.agents.run.events import (
    Answered,
    Called,
    Denied,
    Event,
    Finished,
    Reason,
    Said,
    Started,
    Used,
    Waiting,
)
from kedge.agents.run.faults import Fault, fault
from kedge.agents.run.heard import Ending, Heard, count, finished, number, record, table, text
from kedge.agents.run.order import Launch, Order, fits, spoken
from kedge.host.running import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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


def launch(order: Order) -> Launch:
    argv = [*order.program, "-p", "--output-format", "stream-json", "--verbose"]
    argv.append("--include-partial-messages")
    # As root Claude Code refuses the second, unless IS_SANDBOX=1 says that it is confined.
    mode = "bypassPermissions" if order.permissions.full else "acceptEdits"
    argv += ["--permission-mode", mode]
    if settings := _settings(order):
        argv += ["--settings", json.dumps(settings)]
    in_flag = fits(order.system)
    if order.system and in_flag:
        argv += ["--append-system-prompt", order.system]
    named = {
        "--model": order.model,
        "--session-id": order.session,
        "--max-turns": order.max_turns,
        "--max-budget-usd": order.max_cost,
    }
    for flag, value in named.items():
        if value is not None:
            argv += [flag, str(value)]
    return Launch(tuple(argv), spoken("" if in_flag else order.system, order.prompt), {})


def _settings(order: Order) -> dict[str, Any]:
    """Settings for this call, beside those of the user and the project."""
    settings: dict[str, Any] = {}
    if order.hooks:
        settings |= json.loads(hooks.install(None, order.hooks))
    prefixes = () if order.permissions.full else order.permissions.prefixes
    rules = [rule for one in prefixes for rule in (f"Bash({one})", f"Bash({one}:*)")]
    if rules:
        settings["permissions"] = {"allow": rules}
    return settings


def follow(heard: Heard, line: Line) -> tuple[Heard, list[Event]]:
    if line.error:
        return heard, []
    event = record(line.data)
    read = _READERS.get(text(event.get("type")))
    return read(heard, event) if read else (heard, [])


def finish(heard: Heard, ending: Ending) -> Finished:
    return finished(heard, ending)


def _system(heard: Heard, event: dict[str, Any]) -> tuple[Heard, list[Event]]:
    kind = event.get("subtype")
    if kind == "init":
        session, model = text(event.get("session_id")), text(event.get("model")) or None
        if session == heard.session:  # each turn of a long session begins with one
            return heard, []
        return replace(heard, session=session, model=model), [Started(session, model)]
    if kind == "api_retry":
        delay = number(event.get("retry_delay_ms"))
        status, error = event.get("error_status"), text(event.get("error"))
        reason = f"{error or 'error'} ({status})" if status else error or "no connection"
        return heard, [Waiting(None if delay is None else delay / 1000, reason)]
    if kind == "permission_denied":
        call, reason = text(event.get("tool_use_id")), text(event.get("message"))
        return heard.denying(call), [Denied(text(event.get("tool_name")), reason, call)]
    if kind == "informational" and event.get("prevent_continuation") is True:
        return replace(heard, fault=Fault(text(event.get("content")), Reason.HOOK_STOPPED)), []
    return heard, []


def _limit(heard: Heard, event: dict[str, Any]) -> tuple[Heard, list[Event]]:
    info = table(event, "rate_limit_info")
    if info.get("status") != "rejected":
        return heard, []
    return replace(heard, resets_at=number(info.get("resetsAt"))), []


def _part(heard: Heard, event: dict[str, Any]) -> tuple[Heard, list[Event]]:
    """A part of a message that is being made: its beginning and its end say what it used."""
    part = table(event, "event")
    if part.get("type") == "message_start":
        message = table(part, "message")
    elif part.get("type") == "message_delta":
        message = {"id": event.get("api_message_id") or heard.message, "usage": part.get("usage")}
    else:
        return heard, []
    name = text(message.get("id"))
    return _counted(replace(heard, message=name), name, message)


def _assistant(heard: Heard, event: dict[str, Any]) -> tuple[Heard, list[Event]]:
    message = table(event, "message")
    name = text(message.get("id"))
    after, events = _counted(heard, name, message)
    main = event.get("parent_tool_use_id") is None
    for block in _blocks(message):
        if block.get("type") == "tool_use":
            call, tool = text(block.get("id")), text(block.get("name"))
            after = after.calling(call, tool)
            events.append(Called(tool, call, reading.summary(block.get("input"))))
        elif main and block.get("type") == "text" and (said := text(block.get("text"))):
            after = after.saying(said, name)
            events.append(Said(said))
    return after, events


def _counted(heard: Heard, name: str, message: dict[str, Any]) -> tuple[Heard, list[Event]]:
    usage = table(message, "usage")
    if not name or not usage or message.get("model") == "<synthetic>":
        return heard, []
    after = heard.using(name, _used(usage))
    total = after.usage
    return after, [total] if total is not None and after is not heard else []


def _user(heard: Heard, event: dict[str, Any]) -> tuple[Heard, list[Event]]:
    rejected = {
        text(one.get("id"))
        for one in _objects(event.get("tool_result_meta"))
        if table(one, "permission_decision").get("decision") == "reject"
    }
    events: list[Event] = []
    for block in _blocks(table(event, "message")):
        if block.get("type") != "tool_result":
            continue
        call = text(block.get("tool_use_id"))
        if call in rejected - heard.denied:  # by a hook: no event of its own tells it
            events.append(Denied(heard.calls.get(call, ""), text(block.get("content")), call))
            heard = heard.denying(call)
        events.append(Answered(call, block.get("is_error") is not True))
        heard = heard.answered(call)
    return heard, events


def _result(heard: Heard, event: dict[str, Any]) -> tuple[Heard, list[Event]]:
    """The end of a turn. With work in the background there are several: the last one counts."""
    said = text(event.get("result"))
    failed = event.get("is_error") is True
    models = table(event, "modelUsage")
    cost = number(event.get("total_cost_usd"))
    used = _used(table(event, "usage"), cost)
    if models:  # all requests of the session; `usage` lacks those of a turn that was cut short
        each = [_used_by_model(table(models, name)) for name in models]
        tokens_in, tokens_out, cached = (sum(one) for one in zip(*each, strict=True))
        used = Used(tokens_in, tokens_out, cached, cost)
    after = replace(heard, total=used, text=heard.text if failed or not said else said)
    told = said or "; ".join(_texts(event.get("errors")))
    reason, why = _reason(after, event, told)
    after = replace(after, ended=reason, fault=why)
    events: list[Event] = []
    for one in _objects(event.get("permission_denials")):
        if (call := text(one.get("tool_use_id"))) not in after.denied:
            after = after.denying(call)
            events.append(Denied(text(one.get("tool_name")), "", call))
    return after, [*events, used]


def _reason(heard: Heard, event: dict[str, Any], told: str) -> tuple[Reason, Fault | None]:
    terminal = text(event.get("terminal_reason"))
    known = _REASONS.get(terminal)
    if event.get("is_error") is True:
        if known is None or known is Reason.COMPLETED:
            status = event.get("api_error_status")
            found = fault(told, status if type(status) is int else None)
            if found.reason is Reason.FAILED and terminal == "api_error" and status is None:
                found = replace(found, reason=Reason.UNAVAILABLE)
            return found.reason, found
        return known, Fault(told, known)
    if event.get("stop_reason") == "refusal":
        return Reason.REFUSED, Fault(told, Reason.REFUSED)
    if heard.fault is not None and heard.fault.reason is Reason.HOOK_STOPPED:
        return Reason.HOOK_STOPPED, heard.fault
    if known is None and terminal:
        return Reason.FAILED, Fault(terminal, Reason.FAILED)
    reason = known or Reason.COMPLETED
    return reason, None if reason is Reason.COMPLETED else Fault(told or terminal, reason)


_READERS = {
    "system": _system,
    "stream_event": _part,
    "assistant": _assistant,
    "user": _user,
    "rate_limit_event": _limit,
    "result": _result,
}


def _used(usage: dict[str, Any], cost: float | None = None) -> Used:
    cached = count(usage.get("cache_read_input_tokens"))
    new = count(usage.get("input_tokens")) + count(usage.get("cache_creation_input_tokens"))
    return Used(new + cached, count(usage.get("output_tokens")), cached, cost)


def _used_by_model(usage: dict[str, Any]) -> tuple[int, int, int]:
    cached = count(usage.get("cacheReadInputTokens"))
    new = count(usage.get("inputTokens")) + count(usage.get("cacheCreationInputTokens"))
    return new + cached, count(usage.get("outputTokens")), cached


def _blocks(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return _objects(message.get("content"))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (one for one in (value if isinstance(value, list) else ()) if isinstance(one, dict))


def _texts(value: Any) -> Iterator[str]:
    return (text(one) for one in (value if isinstance(value, list) else ()) if text(one))
