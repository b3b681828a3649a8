"""GitHub Copilot CLI: `copilot --output-format json`, the prompt on standard input.

Hooks are in a plugin that is loaded for this call alone. Its rules for commands name a program, not
a command line: allowing `make test` would allow every target. So one of the hooks decides. It
prints neither tokens nor its session's id; both are in the log of the session, which has the id
that it is given. It has no option for additional system text, so that text comes before the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kedge.agents.json_object import JsonObject
from kedge.agents.launch import copilot_permission
from kedge.agents.launch.events import Event, Finished, Reason, RetryWait, Usage
from kedge.agents.launch.invocation import Invocation, Launch, LogFile, encode_stdin
from kedge.agents.launch.json_fields import parse_line
from kedge.agents.launch.provider_faults import ProviderFault, classify_fault
from kedge.agents.launch.stream_state import ProcessEnd, StreamState, make_finished
from kedge.agents.settings import hooks
from kedge.host.running import Line

NAME = "copilot"
MARK = b'"type"'

_PLUGIN = "plugin"
_NO_LOGIN = b"No authentication information found"
_DENIED = "Denied by "  # starts the answer of a hook that refuses a call


def launch(invocation: Invocation) -> Launch:
    argv = [*invocation.program, "--output-format", "json", "--no-ask-user", "--no-auto-update"]
    argv.append("--allow-all" if invocation.permissions.full else "--allow-tool=write")
    argv += ["--plugin-dir", str(invocation.scratch / _PLUGIN)]
    env = {"COPILOT_ALLOW_ALL": "false"}  # the user's may lift the limits of this call
    if invocation.model:
        argv += ["--model", invocation.model]
    log = None
    if invocation.session:
        argv += ["--session-id", invocation.session]
        log = LogFile(
            "COPILOT_HOME", ".copilot", f"session-state/{invocation.session}/events.jsonl"
        )
    stdin = encode_stdin(invocation.system, invocation.prompt)
    return Launch(tuple(argv), stdin, env, _make_plugin(invocation), log)


def _make_plugin(invocation: Invocation) -> dict[str, str]:
    """Return the files of a plugin with the invocation's hooks, and one that allows commands."""
    rules = invocation.scratch / _PLUGIN / "commands.json"
    entry = {"type": "command", "bash": copilot_permission.make_command(rules)}
    settings = json.loads(hooks.install(None, invocation.hooks))
    settings["hooks"]["permissionRequest"] = [entry]
    about = {"name": "kedge-run", "version": "1.0.0", "hooks": "hooks.json"}
    contents: dict[str, Any] = {
        "plugin.json": about,
        "hooks.json": settings,
        rules.name: invocation.permissions.prefixes,
    }
    return {f"{_PLUGIN}/{name}": json.dumps(value) for name, value in contents.items()}


def follow(stream: StreamState, line: Line) -> Iterator[Event]:
    event = parse_line(line)
    kind, data = event.text("type"), event.child("data")
    if line.log:
        if kind == "session.usage_record":
            yield from _count_usage(stream, event.text("id"), data.child("usage"))
        return
    if kind and stream.session is None:
        yield stream.start(stream.given or event.text("sessionId"))
    match kind:
        case "assistant.message":
            if (text := data.text("content")) and not data.text("parentToolCallId"):
                yield stream.say(text, data.text("messageId"))
        case "tool.execution_start":
            call = data.text("toolCallId")
            yield stream.start_call(data.text("toolName"), call, data.get("arguments"))
        case "tool.execution_complete":
            yield from _read_result(stream, data)
        case "session.info" if data.get("infoType") == "model_retry":
            yield RetryWait(None, data.text("message"))
        case "session.error":
            stream.fault = classify_fault(data.text("message"), data.get("statusCode"))
        case "result":
            stream.session = event.text("sessionId") or stream.session
            failed = event.get("exitCode") != 0
            stream.end(stream.fault or classify_fault("no reason given") if failed else None)


def finish(stream: StreamState, end: ProcessEnd) -> Finished:
    if stream.ended is None and _NO_LOGIN in end.ended.errors and end.ended.stopped is None:
        stream.end(ProviderFault("not logged in: run copilot login", Reason.AUTH))
    return make_finished(stream, end)


def _read_result(stream: StreamState, data: JsonObject) -> Iterator[Event]:
    call, error = data.text("toolCallId"), data.child("error")
    if error.get("code") == "denied" or error.text("message").startswith(_DENIED):
        yield stream.deny_call(stream.calls.get(call, ""), error.text("message"), call)
    ok = data.get("success") is True and not data.child("shellExecution").get("exitCode")
    yield stream.finish_call(call, ok=ok)


def _count_usage(stream: StreamState, record: str, usage: JsonObject) -> Iterator[Event]:
    """Add what one request has used. Its cost is not in dollars."""
    cached = usage.count("cacheReadTokens")
    used = Usage(usage.count("inputTokens"), usage.count("outputTokens"), cached)
    if stream.add_usage(record, used) and stream.usage is not None:
        yield stream.usage
