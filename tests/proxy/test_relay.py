"""What passes between a client and its provider: everything, byte by byte, and as it comes."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import socket
import sqlite3
import ssl
import struct
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from proxy.conftest import Serve, Server
from proxy.playbook import make_stream
from proxy.upstream import (
    LAST,
    PATIENCE,
    STREAM,
    Got,
    Step,
    Upstream,
    chunk,
    receive_all,
    send_raw,
)

from kedge.agents.scripted_model.script import Tool, Turn
from kedge.proxy.routes import Binding, write_base

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
KEY = "sk-ant-dummy-" + "a1B2c3D4" * 5
GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
BREAK = Tool("Bash", {"command": "rm db/schema.sql"}, id="toolu_1")
READ = Tool("Bash", {"command": "cat src/auth/token.py"}, id="toolu_2")


def ask(port: int, head: str, body: bytes = b"", *, close: bool = True) -> bytes:
    """Send a request with a Host and return the whole answer."""
    lines = [*head.split("\n"), f"Host: 127.0.0.1:{port}"]
    if close:
        lines.append("Connection: close")
    return send_raw(port, "\r\n".join([*lines, "", ""]).encode() + body)


def step_request(port: int, session: str = "s-1", **more: Any) -> bytes:
    """Return a request of Claude Code: a step of a conversation."""
    value = {
        "model": "m",
        "stream": True,
        "tools": [{"name": "Bash"}],
        "messages": [{"role": "user", "content": GOAL}],
        **more,
    }
    body = json.dumps(value).encode()
    head = [
        "POST /v1/messages?beta=true HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"x-api-key: {KEY}",
        "anthropic-version: 2023-06-01",
        f"X-Claude-Code-Session-Id: {session}",
        "Accept-Encoding: gzip, br",
        "Connection: close",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def dechunk(answer: bytes) -> bytes:
    """Return the body of an answer in chunks."""
    rest = answer.partition(b"\r\n\r\n")[2]
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        body, rest = body + rest[:length], rest[length + 2 :]
    return body


def serve_for(serve: Serve, upstream: Upstream, *args: str) -> Server:
    return serve("--upstream", upstream.url, *args)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"])
def test_methods_paths_and_headers_pass(project: Path, serve: Serve, method: str) -> None:
    with Upstream(lambda _: [OK]) as upstream:
        server = serve_for(serve, upstream)
        path = "/v1/a%2Fb//c/..;x/%7Bid%7D?q=%20+&&z=%C3%A9&beta=true"
        head = (
            f"{method} {path} HTTP/1.1\nX-Two: a\nx-two: b\nX-Odd:  sp ace \nAuthorization: {KEY}\n"
            "Keep-Alive: 5\nX-Hop: 1\nTE: trailers\nContent-Length: 3\nConnection: x-hop, close"
        )
        answer = ask(server.port, head, b"\0\xff{", close=False)
        (got,) = upstream.requests
        assert got.line == f"{method} {path} HTTP/1.1"
        assert got.body == b"\0\xff{"
        own = [pair for pair in got.headers if pair[0].lower() not in ("host", "content-length")]
        assert own == [("X-Two", "a"), ("X-Two", "b"), ("X-Odd", "sp ace"), ("Authorization", KEY)]
        assert got.header("host") == [upstream.url.removeprefix("http://")]
        assert answer.endswith(b"\r\n\r\nok")


def test_an_answers_head_passes(project: Path, serve: Serve) -> None:
    head = (
        b"HTTP/1.1 529 Overloaded Indeed\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n"
        b"retry-after: 7\r\nX-RateLimit: 0\r\nKeep-Alive: 5\r\ncontent-length: 3\r\n\r\nno!"
    )
    with Upstream(lambda _: [head]) as upstream:
        server = serve_for(serve, upstream)
        answer = send_raw(server.port, step_request(server.port))
        lines, _, body = answer.partition(b"\r\n\r\n")
        assert body == b"no!"
        assert lines.split(b"\r\n") == [
            b"HTTP/1.1 529 Overloaded Indeed", b"Set-Cookie: a=1", b"Set-Cookie: b=2",
            b"retry-after: 7", b"X-RateLimit: 0", b"content-length: 3", b"Connection: close",
        ]  # fmt: skip
        assert server.errors() == []


@pytest.mark.parametrize(
    ("method", "reply"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\ncontent-length: 1234\r\nx: y\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\nx: y\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nx: y\r\n\r\n"),
    ],
)
def test_answers_without_a_body_pass(
    project: Path, serve: Serve, method: str, reply: bytes
) -> None:
    with Upstream(lambda _: [reply]) as upstream:
        server = serve_for(serve, upstream)
        answer = ask(server.port, f"{method} /v1/models HTTP/1.1")
        assert answer.replace(b"Connection: close\r\n", b"") == reply


def test_a_body_in_chunks_and_one_of_megabytes_pass(project: Path, serve: Serve) -> None:
    with Upstream(lambda _: [OK]) as upstream:
        server = serve_for(serve, upstream)
        head = "POST /v1/files HTTP/1.1\nTransfer-Encoding: chunked"
        ask(server.port, head, chunk(b"xyz") + chunk(b"uvw") + LAST)
        big = os.urandom(1 << 16) * 160
        ask(server.port, f"POST /v1/files HTTP/1.1\nContent-Length: {len(big)}", big)
        first, second = upstream.requests
        assert re.sub(rb"[0-9a-f]+\r\n|\r\n", b"", first.body.replace(LAST, b"")) == b"xyzuvw"
        assert second.body == big
        assert second.header("content-length") == [str(len(big))]


def test_events_pass_as_they_come(project: Path, serve: Serve) -> None:
    events = [b": ping\n\n", b"event: x\ndata: 1\n\n", b"data: {}\r\n\r\n"]
    steps: list[Step] = [STREAM]
    for event in events:
        steps += [chunk(event), 0.3]
    with Upstream(lambda _: [*steps, LAST, "close"]) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        times, body = [], b""
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
            connection.sendall(step_request(server.port))
            for data in receive_all(connection):
                times.append(time.monotonic())
                body += data
        assert dechunk(body) == b"".join(events)
        assert times[-1] - times[0] > 0.5, "the first bytes came long before the last ones"
        assert server.errors() == []


def test_text_passes_while_the_call_behind_it_is_still_written(project: Path, serve: Serve) -> None:
    data = make_stream("messages", Turn(("I clear it away.", BREAK)))
    at = data.index(b"event: content_block_stop", data.index(b"tool_use"))
    with Upstream(lambda _: [STREAM, chunk(data[:at]), 1.0, chunk(data[at:]), LAST]) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
            connection.sendall(step_request(server.port))
            early = b""
            while b"away." not in early:
                early += connection.recv(1 << 16)
            seen = time.monotonic()
            late = b"".join(receive_all(connection))
            assert time.monotonic() - seen > 0.7
        assert b"tool_use" not in early
        assert b"[kedge]" in late
        assert b"rm db/schema.sql" not in early + late
        (step,) = server.steps()
        assert step["decision"] == "deny"


def test_a_stream_with_nothing_to_say_is_the_same_to_the_byte(project: Path, serve: Serve) -> None:
    data = make_stream("messages", Turn(("I look.", READ, Tool("Read", {"file_path": "x"}))))
    pieces = [data[at : at + 7] for at in range(0, len(data), 7)]
    with Upstream(lambda _: [STREAM, *map(chunk, pieces), LAST]) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        assert dechunk(send_raw(server.port, step_request(server.port))) == data
        (got,) = upstream.requests
        assert got.header("accept-encoding") == ["identity"]
        assert got.header("x-api-key") == [KEY]
        assert got.line == "POST /v1/messages?beta=true HTTP/1.1"
        assert got.body == step_request(server.port).partition(b"\r\n\r\n")[2]
        assert len(server.steps()) == 2


def test_an_answer_that_is_not_streamed_is_judged(project: Path, serve: Serve) -> None:
    body: dict[str, Any] = {
        "content": [{"type": "text", "text": "é"}, block(READ), block(BREAK)],
        "x": 1,
    }
    data = json.dumps(body, indent=1).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    with Upstream(lambda _: [head % len(data) + data]) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        answer = send_raw(server.port, step_request(server.port, stream=False))
        lines, _, got = answer.partition(b"\r\n\r\n")
        assert b"content-length: %d\r\n" % len(got) in lines.lower() + b"\r\n"
        before = data.index(b'"toolu_1"')
        assert got[:before] == data[:before]
        assert b"[kedge]" in got
        assert json.loads(got)["content"][:2] == body["content"][:2]


def block(tool: Tool) -> dict[str, Any]:
    return {"type": "tool_use", "id": tool.id, "name": tool.name, "input": tool.input}


def test_a_compressed_answer_passes_and_is_observed(project: Path, serve: Serve) -> None:
    """It was not asked for; then calls can be recorded, but not refused."""
    data = gzip.compress(make_stream("messages", Turn((BREAK,))))
    head = STREAM.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
    with Upstream(lambda _: [head, chunk(data[:50]), chunk(data[50:]), LAST]) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        answer = send_raw(server.port, step_request(server.port))
        assert b"content-encoding: gzip" in answer
        assert dechunk(answer) == data
        wait_for(lambda: len(server.steps()) == 1)


def test_observing_leaves_every_byte(project: Path, serve: Serve) -> None:
    data = make_stream("messages", Turn(("x", BREAK)))
    with Upstream(lambda _: [STREAM, chunk(data), LAST]) as upstream:
        server = serve_for(serve, upstream, "--policy", "observe")
        assert dechunk(send_raw(server.port, step_request(server.port))) == data
        wait_for(lambda: len(server.steps()) == 1)
        (step,) = server.steps()
        assert step["decision"] == "none"
        assert step["drift_score"] <= 4


def wait_for(condition: Any) -> None:
    late = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < late
        time.sleep(0.05)


BROKEN = {
    "truncated": b'event: content_block_start\ndata: {"type": "content_block_sta',
    "no json": b"event: content_block_start\ndata: content_block_start\n\n\xff\xfe\n\n",
    "wrong order": make_stream("messages", Turn((READ,)))[::-1],
    "stop first": b'data: {"type": "content_block_stop", "index": 0}\n\n',
    "huge": b"data: " + b"x" * (10 << 20) + b"\n\n",
    "endless": b"data: " + b"x" * (20 << 20),
    "twice": make_stream("messages", Turn((READ,))).partition(b"event: content_block_stop")[0] * 2,
    "odd call": make_stream("messages", Turn((READ,))).replace(b"input_json_delta", b"other"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_stream_comes_out_as_it_went_in(project: Path, serve: Serve, name: str) -> None:
    data = BROKEN[name]
    with Upstream(lambda _: [STREAM, chunk(data), LAST]) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        assert dechunk(send_raw(server.port, step_request(server.port))) == data
        if name in ("truncated", "no json", "endless", "twice"):  # a call may be in it
            wait_for(server.errors)


@pytest.mark.parametrize("after", ["", "head", "text", "call"])
def test_a_reset_of_the_provider_reaches_the_client(
    project: Path, serve: Serve, after: str
) -> None:
    data = make_stream("messages", Turn(("I look.", BREAK)))
    marks = {
        "": 0,
        "head": 0,
        "text": data.index(b"tool_use") - 80,
        "call": data.index(b"partial_json"),
    }
    data = data[: marks[after]]
    steps: list[Step] = [STREAM, *([chunk(data)] if data else []), 0.2] if after else []
    with Upstream(lambda _: [*steps, "reset"]) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        got = b""
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
            connection.sendall(step_request(server.port))
            with pytest.raises(ConnectionResetError):
                for part in receive_all(connection):
                    got += part
                raise ConnectionResetError if not got.endswith(LAST) else AssertionError
        if after in ("text", "call"):
            assert b"I look." in got
        assert LAST not in got, "no end where there was none"
        if after == "call":
            wait_for(lambda: any("ended in a call" in error for error in server.errors()))
        assert server.process.poll() is None


def test_a_client_that_goes_away_ends_its_request_upstream(project: Path, serve: Serve) -> None:
    with Upstream(lambda _: [STREAM, chunk(b": ping\n\n"), "wait"]) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
            connection.sendall(step_request(server.port))
            assert connection.recv(100)
            assert not upstream.gone.is_set()
        assert upstream.gone.wait(5)


def test_a_client_that_does_not_read_holds_the_provider_back(project: Path, serve: Serve) -> None:
    event = chunk(b"data: " + b"x" * 60_000 + b"\n\n")
    with Upstream(lambda _: [STREAM, event * 2000]) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        before = read_memory(server.process.pid)
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            connection.sendall(step_request(server.port))
            taken = -1
            while upstream.sent > taken:
                taken = upstream.sent
                assert taken < 30 << 20
                time.sleep(1.5)
            assert taken > 0
            assert read_memory(server.process.pid) - before < 30 << 20


def read_memory(pid: int) -> int:
    """Return the resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_provider_that_cannot_be_reached_is_named(project: Path, serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    server = serve("--upstream", url)
    answer = send_raw(server.port, step_request(server.port))
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert url.encode() in answer


def test_certificates_are_verified(project: Path, serve: Serve, tmp_path: Path) -> None:
    key, own = tmp_path / "key.pem", tmp_path / "own.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1 -keyout"
    subprocess.run([*words.split(), key, "-out", own], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own, key)
    with Upstream(lambda _: [OK], context) as upstream:
        server = serve("--upstream", upstream.url.replace("http:", "https:"))
        answer = send_raw(server.port, step_request(server.port))
        assert answer.startswith(b"HTTP/1.1 502 ")
        assert upstream.requests == []


def test_only_its_own_name_is_served(project: Path, serve: Serve) -> None:
    with Upstream(lambda _: [OK]) as upstream:
        server = serve_for(serve, upstream)
        for host, status in (
            ("evil.example", b"421"),
            (f"evil.example:{server.port}", b"421"),
            ("127.0.0.1:1", b"421"),
            (f"localhost:{server.port}", b"200"),
        ):
            request = f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            assert send_raw(server.port, request.encode()).split()[1] == status, host
        assert len(upstream.requests) == 1


def test_a_websocket_is_refused_so_that_clients_fall_back_at_once(
    project: Path, serve: Serve
) -> None:
    with Upstream(lambda _: [OK]) as upstream:
        server = serve_for(serve, upstream)
        head = "GET /v1/responses HTTP/1.1\nConnection: Upgrade\nUpgrade: websocket"
        answer = ask(server.port, f"{head}\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: eA==")
        assert answer.split()[1] == b"426"
        assert upstream.requests == []


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 3\nContent-Length: 4",
        "Content-Length: 3\nTransfer-Encoding: chunked",
        "Content-Length: -1",
        "Content-Length: 3 4",
        "Transfer-Encoding: chunked, identity",
    ],
)
def test_a_body_of_unclear_length_is_refused(project: Path, serve: Serve, head: str) -> None:
    with Upstream(lambda _: [OK]) as upstream:
        server = serve_for(serve, upstream)
        answer = ask(server.port, f"POST /v1/files HTTP/1.1\n{head}", b"abcd")
        assert answer.split()[1] == b"400"
        assert upstream.requests == []


