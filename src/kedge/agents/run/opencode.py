"""opencode: `opencode run --format json`, the prompt on standard input, permissions in a variable.

It has no place for more system text but one that replaces its own, so that comes before the
prompt. It has no last event: a run that ends with exit code 0 after a step whose reason is
`stop` is complete. While it waits for a provider that is overloaded it says nothing.
"""

from __future__ import annotations

import json
from dataclasses import replace

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
)
from kedge.agents.run.faults import Fault, fault
from kedge.agents.run.heard import Ending, Heard, count, finished, number, record, table, text
from kedge.agents.run.order import Launch, Order, spoken
from kedge.host.running import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "opencode"

_DENIALS = ("The user has specified a rule which prevents", "The user rejected permission")
_STEPS = {
    "stop": Reason.COMPLETED,
    "length": Reason.TOO_LONG,
    "content-filter": Reason.REFUSED,
    "error": Reason.FAILED,
}


def launch(order: Order) -> Launch:
    argv = [*order.program, "run", "--format", "json"]
    if order.permissions.full:
        argv.append("--auto")
    if order.model:
        argv += ["--model", order.model]
    env = {} if order.permissions.full else {"OPENCODE_CONFIG_CONTENT": _settings(order)}
    return Launch(tuple(argv), spoken(order.system, order.prompt), env)


def _settings(order: Order) -> str:
    """What is not allowed is denied: what has to be asked would end the run."""
    bash = {"*": "deny"}
    for one in order.permissions.prefixes:
        bash |= {one: "allow", f"{one} *": "allow"}
    closed = dict.fromkeys(("webfetch", "websearch", "external_directory", "doom_loop"), "deny")
    return json.dumps({"permission": {"edit": "allow", "bash": bash, **closed}})


def follow(heard: Heard, line: Line) -> tuple[Heard, list[Event]]:
    if line.error:
        return heard, []
    event = record(line.data)
    kind = text(event.get("type"))
    if not kind:
        return heard, []
    events: list[Event] = []
    session = text(event.get("sessionID"))
    if session and heard.session is None:
        heard = replace(heard, session=session)
        events.append(Started(session))
    part = table(event, "part")
    match kind:
        case "text":
            heard, more = _said(heard, part)
        case "tool_use":
            heard, more = _call(heard, part)
        case "step_start":
            heard, more = replace(heard, ended=None), []
        case "step_finish":
            heard, more = _step(heard, part)
        case "error":
            heard, more = _error(heard, table(event, "error")), []
        case _:
            more = []
    return heard, [*events, *more]


def finish(heard: Heard, ending: Ending) -> Finished:
    return finished(heard, ending)


def _said(heard: Heard, part: dict[str, Any]) -> tuple[Heard, list[Event]]:
    said, message = text(part.get("text")), text(part.get("messageID"))
    return (heard.saying(said, message), [Said(said)]) if said else (heard, [])


def _call(heard: Heard, part: dict[str, Any]) -> tuple[Heard, list[Event]]:
    """A call and its answer at once: there is no event before the tool is done."""
    tool, call, state = text(part.get("tool")), text(part.get("callID")), table(part, "state")
    events: list[Event] = [Called(tool, call, reading.summary(state.get("input")))]
    error = text(state.get("error"))
    if error.startswith(_DENIALS):
        events.append(Denied(tool, error.partition(" Here are")[0], call))
    failed = state.get("status") != "completed" or bool(table(state, "metadata").get("exit"))
    return heard, [*events, Answered(call, not failed)]


def _step(heard: Heard, part: dict[str, Any]) -> tuple[Heard, list[Event]]:
    """The end of a message, with what it used."""
    tokens, cache = table(part, "tokens"), table(part, "tokens", "cache")
    cached = count(cache.get("read"))
    used = Used(
        count(tokens.get("input")) + count(cache.get("write")) + cached,
        count(tokens.get("output")) + count(tokens.get("reasoning")),
        cached,
        number(part.get("cost")),
    )
    reason = text(part.get("reason"))
    heard = heard.using(text(part.get("messageID")), used)
    ended = _STEPS.get(reason)
    why = None if ended in (None, Reason.COMPLETED) else Fault(reason, ended or Reason.FAILED)
    total = heard.usage
    return replace(heard, ended=ended, fault=why), [] if total is None else [total]


def _error(heard: Heard, error: dict[str, Any]) -> Heard:
    data = table(error, "data")
    status = data.get("statusCode")
    message = text(data.get("message")) or text(error.get("name"))
    why = fault(message, status if type(status) is int else None)
    return replace(heard, ended=why.reason, fault=why)
