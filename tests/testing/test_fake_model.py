"""The fake model server, called over plain HTTP."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse, IncompleteRead, RemoteDisconnected
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.testing.fake_model import FakeModel, Request, Tool, Turn

MESSAGES = "/v1/messages?beta=true"
RESPONSES = "/v1/responses"
CHAT = "/v1/chat/completions"
GEMINI = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
PATIENCE = 60.0  # seconds: a guard against hanging, not a measurement
ASK: dict[str, Any] = {
    "model": "m-1",
    "stream": True,
    "messages": [{"role": "user", "content": "?"}],
}
COMPACT = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is …"


@contextmanager
def ask(
    model: FakeModel, path: str = MESSAGES, body: Any = ASK, *, method: str = "POST", **headers: str
) -> Iterator[HTTPResponse]:
    with closing(HTTPConnection("127.0.0.1", model.port, timeout=PATIENCE)) as connection:
        text = body if isinstance(body, bytes) or body is None else json.dumps(body)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, text, names)
        yield connection.getresponse()


def events(model: FakeModel, path: str = MESSAGES, body: Any = ASK, **headers: str) -> list[Any]:
    with ask(model, path, body, **headers) as answer:
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        return parse_events(answer.read())


def parse_events(stream: bytes) -> list[Any]:
    found = []
    for part in stream.decode().split("\n\n"):
        if part:
            name, data = part.split("\n")
            found.append(json.loads(data.removeprefix("data: ")))
            assert name == f"event: {found[-1]['type']}"
    return found


def chunks_of(model: FakeModel, path: str, body: Any) -> list[Any]:
    """Return the events of a stream whose events have no type."""
    with ask(model, path, body) as answer:
        assert answer.status == 200
        parts = answer.read().decode().split("\n\n")
    return [json.loads(part.removeprefix("data: ")) for part in parts if part]


def whole(model: FakeModel, path: str = MESSAGES, **more: Any) -> Any:
    with ask(model, path, {**ASK, "stream": False, **more}) as answer:
        assert answer.status == 200
        return json.loads(answer.read())


def message(stream: list[Any]) -> dict[str, Any]:
    """Return the message that a client assembles from the events of the Messages API."""
    made: dict[str, Any] = {}
    for event in stream:
        match event["type"]:
            case "message_start":
                made = event["message"]
            case "content_block_start":
                assert event["index"] == len(made["content"])
                made["content"].append(event["content_block"] | {"json": ""})
            case "content_block_delta":
                block = made["content"][event["index"]]
                delta = dict(event["delta"])
                assert delta.pop("type").endswith("_delta")
                for key, value in delta.items():
                    block[{"partial_json": "json"}.get(key, key)] += value
            case "content_block_stop":
                block = made["content"][event["index"]]
                text = block.pop("json")
                if block["type"] == "tool_use":
                    block["input"] = json.loads(text)
            case "message_delta":
                made |= event["delta"] | {"usage": event["usage"]}
    return made


def test_a_turn_of_text_and_tools_is_streamed_as_the_messages_api_does() -> None:
    long = "I look first. " * 20
    calls = [{"tool": "Bash", "input": {"command": "ls"}}, {"tool": "Read", "input": {"n": [1]}}]
    with FakeModel(
        [{"text": long, "tools": calls, "input_tokens": 7, "output_tokens": 3}]
    ) as model:
        stream = events(model)
    kinds = [event["type"] for event in stream]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("content_block_delta") > 3  # a long text comes in pieces
    made = message(stream)
    assert made["model"] == "m-1"
    assert made["stop_reason"] == "tool_use"
    assert (made["usage"]["input_tokens"], made["usage"]["output_tokens"]) == (7, 3)
    text, bash, read = made["content"]
    assert text == {"type": "text", "text": long}
    assert (bash["name"], bash["input"]) == ("Bash", {"command": "ls"})
    assert (read["name"], read["input"]) == ("Read", {"n": [1]})
    assert len({bash["id"], read["id"]}) == 2


def test_the_whole_message_equals_the_streamed_one() -> None:
    turn = {"blocks": [{"thinking": "Hm."}, "So.", {"tool": "Bash", "id": "t1"}]}
    with FakeModel([turn, turn]) as model:
        streamed, piece = message(events(model)), whole(model)
    assert streamed.pop("id") != piece.pop("id")
    assert streamed == piece
    assert [block["type"] for block in piece["content"]] == ["thinking", "text", "tool_use"]


def test_a_turn_is_streamed_as_the_responses_api_does() -> None:
    calls = Tool("exec_command", {"cmd": "ls"}), Tool("apply_patch", "*** Begin Patch")
    turn = Turn(("Look.", *calls), input_tokens=7, output_tokens=3)
    with FakeModel([turn, turn]) as model:
        stream = events(model, RESPONSES, {"model": "m-2", "stream": True, "input": "?"})
        piece = whole(model, RESPONSES)
    assert stream[0]["type"] == "response.created"
    assert stream[-1]["type"] == "response.completed"
    items = [event["item"] for event in stream if event["type"] == "response.output_item.done"]
    assert stream[-1]["response"]["output"] == items
    assert stream[-1]["response"]["usage"]["total_tokens"] == 10
    said, call, custom = items
    assert said["content"][0]["text"] == "Look."
    assert (call["type"], json.loads(call["arguments"])) == ("function_call", {"cmd": "ls"})
    assert (custom["type"], custom["input"]) == ("custom_tool_call", "*** Begin Patch")
    assert [item["type"] for item in piece["output"]] == [item["type"] for item in items]
    deltas = [event["delta"] for event in stream if event["type"].endswith(".delta")]
    assert deltas == ["Look.", '{"cmd": "ls"}', "*** Begin Patch"]


def test_a_turn_is_streamed_as_chat_completions_are() -> None:
    calls = [{"tool": "bash", "input": {"command": "ls"}}, {"tool": "view", "input": {"n": [1]}}]
    turn = {"text": "I look. " * 20, "tools": calls, "input_tokens": 7, "output_tokens": 3}
    with FakeModel([turn, turn, {"status": 429}]) as model:
        chunks = chunks_of(model, CHAT, ASK)
        piece = whole(model, CHAT)
        with ask(model, CHAT) as refusal:
            assert refusal.status == 429
            assert json.loads(refusal.read())["error"]["code"] == "rate_limit_error"
    *deltas, end = (chunk["choices"][0] for chunk in chunks[:-1])
    assert end["finish_reason"] == piece["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[-1]["usage"] == piece["usage"]
    assert (piece["usage"]["prompt_tokens"], piece["usage"]["completion_tokens"]) == (7, 3)
    message = piece["choices"][0]["message"]
    assert "".join(one["delta"].get("content", "") for one in deltas) == message["content"]
    arguments = ["", ""]
    for delta in deltas:
        for call in delta["delta"].get("tool_calls", ()):
            arguments[call["index"]] += call["function"]["arguments"]
    assert [json.loads(one) for one in arguments] == [{"command": "ls"}, {"n": [1]}]
    assert [one["function"]["arguments"] for one in message["tool_calls"]] == arguments


def test_a_turn_is_streamed_as_the_gemini_api_does() -> None:
    call = {"tool": "write_file", "input": {"file_path": "a"}}
    turn = {"blocks": [{"thinking": "Hm."}], "text": "I write. " * 20, **call, "input_tokens": 7}
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "Do it."}]},
            {"role": "model", "parts": [{"text": "I try."}]},
            {"role": "user", "parts": [{"functionResponse": {"response": {"error": "no"}}}]},
        ],
        "systemInstruction": {"parts": [{"text": "SYSTEM"}]},
        "tools": [{"functionDeclarations": [{"name": "write_file"}, {"name": "glob"}]}],
    }
    with FakeModel([turn, turn, {"status": 503}]) as model:
        chunks = chunks_of(model, GEMINI, body)
        with ask(model, GEMINI.replace(":streamG", ":g"), body) as answer:
            (piece,) = json.loads(answer.read())["candidates"]
        with ask(model, GEMINI, body) as refusal:
            assert json.loads(refusal.read())["error"]["status"] == "UNAVAILABLE"
        # A question which model is to be used has no tools, and uses up no turn.
        with ask(model, GEMINI.replace(":streamG", ":g"), {**body, "tools": []}) as routed:
            (route,) = json.loads(routed.read())["candidates"]
            assert "model_choice" in json.loads(route["content"]["parts"][0]["text"])
        asked, *_, aside = model.requests
    candidates = [chunk["candidates"][0] for chunk in chunks]
    assert [one.get("finishReason") for one in candidates][-2:] == [None, "STOP"]
    assert chunks[-1]["usageMetadata"]["promptTokenCount"] == 7
    parts = [part for one in candidates for part in one["content"]["parts"]]
    thought, said, called = piece["content"]["parts"]
    assert parts[0] == thought == {"text": "Hm.", "thought": True}
    assert "".join(part.get("text", "") for part in parts[1:]) == said["text"]
    assert called in parts
    assert called["functionCall"] == {"name": "write_file", "args": {"file_path": "a"}}
    assert (asked.kind, asked.model, asked.tools) == ("main", "gemini-x", ["write_file", "glob"])
    assert [text.role for text in asked.texts] == ["system", "user", "assistant", "tool"]
    assert asked.results == '{"error": "no"}'
    assert (aside.kind, aside.is_streamed) == ("aside", False)


@settings(max_examples=30)
@given(
    text=st.text(st.characters(codec="utf-8")),
    data=st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers() | st.booleans()),
)
def test_any_text_and_any_input_arrive_whole(text: str, data: dict[str, Any]) -> None:
    step = {"blocks": [text, {"tool": "T", "input": data}]}
    with FakeModel([step, step]) as model:
        said, call = message(events(model))["content"]
        item, function = events(model, RESPONSES)[-1]["response"]["output"]
    assert (said["text"], call["input"]) == (text, data)
    assert (item["content"][0]["text"], json.loads(function["arguments"])) == (text, data)


def test_ids_are_unique_in_a_script_and_among_servers() -> None:
    ids = []
    for _ in range(2):
        with FakeModel(lambda _: {"tools": [{"tool": "A"}, {"tool": "B"}]}) as model:
            for _ in range(2):
                ids += [block["id"] for block in whole(model)["content"]]
    assert len(set(ids)) == 8


def test_side_requests_are_answered_without_a_turn() -> None:
    with FakeModel(["the only turn"]) as model:
        with socket.create_connection(("127.0.0.1", model.port)) as raw:
            raw.sendall(b"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n")
            head, _, rest = b"".join(iter(lambda: raw.recv(4096), b"")).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert rest == b""
        with ask(model, "/v1/messages/count_tokens?beta=true", ASK) as answer:
            assert json.loads(answer.read())["input_tokens"] > 0
        with ask(model, "/v1/models", None, method="GET") as answer:
            assert answer.status == 404
        assert [one.kind for one in model.requests] == ["other", "count", "other"]
        assert model.left == 1


def test_a_connection_is_used_again() -> None:
    with (
        FakeModel(["one", "two"]) as model,
        closing(HTTPConnection("127.0.0.1", model.port, timeout=PATIENCE)) as connection,
    ):
        for text in ("one", "two"):
            connection.request("POST", MESSAGES, json.dumps(ASK))
            made = message(parse_events(connection.getresponse().read()))
            assert made["content"][0]["text"] == text


def test_requests_are_recorded_without_keys(tmp_path: Path) -> None:
    with FakeModel(log=tmp_path / "log") as model:
        events(model, x_api_key="sk-secret", Authorization="Bearer sk-secret", X_Run="42")
        (kept,) = model.requests
    assert (kept.method, kept.path, kept.body) == ("POST", MESSAGES, ASK)
    assert kept.headers["x-run"] == "42"
    assert {"x-api-key", "authorization"} <= kept.headers.keys()
    assert "secret" not in str(kept.headers)
    (file,) = (tmp_path / "log").iterdir()
    logged = json.loads(file.read_text())
    assert logged["body"] == ASK
    assert logged["kind"] == "main"
    assert "secret" not in file.read_text()


def test_the_text_of_a_request_can_be_read() -> None:
    result = {"type": "tool_result", "content": [{"type": "text", "text": "R1"}]}
    anthropic: dict[str, Any] = {
        "system": [{"type": "text", "text": "S1"}],
        "messages": [
            {"role": "user", "content": "U1"},
            {"role": "assistant", "content": [{"type": "text", "text": "A1"}]},
            {"role": "user", "content": [result, {"type": "text", "text": "U2"}]},
            {"role": "system", "content": "S2"},
        ],
        "tools": [{"name": "Bash"}, {"type": "web_search"}],
    }
    openai: dict[str, Any] = {
        "instructions": "S1",
        "input": [
            {"role": "developer", "content": [{"type": "input_text", "text": "D1"}]},
            {"role": "user", "content": [{"type": "input_text", "text": "U1"}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "A1"}]},
            {"type": "function_call_output", "call_id": "c", "output": "R1"},
        ],
    }
    with FakeModel() as model:
        whole(model, **anthropic)
        whole(model, RESPONSES, **openai)
        first, second = model.requests
    assert first.given.split() == ["S1", "U1", "U2", "S2"]
    assert first.results == "R1"
    assert first.tools == ["Bash", "web_search"]
    # `whole` also sends messages, which Responses has none of.
    assert second.given.split() == ["S1", "?", "D1", "U1"]
    assert second.results == "R1"
    assert ("assistant", "A1") in second.texts


def test_subagents_and_compactions_use_no_turn_of_the_main_script() -> None:
    compact = [*ASK["messages"], {"role": "user", "content": [{"type": "text", "text": COMPACT}]}]
    codex = "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary"
    with FakeModel(["main one", "main two"], subagent=["sub"], summary="in short") as model:

        def answer_text(path: str = MESSAGES, **more: Any) -> str:
            answer = whole(model, path, **more)
            block = (
                answer["content"][0] if "content" in answer else answer["output"][0]["content"][0]
            )
            return str(block["text"])

        assert answer_text() == "main one"
        assert answer_text(messages=compact) == "in short"
        assert answer_text(RESPONSES, messages=[], input=codex) == "in short"
        sub = message(events(model, x_claude_code_agent_id="a1"))
        assert sub["content"][0]["text"] == "sub"
        assert model.left == 1
        assert answer_text() == "main two"
        assert answer_text() == "Done."  # past the end, so that an agent ends
        kinds = [one.kind for one in model.requests]
        assert kinds == ["main", "compaction", "compaction", "subagent", "main", "main"]
        assert [one.number for one in model.list_requests("compaction")] == [2, 3]
        assert len(model.list_requests()) == 3
        assert model.requests[3].agent == "a1"


def test_only_the_last_message_asks_for_a_summary() -> None:
    quoted = [{"role": "user", "content": COMPACT}, {"role": "user", "content": "go on"}]
    with FakeModel(["a turn"]) as model:
        assert whole(model, messages=quoted)["content"][0]["text"] == "a turn"


def test_a_script_can_be_a_function_of_the_request() -> None:
    def script(request: Request) -> str:
        return f"{request.number}: {request.given}"

    with FakeModel(script) as model:
        assert whole(model)["content"][0]["text"] == "1: ?"
        assert whole(model)["content"][0]["text"] == "2: ?"


def test_an_exception_of_the_script_is_raised_on_close() -> None:
    def script(request: Request) -> str:
        raise KeyError("no such turn")

    with (
        pytest.raises(KeyError, match="no such turn"),
        FakeModel(script) as model,
        ask(model) as answer,
    ):
        assert answer.status == 403
        assert "no such turn" in answer.read().decode()


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ({"txet": "x"}, "no field txet"),
        ({"tools": [{"name": "Bash"}]}, "not a block of a turn"),
        ({"blocks": [{"text": "x", "tool": "y"}]}, "not a block of a turn"),
        (7, "a string or an object"),
    ],
)
def test_a_mistake_in_a_script_is_reported_at_once(step: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        FakeModel(["fine", step])


def test_an_error_status_has_its_headers_and_the_format_of_the_api() -> None:
    fault = {"status": 429, "headers": {"retry-after": "2"}, "message": "slow down"}
    with FakeModel([fault, fault, "then"]) as model:
        with ask(model) as answer:
            assert (answer.status, answer.headers["retry-after"]) == (429, "2")
            error = {"type": "rate_limit_error", "message": "slow down"}
            assert json.loads(answer.read()) == {"type": "error", "error": error}
        with ask(model, RESPONSES) as answer:
            assert answer.status == 429
            assert json.loads(answer.read())["error"]["message"] == "slow down"
        assert whole(model)["content"][0]["text"] == "then"


def test_a_connection_can_be_dropped() -> None:
    with FakeModel([{"drop": True}]) as model, pytest.raises(RemoteDisconnected), ask(model):
        pass


def test_an_error_can_come_inside_the_stream() -> None:
    fault = {"text": "partial", "error": "overloaded_error", "message": "too much"}
    with FakeModel([fault, fault, {**fault, "after": 1}]) as model:
        stream = events(model)
        assert stream[-1] == {
            "type": "error",
            "error": {"type": "overloaded_error", "message": "too much"},
        }
        assert stream[-2]["type"] == "content_block_stop"
        stream = events(model, RESPONSES)
        assert stream[-1]["type"] == "response.failed"
        assert stream[-1]["response"]["error"]["message"] == "too much"
        assert [event["type"] for event in events(model)] == ["message_start", "error"]


def test_a_stream_can_be_cut_off() -> None:
    cut = {"text": "partial", "cut": True}
    with FakeModel([cut, {**cut, "after": 2}]) as model:
        for last in ("content_block_stop", "ping"):
            with ask(model) as answer, pytest.raises(IncompleteRead) as caught:
                answer.read()
            assert parse_events(caught.value.partial)[-1]["type"] == last


def test_pauses_come_before_the_answer_and_between_events() -> None:
    with FakeModel([{"text": "x", "before": 0.3}, {"text": "x", "between": 0.1}]) as model:
        begin = time.monotonic()
        with ask(model) as answer:
            assert time.monotonic() - begin >= 0.3
            answer.read()
        begin = time.monotonic()
        with ask(model) as answer:
            answer.readline()
            first = time.monotonic() - begin
            answer.read()
        assert time.monotonic() - begin >= first + 0.5


@settings(max_examples=40)
@given(
    body=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["system", "messages", "input", "content", "text", "role", "type", "stream"]
                ),
                inner | st.just("tool_result") | st.just("x_call_output"),
            )
        ),
    ).map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=20)
    | st.just(b"[" * 100_000)
)
def test_any_body_gets_an_answer(body: bytes) -> None:
    with FakeModel() as model:
        for path in (MESSAGES, RESPONSES, "/v1/messages/count_tokens"):
            with ask(model, path, body) as answer:
                assert answer.status in (200, 400)
                answer.read()
        assert all(one.given is not None for one in model.requests)


def test_a_script_answers_one_request_at_a_time() -> None:
    turns = 0

    def script(_: Request) -> str:
        nonlocal turns
        mine = turns
        time.sleep(0.002)
        turns = mine + 1
        return str(mine)

    with FakeModel(script) as model, ThreadPoolExecutor(12) as pool:
        got = list(pool.map(lambda _: whole(model)["content"][0]["text"], range(60)))
        assert sorted(got, key=int) == [str(number) for number in range(60)]
        assert [one.number for one in model.requests] == list(range(1, 61))


def _descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_closing_leaves_no_thread_and_no_socket() -> None:
    before = set(threading.enumerate())
    descriptors = _descriptors()
    with FakeModel(
        [{"text": "x", "before": PATIENCE}, {"text": "x", "between": PATIENCE}]
    ) as model:
        idle = socket.create_connection(("127.0.0.1", model.port))
        waiting = [HTTPConnection("127.0.0.1", model.port, timeout=PATIENCE) for _ in range(2)]
        for connection in waiting:
            connection.request("POST", MESSAGES, json.dumps(ASK))
        while len(model.requests) < 2:
            time.sleep(0.01)
        begin = time.monotonic()
    assert time.monotonic() - begin < PATIENCE / 2  # not the pauses of the script
    assert set(threading.enumerate()) == before
    assert idle.recv(1) == b""
    idle.close()
    for connection in waiting:
        connection.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", model.port))
    assert _descriptors() == descriptors
    model.close()  # a second call does nothing


def test_the_command_serves_until_a_signal(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"script": ["from a file"], "summary": "in short"}))
    command = [sys.executable, "-m", "kedge.testing.fake_model", "0", str(script)]
    child = subprocess.Popen([*command, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child:
        url = child.stdout.readline().strip()
        with closing(HTTPConnection(url.removeprefix("http://"), timeout=PATIENCE)) as connection:
            connection.request("POST", MESSAGES, json.dumps({**ASK, "stream": False}))
            made = json.loads(connection.getresponse().read())
            child.send_signal(signal.SIGTERM)
            assert child.wait(10) == 0
    assert made["content"][0]["text"] == "from a file"
    assert [file.name for file in (tmp_path / "log").iterdir()] == ["0001.json"]


@pytest.mark.parametrize(
    ("args", "text", "code", "says"),
    [
        ([], "", 2, "usage: "),
        (["x", "s", "l"], "", 2, "usage: "),
        (["0", "missing.json", "l"], "", 1, "missing.json"),
        (["0", "s", "l"], "[{]", 1, "error: "),
        (["0", "s", "l"], '{"scripts": []}', 1, "scripts"),
        (["0", "s", "l"], '[{"txet": 1}]', 1, "txet"),
        (["99999", "s", "l"], "[]", 1, "error: "),
    ],
)
def test_the_command_reports_errors_in_one_line(
    tmp_path: Path, args: list[str], text: str, code: int, says: str
) -> None:
    (tmp_path / "s").write_text(text)
    command = [sys.executable, "-m", "kedge.testing.fake_model", *args]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert done.returncode == code
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
