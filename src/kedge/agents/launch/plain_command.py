"""Any program as an agent: it gets the prompt on standard input, and prints its last message.

Its permissions and its cost are unknown. Its exit code says whether it succeeded.
"""

from __future__ import annotations

from collections.abc import Iterator

from kedge.agents.launch.events import Event, Finished, Output
from kedge.agents.launch.invocation import Invocation, Launch, encode_stdin
from kedge.agents.launch.stream_state import LONGEST, ProcessEnd, StreamState, make_finished
from kedge.host.running import Line

NAME = "command"
MARK = b""  # each line is a part of the last message

_LONGEST_LINE = 2000  # bytes that are shown
_PIECE = 10_000  # characters to collect before they are appended to the text


def launch(invocation: Invocation) -> Launch:
    return Launch(invocation.program, encode_stdin(invocation.system, invocation.prompt), {})


def follow(stream: StreamState, line: Line) -> Iterator[Event]:
    if stream.session is None:
        yield stream.start("")
    text = line.data[:_LONGEST_LINE].decode("utf-8", "replace")
    if text.strip():
        yield Output(text)
    if not line.error:
        stream.message += line.data[-LONGEST:].decode("utf-8", "replace") + "\n"
        if len(stream.message) > _PIECE:
            _join(stream)


def finish(stream: StreamState, end: ProcessEnd) -> Finished:
    _join(stream)
    stream.text = stream.text.strip("\n")
    if end.ended.stopped is None and end.ended.code >= 0:
        stream.end()  # unless the exit code says otherwise
    return make_finished(stream, end)


def _join(stream: StreamState) -> None:
    stream.text, stream.message = (stream.text + stream.message)[-LONGEST:], ""
