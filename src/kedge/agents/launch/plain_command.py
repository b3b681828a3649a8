"""Any program as an agent: it gets the prompt on standard input, and prints its last message.

Its permissions and its cost are unknown. Its exit code says whether it succeeded.
"""

from __future__ import annotations

from dataclasses import replace

from kedge.agents.launch.events import Event, Finished, Reason, Started
from kedge.agents.launch.invocation import Invocation, Launch, encode_stdin
from kedge.agents.launch.stream_state import LONGEST, ProcessEnd, StreamState, make_finished
from kedge.host.running import Line

NAME = "command"

_PIECE = 10_000  # characters to collect before they are appended to the text


def launch(invocation: Invocation) -> Launch:
    return Launch(invocation.program, encode_stdin(invocation.system, invocation.prompt), {})


def follow(stream: StreamState, line: Line) -> tuple[StreamState, list[Event]]:
    events: list[Event] = []
    if stream.session is None:
        stream = replace(stream, session="")
        events.append(Started(""))
    if line.error:
        return stream, events
    text = line.data[-LONGEST:].decode("utf-8", "replace")
    stream = replace(stream, message=f"{stream.message}{text}\n")
    return _join(stream) if len(stream.message) > _PIECE else stream, events


def finish(stream: StreamState, end: ProcessEnd) -> Finished:
    ended, stream = end.ended, _join(stream)
    if ended.stopped is None and ended.code >= 0:
        stream = replace(stream, ended=Reason.COMPLETED)  # unless the exit code says otherwise
    return make_finished(replace(stream, text=stream.text.strip("\n")), end)


def _join(stream: StreamState) -> StreamState:
    return replace(stream, message="", text=(stream.text + stream.message)[-LONGEST:])
