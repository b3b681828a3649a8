"""Playbooks: which bytes pass when, which calls are judged, and what a refused call becomes."""

from __future__ import annotations

import itertools
import json
import subprocess
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proxy.playbook import (
    APIS,
    DIALECTS,
    assemble,
    drive,
    make_stream,
    parse_stream,
    play,
    write_stream,
)

from kedge.agents.scripted_model.script import Thinking, Tool, Turn
from kedge.proxy import holding, refusals
from kedge.proxy.exchange import ToolCall
from kedge.proxy.holding import State
from kedge.proxy.sse import SseReader
from kedge.proxy.tap import StreamTap

both = pytest.mark.parametrize("api", ["messages", "responses"])
REASON = "[kedge] That's against: \"don't touch db\"\nGo back."

TEXTS = st.text(max_size=90)
INPUTS = st.dictionaries(TEXTS, TEXTS | st.integers() | st.lists(TEXTS, max_size=2), max_size=3)
NAMES = st.sampled_from(["Bash", "Write", "exec_command", "apply_patch"])
TOOLS = st.builds(Tool, NAMES, INPUTS) | st.builds(Tool, st.just("apply_patch"), TEXTS)
BLOCKS = st.lists(TEXTS | st.builds(Thinking, TEXTS) | TOOLS, max_size=5)
STYLES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"ensure_ascii": False}, {"separators": (",", ":")}]
)
PINGS = st.sampled_from([b"", b": ping\n\n", b'event: ping\ndata: {"type": "ping"}\n\n', b"\n"])


@st.composite
def streams(draw: st.DrawFn, api: str) -> tuple[bytes, list[bytes]]:
    """A legal stream with pings and comments between its events, and a chunking of it."""
    data = make_stream(api, Turn(tuple(draw(BLOCKS))), **draw(STYLES))
    events = [event + b"\n\n" for event in data.split(b"\n\n")[:-1]]
    data = b"".join(draw(PINGS) + event for event in events)
    if draw(st.booleans()):
        data = data.replace(b"\n", b"\r\n")
    places = draw(st.lists(st.integers(0, len(data))))
    marks = sorted({*places, 0, len(data)})
    return data, [data[a:b] for a, b in itertools.pairwise(marks)]


@both
@given(st.data())
def test_nothing_to_say_leaves_every_byte_as_it_was(api: str, pick: st.DataObject) -> None:
    data, chunks = pick.draw(streams(api))
    played = play(DIALECTS[api], chunks)
    assert played.sent == data
    assert played.faults == []
    calls = [block for block in assemble(api, data) if block["type"] in CALLS]
    assert [call.id for call in played.judged] == [
        item.get("call_id", item["id"]) for item in calls
    ]
    watched = play(DIALECTS[api], chunks, state=State(holds=False))
    assert watched.sent == data
    assert watched.observed == played.judged
    assert watched.judged == []


@both
@given(st.data())
def test_a_tap_that_skips_text_finds_the_same_calls(api: str, pick: st.DataObject) -> None:
    data, chunks = pick.draw(streams(api))
    refused = pick.draw(st.sets(st.integers(0, 5)))
    for holds in (True, False):
        seen: list[ToolCall] = []

        def refuse(call: ToolCall) -> str:
            seen.append(call)  # noqa: B023 - played at once
            return REASON if len(seen) in refused else ""  # noqa: B023

        played = play(DIALECTS[api], [data], refuse, State(holds))
        seen = []
        sent, calls, faults = drive(StreamTap(DIALECTS[api], holds=holds), chunks, refuse)
        assert (calls, faults) == (played.judged or played.observed, [])
        if holds and played.sent != data:
            assert parse_stream(sent) == parse_stream(played.sent)
        else:
            assert sent == data


CALLS = ("tool_use", "function_call", "custom_tool_call")


def get_id(block: dict[str, Any]) -> str:
    """Return the id of a call, by which its verdict is known."""
    return str(block.get("call_id", block.get("id")))