def test_own_routes_are_not_relayed_and_not_for_browsers(project: Path, serve: Serve) -> None:
    with Upstream(lambda _: [OK]) as upstream:
        server = serve_for(serve, upstream)
        for head, status in (
            ("GET /kedge/health HTTP/1.1", b"200"),
            ("GET /kedge/health HTTP/1.1\nOrigin: https://evil.example", b"403"),
            ("GET /kedge/none HTTP/1.1", b"404"),
            ("POST /kedge/stop HTTP/1.1", b"403"),
            ("POST /kedge/stop HTTP/1.1\nX-Kedge-Token: guess", b"403"),
            ("GET http://evil.example/v1/models HTTP/1.1", b"400"),
        ):
            answer = ask(server.port, head)
            assert answer.split()[1] == status, head
            assert b"access-control" not in answer.lower()
        assert upstream.requests == []
        assert server.process.poll() is None


def test_no_key_is_kept_anywhere(project: Path, serve: Serve) -> None:
    data = make_stream("messages", Turn((BREAK,)))
    replies: list[list[Step]] = [
        [STREAM, chunk(data), LAST],
        ["reset"],
        [STREAM, chunk(b"data: " + b"x" * (20 << 20)), LAST],
        [b"HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n"],
        [b"nonsense\r\n\r\n"],
    ]
    with Upstream(lambda _: replies.pop(0)) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        for _ in range(5):
            try:
                send_raw(server.port, step_request(server.port))
            except ConnectionResetError:
                continue
        wait_for(server.errors)
        for path in server.home.rglob("*"):
            if path.is_file():
                assert KEY.encode() not in path.read_bytes(), path
        assert KEY not in server.stop()


