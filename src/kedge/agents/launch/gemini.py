"""Gemini CLI: `gemini -o stream-json`, the prompt on standard input.

It has no option for additional system text, so that text comes before the prompt. It runs only in
a directory that the user trusts: the option to trust any directory would also run commands from
the repository's settings.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kedge.agents.launch.events import (
    Event,
    Finished,
    Message,
    Reason,
    Started,
    ToolDenied,
    ToolFinished,
    ToolStarted,
    Usage,
)
from kedge.agents.launch.invocation import Invocation, Launch, encode_stdin
from kedge.agents.launch.json_fields import (
    get_object,
    parse_object,
    summarize_arguments,
    to_count,
    to_text,
)
from kedge.agents.launch.provider_faults import ProviderFault, classify_fault
from kedge.agents.launch.stream_state import (
    LONGEST,
    ProcessEnd,
    StreamState,
    last_error_line,
    make_finished,
)
from kedge.host.running import Line

NAME = "gemini"

_CODES = {41: Reason.AUTH, 53: Reason.MAX_TURNS, 55: Reason.NOT_STARTED, 130: Reason.KILLED}
_DENIED = ("policy_violation", "tool_not_registered")


def launch(invocation: Invocation) -> Launch:
    mode = "yolo" if invocation.permissions.full else "auto_edit"
    argv = [*invocation.program, "-o", "stream-json", "--approval-mode", mode]
    if not invocation.permissions.full:
        # A comma would end a rule, and start another one.
        rules = [one for one in invocation.permissions.prefixes if "," not in one]
        argv += [f"--allowed-tools=run_shell_command({one})" for one in rules]
    if invocation.model:
        argv += ["--model", invocation.model]
    if invocation.session:
        argv += ["--session-id", invocation.session]
    return Launch(tuple(argv), encode_stdin(invocation.system, invocation.prompt), {})


def follow(stream: StreamState, line: Line) -> tuple[StreamState, list[Event]]:
    if line.error:
        return stream, []
    event = parse_object(line.data)
    match event.get("type"):
        case "init":
            session, model = to_text(event.get("session_id")), to_text(event.get("model")) or None
            return replace(stream, session=session, model=model), [Started(session, model)]
        case "message" if event.get("role") == "assistant":
            return _message(stream, event)
        case "tool_use":
            return _call(*_flush(stream), event)
        case "tool_result":
            return _answer(stream, event)
        case "error" if event.get("severity") == "error":
            return replace(stream, fault=classify_fault(to_text(event.get("message")))), []
        case "result":
            return _result(*_flush(stream), event)
        case _:
            return stream, []


def finish(stream: StreamState, end: ProcessEnd) -> Finished:
    stream, _ = _flush(stream)
    reason = _CODES.get(end.ended.code)
    if reason and end.ended.stopped is None:
        why = stream.fault or ProviderFault(last_error_line(end.ended.errors), reason)
        stream = replace(stream, ended=reason, fault=why)
    return make_finished(stream, end)


def _message(stream: StreamState, event: dict[str, Any]) -> tuple[StreamState, list[Event]]:
    """Read a message or a piece of one; a tool call or the end of the run completes it."""
    text = to_text(event.get("content"))
    if event.get("delta") is True:
        return replace(stream, message=(stream.message + text)[-LONGEST:]), []
    stream, events = _flush(stream)
    return replace(stream, text=text), [*events, Message(text)]


def _flush(stream: StreamState) -> tuple[StreamState, list[Event]]:
    """Complete the message that came in pieces."""
    text = stream.message
    if not text.strip():
        return replace(stream, message=""), []
    return replace(stream, message="", text=text), [Message(text)]


def _call(
    stream: StreamState, events: list[Event], event: dict[str, Any]
) -> tuple[StreamState, list[Event]]:
    call, tool = to_text(event.get("tool_id")), to_text(event.get("tool_name"))
    started = ToolStarted(tool, call, summarize_arguments(event.get("parameters")))
    return stream.add_call(call, tool), [*events, started]


def _answer(stream: StreamState, event: dict[str, Any]) -> tuple[StreamState, list[Event]]:
    call, error = to_text(event.get("tool_id")), get_object(event, "error")
    events: list[Event] = []
    if error.get("type") in _DENIED:
        events.append(ToolDenied(stream.calls.get(call, ""), to_text(error.get("message")), call))
    events.append(ToolFinished(call, event.get("status") == "success"))
    return stream.remove_call(call), events


def _result(
    stream: StreamState, events: list[Event], event: dict[str, Any]
) -> tuple[StreamState, list[Event]]:
    stats = get_object(event, "stats")
    used = Usage(
        to_count(stats.get("input_tokens")),
        to_count(stats.get("output_tokens")),
        to_count(stats.get("cached")),
    )
    events = [*events, used]
    if event.get("status") == "success":
        return replace(stream, total=used, ended=Reason.COMPLETED, fault=None), events
    error = get_object(event, "error")
    why = (
        classify_fault(to_text(error.get("message")))
        if error
        else stream.fault or classify_fault("no reason given")
    )
    return replace(stream, total=used, ended=why.reason, fault=why), events