@both
@given(st.data())
def test_a_refusal_changes_the_refused_blocks_alone(api: str, pick: st.DataObject) -> None:
    data, chunks = pick.draw(streams(api))
    refused: set[str] = set()

    def refuse(call: ToolCall) -> str:
        if pick.draw(st.booleans()):
            refused.add(call.id)
            return REASON
        return ""

    played = play(DIALECTS[api], chunks, refuse)
    before, after = assemble(api, data), assemble(api, played.sent)
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        if old["type"] not in CALLS or get_id(old) not in refused:
            assert old == new
            continue
        assert old != new
        for key in ("id", "call_id", "type", "status"):
            assert new.get(key) == old.get(key)
    ends = [stream[stream.rindex(b"event: ") :] for stream in (data, played.sent)]
    if api == "messages" or not refused:
        assert ends[0] == ends[1]
    if not refused:
        assert played.sent == data


@both
@given(st.data())
def test_a_stream_that_breaks_off_anywhere_comes_out_as_far_as_it_came(
    api: str, pick: st.DataObject
) -> None:
    data, _ = pick.draw(streams(api))
    data = data[: pick.draw(st.integers(0, len(data)))]
    assert play(DIALECTS[api], [data]).sent == data


@both
@given(st.binary(max_size=80), st.data())
def test_garbage_and_truncated_json_pass(api: str, junk: bytes, pick: st.DataObject) -> None:
    data, _ = pick.draw(streams(api))
    at = pick.draw(st.integers(0, len(data)))
    data = data[:at] + junk + data[at + pick.draw(st.integers(0, 20)) :]
    assert play(DIALECTS[api], [data]).sent == data


@both
@given(st.data())
def test_events_in_any_order_pass(api: str, pick: st.DataObject) -> None:
    data, _ = pick.draw(streams(api))
    events = pick.draw(st.permutations(data.split(b"\n\n")))
    shuffled = b"\n\n".join(events)
    assert play(DIALECTS[api], [shuffled]).sent == shuffled


@both
def test_text_passes_before_the_call_after_it_is_judged(api: str) -> None:
    turn = Turn((Thinking("why"), "I look.", Tool("Bash", {"command": "ls"}, id="one"), "More."))
    played = play(DIALECTS[api], [make_stream(api, turn)])
    at = played.log.index("judge one")
    before, after = "".join(played.log[:at]), "".join(played.log[at + 1 :])
    assert "I look." in before
    assert "why" in before
    assert '"one"' not in before
    assert '"one"' in after.split("More.")[0]


@both
def test_nothing_is_sent_while_a_call_is_held(api: str) -> None:
    data = make_stream(api, Turn((Tool("Bash", {"command": "x" * 500}, id="one"),)))
    start, stop = {
        "messages": (b"event: content_block_start", b"event: content_block_stop"),
        "responses": (b"event: response.output_item.added", b"event: response.output_item.done"),
    }[api]
    held = data[: data.index(stop)]
    assert play_open(api, held) == data[: data.index(start)]


def play_open(api: str, data: bytes) -> bytes:
    """Return what is sent of a stream that goes on."""
    sent = b""
    state = State()
    for event in SseReader().feed(data):
        state, commands = holding.step(DIALECTS[api], state, event)
        for command in commands:
            sent += getattr(command, "data", b"")
    return sent


@both
def test_parallel_calls_are_judged_one_by_one(api: str) -> None:
    tools = tuple(Tool("Bash", {"command": f"echo {name}"}, id=name) for name in "abc")
    data = make_stream(api, Turn(tools))
    played = play(DIALECTS[api], [data], lambda call: REASON if call.id == "b" else "")
    assert [call.id for call in played.judged] == ["a", "b", "c"]
    first, second, third = assemble(api, played.sent)
    original = assemble(api, data)
    assert [first, third] == [original[0], original[2]]
    assert "echo b" not in json.dumps(second)
    assert "[kedge]" in json.dumps(second)
    assert played.log.index("judge b") > played.log.index("judge a") + 1, "a is released first"


