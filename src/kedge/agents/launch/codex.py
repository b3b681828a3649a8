"""Codex: `codex exec --json`, in a sandbox, with hooks on the command line.

The sandbox limits what it can do: any command runs, but cannot write outside the directory or use
the network, so the invocation's list of commands is not needed. Hooks on the command line are
trusted by their hash. The flag that trusts all hooks would also run those of the repository.

Codex reports tokens only at the end of a turn, and never a cost. A tool call that it refuses is
not an event; only the log on standard error shows it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from kedge.agents.json_object import JsonObject
from kedge.agents.launch.events import Event, RetryWait, ToolDenied, Usage
from kedge.agents.launch.invocation import Invocation, Launch, encode_stdin, fits_argument
from kedge.agents.launch.json_fields import (
    parse_line,
    parse_object,
    summarize_arguments,
)
from kedge.agents.launch.provider_faults import ProviderFault, classify_fault
from kedge.agents.launch.stream_state import StreamState, make_finished
from kedge.agents.settings.hooks import Hook
from kedge.host.running import Line

NAME = "codex"
MARK = b'"type"'

_PLACE = "/<session-flags>/config.toml"  # the file that Codex names for hooks on the command line
_TIMEOUT = 600  # seconds; Codex's default for a hook
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_REFUSED = re.compile(r"tools::router: error=(.*(?:rejected|blocked by).*)")
_RETRY = re.compile(r"Reconnecting\.\.\. \d+/\d+(?: \((.*)\))?\Z", re.DOTALL)
_TOOLS = {"command_execution": "Bash", "file_change": "apply_patch", "web_search": "web_search"}


def launch(invocation: Invocation) -> Launch:
    argv = [*invocation.program, "exec", "--json"]
    if invocation.permissions.full:
        argv.append("--dangerously-bypass-approvals-and-sandbox")
    else:
        argv += ["--sandbox", "workspace-write", "-c", 'approval_policy="never"']
    if invocation.model:
        argv += ["--model", invocation.model]
    in_flag = fits_argument(invocation.system)
    if invocation.system and in_flag:
        argv += ["-c", f"developer_instructions={_quote(invocation.system)}"]
    for setting in _hooks(invocation.hooks):
        argv += ["-c", setting]
    return Launch(
        (*argv, "-"), encode_stdin("" if in_flag else invocation.system, invocation.prompt), {}
    )


def _hooks(hooks: Sequence[Hook]) -> Iterator[str]:
    """Yield the settings that define the hooks and trust them."""
    events: dict[str, list[Hook]] = {}
    for hook in hooks:
        events.setdefault(hook.event, []).append(hook)
    trusted = []
    for event, group in events.items():
        yield f"hooks.{event}=[{','.join(map(_entry, group))}]"
        name = _WORD.sub("_", event).lower()
        for index, hook in enumerate(group):
            key = _quote(f"{_PLACE}:{name}:{index}:0")
            trusted.append(f'{key}={{trusted_hash="{_hash(name, hook)}"}}')
    if trusted:
        yield f"hooks.state={{{','.join(trusted)}}}"


def _entry(hook: Hook) -> str:
    matcher = "" if hook.matcher is None else f"matcher={_quote(hook.matcher)},"
    timeout = "" if hook.timeout is None else f",timeout={_seconds(hook)}"
    return f'{{{matcher}hooks=[{{type="command",command={_quote(hook.command)}{timeout}}}]}}'


def _hash(event: str, hook: Hook) -> str:
    """Return the hash by which Codex recognises a trusted hook."""
    handler = {"async": False, "command": hook.command, "timeout": _seconds(hook)}
    identity: dict[str, Any] = {"event_name": event, "hooks": [{**handler, "type": "command"}]}
    if hook.matcher is not None:
        identity["matcher"] = hook.matcher
    form = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(form.encode()).hexdigest()


def _seconds(hook: Hook) -> int:
    return _TIMEOUT if hook.timeout is None else max(1, int(hook.timeout))


def _quote(value: str) -> str:
    # A JSON string is a TOML string, except that TOML wants DEL escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def follow(stream: StreamState, line: Line) -> Iterator[Event]:
    if line.error:
        yield from _read_denial(line.data)
    event = parse_line(line)
    match event.get("type"):
        case "thread.started":
            yield stream.start(event.text("thread_id"))
        case "item.started" | "item.completed" as kind:
            yield from _read_item(stream, event.child("item"), done=kind == "item.completed")
        case "turn.completed":
            # Totals of the thread, not of the turn, so the last ones count.
            usage = event.child("usage")
            cached = usage.count("cached_input_tokens")
            stream.total = Usage(usage.count("input_tokens"), usage.count("output_tokens"), cached)
            stream.end()
            yield stream.total
        case "turn.failed":
            stream.end(_classify(event.child("error").text("message")))
        case "error":
            message = event.text("message")
            if retry := _RETRY.match(message):
                yield RetryWait(None, retry[1] or message)
            else:
                stream.fault = _classify(message)


finish = make_finished


def _classify(message: str) -> ProviderFault:
    """Return the fault in a message, which may be a provider's answer in JSON."""
    error = parse_object(message.encode("utf-8", "replace")).child("error")
    return classify_fault(error.text("message") or message)


def _read_item(stream: StreamState, item: JsonObject, *, done: bool) -> Iterator[Event]:
    kind, call = item.text("type"), item.text("id")
    if kind == "agent_message":
        if text := item.text("text"):
            yield stream.say(text)
        return
    if kind == "mcp_tool_call":
        tool = f"{item.text('server')}.{item.text('tool')}"
    elif kind in _TOOLS:
        tool = _TOOLS[kind]
    else:
        return
    if call not in stream.calls:
        paths = " ".join(one.text("path") for one in item.children("changes"))
        arguments = {"command": item.get("command"), "query": item.get("query")}
        yield stream.start_call(tool, call, paths or arguments)
    if done:
        status = item.get("status")
        if status == "declined":
            yield stream.deny_call(tool, "declined", call)
        ok = status not in ("declined", "failed") and not item.get("exit_code")
        yield stream.finish_call(call, ok=ok)


def _read_denial(data: bytes) -> Iterator[Event]:
    """Yield the denial in a line of the log, which does not name the call's id."""
    if match := _REFUSED.search(data[:20_000].decode("utf-8", "replace")):
        tool = "apply_patch" if match[1].startswith("patch ") else "Bash"
        yield ToolDenied(tool, summarize_arguments(match[1]))