def test_the_request_of_an_unknown_session_is_only_relayed(project: Path, serve: Serve) -> None:
    data = make_stream("messages", Turn((BREAK,)))
    with Upstream(lambda _: [STREAM, chunk(data), LAST]) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        request = step_request(server.port).replace(b"X-Claude-Code-Session-Id", b"X-Other")
        assert dechunk(send_raw(server.port, request)) == data
        assert upstream.requests[0].header("accept-encoding") == ["gzip, br"]
        assert server.sessions() == []


def test_many_streams_at_once_have_no_error(project: Path, serve: Serve) -> None:
    data = make_stream("messages", Turn(("word " * 200, READ)))
    with Upstream(lambda _: [STREAM, chunk(data[:900]), 0.3, chunk(data[900:]), LAST]) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        connections = []
        for at in range(64):
            connection = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
            connection.sendall(step_request(server.port, session=f"s-{at % 4}"))
            connections.append(connection)
        for connection in connections:
            with connection:
                assert dechunk(b"".join(receive_all(connection))) == data
        assert server.errors() == []
        assert len(server.steps()) == 4


def test_a_reset_client_is_no_error(project: Path, serve: Serve) -> None:
    with Upstream(lambda _: [STREAM, chunk(b": ping\n\n"), 0.2, chunk(b": ping\n\n"), LAST]) as up:
        server = serve_for(serve, up, "--policy", "enforce")
        connection = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(step_request(server.port))
        connection.recv(10)
        connection.close()
        time.sleep(0.5)
        assert server.errors() == []
        assert "Traceback" not in server.stop()


