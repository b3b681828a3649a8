"""Gemini CLI: `gemini -o stream-json`, the prompt on standard input.

It has no option for additional system text, so that text comes before the prompt. It runs only in
a directory that the user trusts: the option to trust any directory would also run commands from
the repository's settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.agents.json_object import JsonObject
from kedge.agents.launch.events import Event, Finished, Reason, RetryWait, Usage
from kedge.agents.launch.invocation import Invocation, Launch, encode_stdin
from kedge.agents.launch.json_fields import parse_line
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
MARK = b'"type"'

_CODES = {41: Reason.AUTH, 53: Reason.MAX_TURNS, 55: Reason.NOT_STARTED, 130: Reason.KILLED}
# on standard error
_RETRY = re.compile(
    rb"(Attempt \d{1,9} failed[^.]{0,100})\. Retrying (?:after (\d{1,9})ms|with backoff)"
)
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


def follow(stream: StreamState, line: Line) -> Iterator[Event]:
    if line.error and (retry := _RETRY.search(line.data[:1000])):
        seconds = None if retry[2] is None else int(retry[2]) / 1000
        yield RetryWait(seconds, retry[1].decode("utf-8", "replace"))
        return
    event = parse_line(line)
    match event.get("type"):
        case "init":
            yield stream.start(event.text("session_id"), event.text("model") or None)
        case "message" if event.get("role") == "assistant":
            text = event.text("content")
            if event.get("delta") is True:
                stream.message = (stream.message + text)[-LONGEST:]
            else:
                yield from _flush(stream)
                yield stream.say(text)
        case "tool_use":
            yield from _flush(stream)
            tool, call = event.text("tool_name"), event.text("tool_id")
            yield stream.start_call(tool, call, event.get("parameters"))
        case "tool_result":
            call, error = event.text("tool_id"), event.child("error")
            if error.get("type") in _DENIED:
                yield stream.deny_call(stream.calls.get(call, ""), error.text("message"), call)
            yield stream.finish_call(call, ok=event.get("status") == "success")
        case "error" if event.get("severity") == "error":
            stream.fault = classify_fault(event.text("message"))
        case "result":
            yield from _flush(stream)
            yield from _read_result(stream, event)


def finish(stream: StreamState, end: ProcessEnd) -> Finished:
    _flush(stream)
    reason = _CODES.get(end.ended.code)
    if reason and end.ended.stopped is None:
        stream.fault = stream.fault or ProviderFault(last_error_line(end.ended.errors), reason)
        stream.ended = reason
    return make_finished(stream, end)


def _flush(stream: StreamState) -> list[Event]:
    """Complete the message that came in pieces: at a tool call, or at the end of the run."""
    text, stream.message = stream.message, ""
    return [stream.say(text)] if text.strip() else []


def _read_result(stream: StreamState, event: JsonObject) -> Iterator[Event]:
    stats = event.child("stats")
    cached = stats.count("cached")
    stream.total = Usage(stats.count("input_tokens"), stats.count("output_tokens"), cached)
    error = event.child("error")
    if event.get("status") == "success":
        stream.end()
    elif error:
        stream.end(classify_fault(error.text("message")))
    else:
        stream.end(stream.fault or classify_fault("no reason given"))
    yield stream.total
