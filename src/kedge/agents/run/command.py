"""Any program as an agent: the prompt on standard input, its output is its last message.

What it may do, and what it costs, it keeps to itself. Its exit code says whether it is done.
"""

from __future__ import annotations

from dataclasses import replace

from kedge.agents.run.events import Event, Finished, Reason, Started
from kedge.agents.run.heard import LONGEST, Ending, Heard, finished
from kedge.agents.run.order import Launch, Order, spoken
from kedge.host.running import Line

NAME = "command"

_PIECE = 10_000  # characters that are gathered before they are joined to the rest


def launch(order: Order) -> Launch:
    return Launch(order.program, spoken(order.system, order.prompt), {})


def follow(heard: Heard, line: Line) -> tuple[Heard, list[Event]]:
    events: list[Event] = []
    if heard.session is None:
        heard = replace(heard, session="")
        events.append(Started(""))
    if line.error:
        return heard, events
    said = line.data[-LONGEST:].decode("utf-8", "replace")
    heard = replace(heard, message=f"{heard.message}{said}\n")
    return _joined(heard) if len(heard.message) > _PIECE else heard, events


def finish(heard: Heard, ending: Ending) -> Finished:
    ended, heard = ending.ended, _joined(heard)
    if ended.stopped is None and ended.code >= 0:
        heard = replace(heard, ended=Reason.COMPLETED)  # unless the exit code says otherwise
    return finished(replace(heard, text=heard.text.strip("\n")), ending)


def _joined(heard: Heard) -> Heard:
    return replace(heard, message="", text=(heard.text + heard.message)[-LONGEST:])