def test_a_late_verdict_releases_its_call_and_no_other_stream_waits(
    project: Path, serve: Serve
) -> None:
    held, text = make_stream("messages", Turn((BREAK,))), make_stream("messages", Turn(("Hi.",)))

    def reply(got: Got) -> list[Step]:
        slow = got.header("x-claude-code-session-id") == ["slow"] and GOAL.encode() in got.body
        return [STREAM, chunk(held if slow else text), LAST]

    with Upstream(reply) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        send_raw(server.port, step_request(server.port, session="slow", messages=[]))
        with closing(sqlite3.connect(server.home / "kedge.db")) as db:
            db.execute("BEGIN IMMEDIATE")  # nothing can be judged
            start = time.monotonic()
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as slow:
                slow.sendall(step_request(server.port, session="slow"))
                quick = send_raw(server.port, step_request(server.port, session="quick"))
                assert dechunk(quick) == text
                assert time.monotonic() - start < 4
                assert dechunk(b"".join(receive_all(slow))) == held
            assert 4 < time.monotonic() - start < 15
            db.rollback()
        wait_for(lambda: any("no verdict within" in error for error in read_all_errors(server)))
        wait_for(lambda: [step["decision"] for step in server.steps()] == ["released"])


def test_a_watch_that_dies_releases_its_call_and_is_started_again(
    project: Path, serve: Serve
) -> None:
    held = make_stream("messages", Turn((BREAK,)))
    with Upstream(lambda _: [STREAM, chunk(held), LAST]) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        send_raw(server.port, step_request(server.port, session="other"))
        with closing(sqlite3.connect(server.home / "kedge.db")) as db:
            db.execute("BEGIN IMMEDIATE")  # nothing can be judged
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as client:
                client.sendall(step_request(server.port))
                wait_for(lambda: len(upstream.requests) == 2)
                time.sleep(0.3)
                os.kill(server.find_watch(), signal.SIGKILL)
                assert dechunk(b"".join(receive_all(client))) == held
            db.rollback()
        wait_for(lambda: any("the watch ended with code -9" in one for one in server.errors()))
        again = send_raw(server.port, step_request(server.port, session="again"))
        assert b"[kedge]" in dechunk(again)


