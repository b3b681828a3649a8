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
    to_text,
)
from kedge.agents.launch.provider_faults import classify_fault
from kedge.agents.launch.stream_state import ProcessEnd, StreamState, make_finished
from kedge.agents.settings.hooks import Hook
from kedge.host.running import Line

NAME = "codex"

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


def follow(stream: StreamState, line: Line) -> tuple[StreamState, list[Event]]:
    if line.error:
        return stream, _read_denial(line.data)
    event = parse_object(line.data)
    match event.get("type"):
        case "thread.started":
            session = to_text(event.get("thread_id"))
            return replace(stream, session=session), [Started(session)]
        case "item.started" | "item.completed" as kind:
            return _item(stream, get_object(event, "item"), done=kind == "item.completed")
        case "turn.completed":
            # Totals of the thread, not of the turn, so the last ones count.
            usage = get_object(event, "usage")
            used = Usage(
                to_count(usage.get("input_tokens")),
                to_count(usage.get("output_tokens")),
                to_count(usage.get("cached_input_tokens")),
            )
            return replace(stream, total=used, ended=Reason.COMPLETED, fault=None), [used]
        case "turn.failed":
            return _add_failure(
                stream, to_text(get_object(event, "error").get("message")), Reason.FAILED
            )
        case "error":
            message = to_text(event.get("message"))
            if retry := _RETRY.match(message):
                return stream, [RetryWait(None, retry[1] or message)]
            return _add_failure(stream, message, None)
        case _:
            return stream, []


def finish(stream: StreamState, end: ProcessEnd) -> Finished:
    return make_finished(stream, end)


def _add_failure(
    stream: StreamState, message: str, ended: Reason | None
) -> tuple[StreamState, list[Event]]:
    fault = classify_fault(_unwrap(message))
    reason = fault.reason if ended else stream.ended
    return replace(stream, fault=fault, ended=reason), []


def _unwrap(message: str) -> str:
    """Return the message inside a provider's JSON answer, or the text itself."""
    error = get_object(parse_object(message.encode("utf-8", "replace")), "error")
    return to_text(error.get("message")) or message


def _item(
    stream: StreamState, item: dict[str, Any], *, done: bool
) -> tuple[StreamState, list[Event]]:
    kind, call = to_text(item.get("type")), to_text(item.get("id"))
    if kind == "agent_message":
        text = to_text(item.get("text"))
        return replace(stream, text=text), [Message(text)] if text else []
    if kind == "mcp_tool_call":
        tool = f"{to_text(item.get('server'))}.{to_text(item.get('tool'))}"
    elif kind in _TOOLS:
        tool = _TOOLS[kind]
    else:
        return stream, []
    events: list[Event] = []
    if call not in stream.calls:
        stream = stream.add_call(call, tool)
        events.append(ToolStarted(tool, call, _summarize(item)))
    if done:
        declined = item.get("status") == "declined"
        if declined:
            events.append(ToolDenied(tool, "declined", call))
        failed = declined or item.get("status") == "failed" or bool(item.get("exit_code"))
        stream = stream.remove_call(call)
        events.append(ToolFinished(call, not failed))
    return stream, events


def _summarize(item: dict[str, Any]) -> str:
    changes = item.get("changes")
    if isinstance(changes, list):
        paths = [to_text(one.get("path")) for one in changes if isinstance(one, dict)]
        return summarize_arguments(" ".join(paths))
    return summarize_arguments({"command": item.get("command"), "query": item.get("query")})


def _read_denial(data: bytes) -> list[Event]:
    """Return the denial in a line of the log, which does not name the call's id."""
    match = _REFUSED.search(data[:20_000].decode("utf-8", "replace"))
    if not match:
        return []
    tool = "apply_patch" if match[1].startswith("patch ") else "Bash"
    return [ToolDenied(tool, summarize_arguments(match[1]))]
