"""A fault of kedge in the middle of a stream: the bytes go on, and the fault is reported."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proxy.playbook import drive, make_stream

from kedge.agents.scripted_model.script import Tool, Turn
from kedge.proxy.exchange import ToolCall
from kedge.proxy.holding import Part
from kedge.proxy.messages import Messages
from kedge.proxy.sse import SseEvent
from kedge.proxy.tap import StreamTap

DATA = make_stream(
    "messages", Turn(("a", Tool("Bash", {"command": "x"}), "b", Tool("Bash", {"command": "y"})))
)


class Failing(Messages):
    """Raises at its n-th call, whichever it is."""

    def __init__(self, left: int) -> None:
        self.left = left

    def count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("a bug")

    def read(self, event: SseEvent) -> Part | None:
        self.count()
        return super().read(event)

    def build_call(self, parts: Sequence[Part]) -> ToolCall | None:
        self.count()
        return super().build_call(parts)

    def rewrite(self, parts: Sequence[Part], call: ToolCall) -> list[bytes]:
        self.count()
        return super().rewrite(parts, call)


@pytest.mark.parametrize("reason", ["", "[kedge] no"])
@given(st.integers(0, 30), st.integers(1, 400))
def test_no_byte_is_lost_wherever_it_fails(reason: str, at: int, size: int) -> None:
    tap = StreamTap(Failing(at), holds=True)
    chunks = [DATA[place : place + size] for place in range(0, len(DATA), size)]
    sent, _, faults = drive(tap, chunks, lambda _: reason)
    if not reason:
        assert sent == DATA
    assert sent.endswith(DATA[-100:])
    assert sent.count(b"event: ") >= 12
    assert len(faults) <= 1
    if at < 5:
        assert faults == ["RuntimeError('a bug')"]