def test_interleaved_calls_are_released_together() -> None:
    tools = tuple(Tool("Bash", {"command": name}, id=name) for name in "ab")
    events = parse_stream(make_stream("messages", Turn(tools)))
    by_index = [[e for e in events if e.get("index") == at] for at in (0, 1)]
    order = [by_index[0][0], by_index[1][0], *by_index[0][1:], *by_index[1][1:]]
    mixed = write_stream(order)
    assert play(DIALECTS["messages"], [mixed]).sent == mixed
    refused = play(DIALECTS["messages"], [mixed], lambda call: REASON if call.id == "a" else "")
    assert b'"a\\"' not in refused.sent
    assert b"[kedge]" in refused.sent
    assert [event["index"] for event in parse_stream(refused.sent)] == [0, 0, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("tool", "given", "field"),
    [
        ("Bash", {"command": "rm x", "timeout": 5}, "command"),
        ("bash", {"command": "rm x"}, "command"),
        ("exec_command", {"cmd": "rm x", "workdir": "/w"}, "cmd"),
        ("shell", {"command": ["bash", "-lc", "rm x"]}, "command"),
    ],
)
def test_a_refused_shell_call_prints_the_reason_and_fails(
    tool: str, given: dict[str, Any], field: str
) -> None:
    other = refusals.replace_call(ToolCall("1", tool, given), REASON)
    assert (other.id, other.tool) == ("1", tool)
    assert {**other.input, field: ""} == {**given, field: ""}
    command = other.input[field]
    argv = command if isinstance(command, list) else ["sh", "-c", command]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", REASON + "\n")


@given(st.text())
def test_no_reason_can_run_anything(reason: str) -> None:
    line = refusals.write_failure(reason)
    inner = line.removeprefix("printf '%s\\n' ").removesuffix(" >&2; exit 1")
    assert "'" not in inner[1:-1].replace("'\\''", "")


def test_any_other_refused_call_names_a_tool_that_does_not_exist() -> None:
    for call in (
        ToolCall("1", "Write", {"file_path": "x"}),
        ToolCall("1", "apply_patch", "*** Begin Patch"),
        ToolCall("1", "Bash", {"run": "x"}),
        ToolCall("1", "Bash", None),
    ):
        assert refusals.replace_call(call, REASON) == call._replace(tool=refusals.UNKNOWN_TOOL)


@both
def test_a_call_that_is_too_long_is_released(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "LARGEST", 2000)
    data = make_stream(api, Turn((Tool("Bash", {"command": "x" * 5000}),)))
    played = play(DIALECTS[api], [data], lambda _: REASON)
    assert played.sent == data
    assert played.judged == []
    assert "2000 bytes" in played.faults[0]


def test_a_call_cut_off_by_the_token_limit_is_released() -> None:
    data = make_stream("messages", Turn((Tool("Bash", {"command": "echo"}, id="one"),)))
    data = data.replace(b'\\"echo\\"}', b'\\"ec')
    played = play(DIALECTS["messages"], [data], lambda _: REASON)
    assert (played.sent, played.judged) == (data, [])


@both
def test_a_call_of_megabytes_takes_linear_time(api: str) -> None:
    turn = Turn((Tool("Write", {"file_path": "x", "content": "y" * 2_000_000}),))
    data = make_stream(api, turn)
    start = time.process_time()
    assert play(DIALECTS[api], [data]).sent == data
    assert time.process_time() - start < 15


@both
@given(st.data())
def test_calls_in_an_answer_that_is_not_streamed(api: str, pick: st.DataObject) -> None:
    dialect = DIALECTS[api]
    body = APIS[api].make_body(Turn(tuple(pick.draw(BLOCKS))), "fake", "x")
    data = json.dumps(body, **pick.draw(STYLES)).encode()
    calls = dialect.list_calls(data)
    field = "content" if api == "messages" else "output"
    items = [item for item in body[field] if item["type"] in CALLS]
    assert [call.id for call in calls] == [get_id(item) for item in items]
    assert dialect.replace_calls(data, []) == data
    changed = [refusals.replace_call(call, REASON) for call in calls if pick.draw(st.booleans())]
    after = json.loads(dialect.replace_calls(data, changed))
    ids = {call.id for call in changed}
    for old, new in zip(body[field], after[field], strict=True):
        assert (old == new) == (get_id(old) not in ids)
    assert {**after, field: 0} == {**body, field: 0}


@both
def test_a_block_that_starts_again_after_a_refusal_is_not_replaced_by_it(api: str) -> None:
    first = make_stream(api, Turn((Tool("Bash", {"command": "a"}, id="a"),)))
    again = make_stream(api, Turn((Tool("Bash", {"command": "b"}, id="b"),)))
    played = play(DIALECTS[api], [first, again], lambda call: REASON if call.id == "a" else "")
    assert played.sent.endswith(again)
    assert "starts twice" in played.faults[0]
