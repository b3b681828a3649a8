"""Codex: `codex exec --json`, with a sandbox around what it runs and the hooks in the call.

The sandbox is what confines it: any command runs, but writes nothing outside of the directory and
reaches no network, so the order's commands have no part in it. Hooks that come with the call are
trusted by their hash. The flag that trusts all hooks would also run those of the repository.

Codex says nothing of tokens before a turn is over, and nothing of money at all. A call that it
refuses is no event: only its log on standard error tells of it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kedge.agents.hooks import Hook
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
from kedge.agents.run.faults import fault
from kedge.agents.run.heard import Ending, Heard, count, finished, record, table, text
from kedge.agents.run.order import Launch, Order, fits, spoken
from kedge.host.running import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "codex"

_PLACE = "/<session-flags>/config.toml"  # where Codex says that the hooks of a call are
_TIMEOUT = 600  # seconds that a hook has where none is given
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_REFUSED = re.compile(r"tools::router: error=(.*(?:rejected|blocked by).*)")
_RETRY = re.compile(r"Reconnecting\.\.\. \d+/\d+(?: \((.*)\))?\Z", re.DOTALL)
_TOOLS = {"command_execution": "Bash", "file_change": "apply_patch", "web_search": "web_search"}


def launch(order: Order) -> Launch:
    argv = [*order.program, "exec", "--json"]
    if order.permissions.full:
        argv.append("--dangerously-bypass-approvals-and-sandbox")
    else:
        argv += ["--sandbox", "workspace-write", "-c", 'approval_policy="never"']
    if order.model:
        argv += ["--model", order.model]
    in_flag = fits(order.system)
    if order.system and in_flag:
        argv += ["-c", f"developer_instructions={_quoted(order.system)}"]
    for setting in _hooks(order.hooks):
        argv += ["-c", setting]
    return Launch((*argv, "-"), spoken("" if in_flag else order.system, order.prompt), {})


def _hooks(hooks: Sequence[Hook]) -> Iterator[str]:
    """The hooks as settings, and that they are trusted."""
    events: dict[str, list[Hook]] = {}
    for hook in hooks:
        events.setdefault(hook.event, []).append(hook)
    trusted = []
    for event, group in events.items():
        yield f"hooks.{event}=[{','.join(map(_entry, group))}]"
        name = _WORD.sub("_", event).lower()
        for index, hook in enumerate(group):
            key = _quoted(f"{_PLACE}:{name}:{index}:0")
            trusted.append(f'{key}={{trusted_hash="{_hash(name, hook)}"}}')
    if trusted:
        yield f"hooks.state={{{','.join(trusted)}}}"


def _entry(hook: Hook) -> str:
    matcher = "" if hook.matcher is None else f"matcher={_quoted(hook.matcher)},"
    timeout = "" if hook.timeout is None else f",timeout={_seconds(hook)}"
    return f'{{{matcher}hooks=[{{type="command",command={_quoted(hook.command)}{timeout}}}]}}'


def _hash(event: str, hook: Hook) -> str:
    """What Codex makes of a hook to know it again."""
    handler = {"async": False, "command": hook.command, "timeout": _seconds(hook)}
    identity: dict[str, Any] = {"event_name": event, "hooks": [{**handler, "type": "command"}]}
    if hook.matcher is not None:
        identity["matcher"] = hook.matcher
    form = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(form.encode()).hexdigest()


def _seconds(hook: Hook) -> int:
    return _TIMEOUT if hook.timeout is None else max(1, int(hook.timeout))


def _quoted(value: str) -> str:
    # JSON's escapes are TOML's, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def follow(heard: Heard, line: Line) -> tuple[Heard, list[Event]]:
    if line.error:
        return heard, _complaint(line.data)
    event = record(line.data)
    match event.get("type"):
        case "thread.started":
            session = text(event.get("thread_id"))
            return replace(heard, session=session), [Started(session)]
        case "item.started" | "item.completed" as kind:
            return _item(heard, table(event, "item"), done=kind == "item.completed")
        case "turn.completed":
            # The totals of the thread, not of the turn: the last ones count.
            usage = table(event, "usage")
            used = Used(
                count(usage.get("input_tokens")),
                count(usage.get("output_tokens")),
                count(usage.get("cached_input_tokens")),
            )
            return replace(heard, total=used, ended=Reason.COMPLETED, fault=None), [used]
        case "turn.failed":
            return _failed(heard, text(table(event, "error").get("message")), Reason.FAILED)
        case "error":
            message = text(event.get("message"))
            if retry := _RETRY.match(message):
                return heard, [Waiting(None, retry[1] or message)]
            return _failed(heard, message, None)
        case _:
            return heard, []


def finish(heard: Heard, ending: Ending) -> Finished:
    return finished(heard, ending)


def _failed(heard: Heard, message: str, ended: Reason | None) -> tuple[Heard, list[Event]]:
    found = fault(_unwrapped(message))
    reason = found.reason if ended else heard.ended
    return replace(heard, fault=found, ended=reason), []


def _unwrapped(message: str) -> str:
    """What an answer of the provider says, where the message is that answer."""
    error = table(record(message.encode("utf-8", "replace")), "error")
    return text(error.get("message")) or message


def _item(heard: Heard, item: dict[str, Any], *, done: bool) -> tuple[Heard, list[Event]]:
    kind, call = text(item.get("type")), text(item.get("id"))
    if kind == "agent_message":
        said = text(item.get("text"))
        return replace(heard, text=said), [Said(said)] if said else []
    if kind == "mcp_tool_call":
        tool = f"{text(item.get('server'))}.{text(item.get('tool'))}"
    elif kind in _TOOLS:
        tool = _TOOLS[kind]
    else:
        return heard, []
    events: list[Event] = []
    if call not in heard.calls:
        heard = heard.calling(call, tool)
        events.append(Called(tool, call, _summary(item)))
    if done:
        declined = item.get("status") == "declined"
        if declined:
            events.append(Denied(tool, "declined", call))
        failed = declined or item.get("status") == "failed" or bool(item.get("exit_code"))
        heard = heard.answered(call)
        events.append(Answered(call, not failed))
    return heard, events


def _summary(item: dict[str, Any]) -> str:
    changes = item.get("changes")
    if isinstance(changes, list):
        paths = [text(one.get("path")) for one in changes if isinstance(one, dict)]
        return reading.summary(" ".join(paths))
    return reading.summary({"command": item.get("command"), "query": item.get("query")})


def _complaint(data: bytes) -> list[Event]:
    """A refusal in the log. Which call it was, and of what id, is not said."""
    found = _REFUSED.search(data[:20_000].decode("utf-8", "replace"))
    if not found:
        return []
    tool = "apply_patch" if found[1].startswith("patch ") else "Bash"
    return [Denied(tool, reading.summary(found[1]))]
