"""opencode: `opencode run --format json`, the prompt on standard input, permissions in a variable.

Its only option for system text replaces its own, so additional text comes before the prompt. It
has no last event: a run is complete when it exits with 0 after a step whose reason is `stop`.
It prints nothing while it waits for an overloaded provider.
"""

from __future__ import annotations

import json
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
    to_number,
    to_text,
)
from kedge.agents.launch.provider_faults import ProviderFault, classify_fault
from kedge.agents.launch.stream_state import ProcessEnd, StreamState, make_finished
from kedge.host.running import Line

NAME = "opencode"

_DENIALS = ("The user has specified a rule which prevents", "The user rejected permission")
_STEPS = {
    "stop": Reason.COMPLETED,
    "length": Reason.TOO_LONG,
    "content-filter": Reason.REFUSED,
    "error": Reason.FAILED,
}


def launch(invocation: Invocation) -> Launch:
    argv = [*invocation.program, "run", "--format", "json"]
    if invocation.permissions.full:
        argv.append("--auto")
    if invocation.model:
        argv += ["--model", invocation.model]
    env = {} if invocation.permissions.full else {"OPENCODE_CONFIG_CONTENT": _settings(invocation)}
    return Launch(tuple(argv), encode_stdin(invocation.system, invocation.prompt), env)


def _settings(invocation: Invocation) -> str:
    """Return settings that deny what is not allowed: a question to the user would end the run."""
    bash = {"*": "deny"}
    for one in invocation.permissions.prefixes:
        bash |= {one: "allow", f"{one} *": "allow"}
    closed = dict.fromkeys(("webfetch", "websearch", "external_directory", "doom_loop"), "deny")
    return json.dumps({"permission": {"edit": "allow", "bash": bash, **closed}})


def follow(stream: StreamState, line: Line) -> tuple[StreamState, list[Event]]:
    if line.error:
        return stream, []
    event = parse_object(line.data)
    kind = to_text(event.get("type"))
    if not kind:
        return stream, []
    events: list[Event] = []
    session = to_text(event.get("sessionID"))
    if session and stream.session is None:
        stream = replace(stream, session=session)
        events.append(Started(session))
    part = get_object(event, "part")
    match kind:
        case "text":
            stream, more = _add_message(stream, part)
        case "tool_use":
            stream, more = _call(stream, part)
        case "step_start":
            stream, more = replace(stream, ended=None), []
        case "step_finish":
            stream, more = _step(stream, part)
        case "error":
            stream, more = _error(stream, get_object(event, "error")), []
        case _:
            more = []
    return stream, [*events, *more]


def finish(stream: StreamState, end: ProcessEnd) -> Finished:
    return make_finished(stream, end)


def _add_message(stream: StreamState, part: dict[str, Any]) -> tuple[StreamState, list[Event]]:
    text, message = to_text(part.get("text")), to_text(part.get("messageID"))
    return (stream.add_text(text, message), [Message(text)]) if text else (stream, [])


def _call(stream: StreamState, part: dict[str, Any]) -> tuple[StreamState, list[Event]]:
    """Read a tool call and its result, which come in one event."""
    tool, call, state = (
        to_text(part.get("tool")),
        to_text(part.get("callID")),
        get_object(part, "state"),
    )
    events: list[Event] = [ToolStarted(tool, call, summarize_arguments(state.get("input")))]
    error = to_text(state.get("error"))
    if error.startswith(_DENIALS):
        events.append(ToolDenied(tool, error.partition(" Here are")[0], call))
    failed = state.get("status") != "completed" or bool(get_object(state, "metadata").get("exit"))
    return stream, [*events, ToolFinished(call, not failed)]


def _step(stream: StreamState, part: dict[str, Any]) -> tuple[StreamState, list[Event]]:
    """Read the end of a message, with the tokens it used."""
    tokens, cache = get_object(part, "tokens"), get_object(part, "tokens", "cache")
    cached = to_count(cache.get("read"))
    used = Usage(
        to_count(tokens.get("input")) + to_count(cache.get("write")) + cached,
        to_count(tokens.get("output")) + to_count(tokens.get("reasoning")),
        cached,
        to_number(part.get("cost")),
    )
    reason = to_text(part.get("reason"))
    stream = stream.add_usage(to_text(part.get("messageID")), used)
    ended = _STEPS.get(reason)
    why = (
        None if ended in (None, Reason.COMPLETED) else ProviderFault(reason, ended or Reason.FAILED)
    )
    total = stream.usage
    return replace(stream, ended=ended, fault=why), [] if total is None else [total]


def _error(stream: StreamState, error: dict[str, Any]) -> StreamState:
    data = get_object(error, "data")
    status = data.get("statusCode")
    message = to_text(data.get("message")) or to_text(error.get("name"))
    why = classify_fault(message, status if type(status) is int else None)
    return replace(stream, ended=why.reason, fault=why)