def read_all_errors(server: Server) -> list[str]:
    """Return the recorded errors, those included that went to a file."""
    file = server.home / "logs" / "hook-errors.jsonl"
    return [*server.errors(), file.read_text() if file.exists() else ""]


@pytest.mark.parametrize(
    ("path", "request_body", "answer"),
    [
        (
            "/v1/chat/completions",
            {"messages": [{"role": "user", "content": GOAL}]},
            {"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [
                {"id": "c", "function": {"name": "bash", "arguments": json.dumps(BREAK.input)}},
            ]}}]},
        ),
        (
            "/v1beta/models/g:generateContent",
            {"contents": [{"role": "user", "parts": [{"text": GOAL}]}]},
            {"candidates": [{"content": {"parts": [
                {"functionCall": {"name": "run_shell_command", "args": BREAK.input}},
            ]}}]},
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("streamed", [False, True])
def test_other_apis_are_observed_and_never_changed(
    project: Path, serve: Serve, path: str, request_body: Any, answer: Any, streamed: bool
) -> None:
    if streamed and "choices" in answer:
        (call,) = answer["choices"][0]["message"]["tool_calls"]
        delta = {"tool_calls": [{"index": 0, **call}]}
        answer = {"choices": [{"index": 0, "delta": delta, "finish_reason": "tool_calls"}]}
    data = json.dumps(answer).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    data = b"data: " + data + b"\r\n\r\n" if streamed else data
    steps: list[Step] = [STREAM, chunk(data), LAST] if streamed else [head % len(data), data]
    with Upstream(lambda _: steps) as upstream:
        server = serve_for(serve, upstream, "--policy", "enforce")
        base = write_base(Binding(str(project), session="exec-1"), "openai")
        body = json.dumps({**request_body, "tools": [{"name": "bash"}]}).encode()
        head_lines = f"POST {base}{path} HTTP/1.1\nContent-Length: {len(body)}"
        got = ask(server.port, head_lines, body)
        assert (dechunk(got) if streamed else got.partition(b"\r\n\r\n")[2]) == data
        wait_for(lambda: len(server.steps()) == 1)
        (step,) = server.steps()
        assert (step["session"], step["decision"]) == ("exec-1", "none")
        assert step["drift_score"] <= 4
        assert upstream.requests[0].line == f"POST {path} HTTP/1.1"
        assert upstream.requests[0].body == body
