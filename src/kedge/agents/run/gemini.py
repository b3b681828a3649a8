"""Gemini CLI: `gemini -o stream-json`, the prompt on standard input.

It has no place for more system text, so that comes before the prompt. It runs in a directory that
the user has told it to trust and nowhere else: what would make it trust any would also run what
the repository's own settings say.
"""

from __future__ import annotations

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
from kedge.agents.run.heard import (
    LONGEST,
    Ending,
    Heard,
    count,
    finished,
    last_words,
    record,
    table,
    text,
)
from kedge.agents.run.order import Launch, Order, spoken
from kedge.host.running import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "gemini"

_CODES = {41: Reason.AUTH, 53: Reason.MAX_TURNS, 55: Reason.NOT_STARTED, 130: Reason.KILLED}
_DENIED = ("policy_violation", "tool_not_registered")


def launch(order: Order) -> Launch:
    mode = "yolo" if order.permissions.full else "auto_edit"
    argv = [*order.program, "-o", "stream-json", "--approval-mode", mode]
    if not order.permissions.full:
        # At a comma a rule would end, and what follows be a rule of its own.
        rules = [one for one in order.permissions.prefixes if "," not in one]
        argv += [f"--allowed-tools=run_shell_command({one})" for one in rules]
    if order.model:
        argv += ["--model", order.model]
    if order.session:
        argv += ["--session-id", order.session]
    return Launch(tuple(argv), spoken(order.system, order.prompt), {})


def follow(heard: Heard, line: Line) -> tuple[Heard, list[Event]]:
    if line.error:
        return heard, []
    event = record(line.data)
    match event.get("type"):
        case "init":
            session, model = text(event.get("session_id")), text(event.get("model")) or None
            return replace(heard, session=session, model=model), [Started(session, model)]
        case "message" if event.get("role") == "assistant":
            return _message(heard, event)
        case "tool_use":
            return _call(*_flushed(heard), event)
        case "tool_result":
            return _answer(heard, event)
        case "error" if event.get("severity") == "error":
            return replace(heard, fault=fault(text(event.get("message")))), []
        case "result":
            return _result(*_flushed(heard), event)
        case _:
            return heard, []


def finish(heard: Heard, ending: Ending) -> Finished:
    heard, _ = _flushed(heard)
    reason = _CODES.get(ending.ended.code)
    if reason and ending.ended.stopped is None:
        why = heard.fault or Fault(last_words(ending.ended.errors), reason)
        heard = replace(heard, ended=reason, fault=why)
    return finished(heard, ending)


def _message(heard: Heard, event: dict[str, Any]) -> tuple[Heard, list[Event]]:
    """A message, or a piece of one: it ends where a tool is called, or the run."""
    said = text(event.get("content"))
    if event.get("delta") is True:
        return replace(heard, message=(heard.message + said)[-LONGEST:]), []
    heard, events = _flushed(heard)
    return replace(heard, text=said), [*events, Said(said)]


def _flushed(heard: Heard) -> tuple[Heard, list[Event]]:
    """With the message whole that came in pieces."""
    said = heard.message
    if not said.strip():
        return replace(heard, message=""), []
    return replace(heard, message="", text=said), [Said(said)]


def _call(heard: Heard, events: list[Event], event: dict[str, Any]) -> tuple[Heard, list[Event]]:
    call, tool = text(event.get("tool_id")), text(event.get("tool_name"))
    called = Called(tool, call, reading.summary(event.get("parameters")))
    return heard.calling(call, tool), [*events, called]


def _answer(heard: Heard, event: dict[str, Any]) -> tuple[Heard, list[Event]]:
    call, error = text(event.get("tool_id")), table(event, "error")
    events: list[Event] = []
    if error.get("type") in _DENIED:
        events.append(Denied(heard.calls.get(call, ""), text(error.get("message")), call))
    events.append(Answered(call, event.get("status") == "success"))
    return heard.answered(call), events


def _result(heard: Heard, events: list[Event], event: dict[str, Any]) -> tuple[Heard, list[Event]]:
    stats = table(event, "stats")
    used = Used(
        count(stats.get("input_tokens")),
        count(stats.get("output_tokens")),
        count(stats.get("cached")),
    )
    events = [*events, used]
    if event.get("status") == "success":
        return replace(heard, total=used, ended=Reason.COMPLETED, fault=None), events
    error = table(event, "error")
    why = fault(text(error.get("message"))) if error else heard.fault or fault("no reason given")
    return replace(heard, total=used, ended=why.reason, fault=why), events
