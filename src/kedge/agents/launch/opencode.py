"""opencode: `opencode run --format json`, the prompt on standard input, permissions in a variable.

Its only option for system text replaces its own, so additional text comes before the prompt. It
has no last event: a run is complete when it exits with 0 after a step whose reason is `stop`.
It prints nothing while it waits for an overloaded provider. Hooks are in a plugin that the same
variable names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kedge.agents.json_object import JsonObject
from kedge.agents.launch.events import Event, Reason, Usage
from kedge.agents.launch.invocation import Invocation, Launch, encode_stdin
from kedge.agents.launch.json_fields import parse_line
from kedge.agents.launch.provider_faults import ProviderFault, classify_fault
from kedge.agents.launch.stream_state import StreamState, make_finished
from kedge.agents.settings import opencode_plugin
from kedge.host.running import Line

NAME = "opencode"
MARK = b'"type"'

_PLUGIN = "kedge.js"
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
    settings = {} if invocation.permissions.full else _list_permissions(invocation)
    files = {}
    if invocation.hooks:
        files[_PLUGIN] = opencode_plugin.install(None, invocation.hooks)
        settings["plugin"] = [(invocation.scratch / _PLUGIN).as_uri()]
    env = {"OPENCODE_CONFIG_CONTENT": json.dumps(settings)} if settings else {}
    return Launch(tuple(argv), encode_stdin(invocation.system, invocation.prompt), env, files)


def _list_permissions(invocation: Invocation) -> dict[str, Any]:
    """Return settings that deny what is not allowed: a question to the user would end the run."""
    bash = {"*": "deny"}
    for one in invocation.permissions.prefixes:
        bash |= {one: "allow", f"{one} *": "allow"}
    closed = dict.fromkeys(("webfetch", "websearch", "external_directory", "doom_loop"), "deny")
    return {"permission": {"edit": "allow", "bash": bash, **closed}}


def follow(stream: StreamState, line: Line) -> Iterator[Event]:
    event = parse_line(line)
    session = event.text("sessionID")
    if session and event.text("type") and stream.session is None:
        yield stream.start(session)
    part = event.child("part")
    match event.get("type"):
        case "text":
            if text := part.text("text"):
                yield stream.say(text, part.text("messageID"))
        case "tool_use":
            yield from _read_call(stream, part)
        case "step_start":
            stream.ended = None
        case "step_finish":
            yield from _read_step(stream, part)
        case "error":
            error = event.child("error")
            data = error.child("data")
            message = data.text("message") or error.text("name")
            stream.end(classify_fault(message, data.get("statusCode")))


finish = make_finished


def _read_call(stream: StreamState, part: JsonObject) -> Iterator[Event]:
    """Read a tool call and its result, which come in one event."""
    tool, call, state = part.text("tool"), part.text("callID"), part.child("state")
    yield stream.start_call(tool, call, state.get("input"))
    error = state.text("error")
    if error.startswith(_DENIALS):
        yield stream.deny_call(tool, error.partition(" Here are")[0], call)
    ok = state.get("status") == "completed" and not state.child("metadata").get("exit")
    yield stream.finish_call(call, ok=ok)


def _read_step(stream: StreamState, part: JsonObject) -> Iterator[Event]:
    """Read the end of a message, with the tokens it used."""
    tokens = part.child("tokens")
    cache = tokens.child("cache")
    cached = cache.count("read")
    used = Usage(
        tokens.count("input") + cache.count("write") + cached,
        tokens.count("output") + tokens.count("reasoning"),
        cached,
        part.number("cost"),
    )
    stream.add_usage(part.text("messageID"), used)
    reason = part.text("reason")
    stream.ended, stream.fault = _STEPS.get(reason), None
    if stream.ended not in (None, Reason.COMPLETED):
        stream.fault = ProviderFault(reason, stream.ended)
    if stream.usage is not None:
        yield stream.usage
