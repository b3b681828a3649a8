"""Measure what `kedge serve` adds between an agent and its model.

    benchmarks/proxy.py [--rounds N] [--events N] [--mitmdump PROGRAM]

The yardstick is a plain asyncio pipe of bytes, in the same rounds; the simplest relay that aiohttp
allows shows what HTTP costs by itself, and mitmproxy in reverse mode is measured where its
`mitmdump` is given or on PATH. CPU is that of the process that relays; the one beside it, which
judges, is counted for itself, because it works by request and not by byte. The model is a server
on loopback that writes the time into each event of its answers. Hooks over HTTP are measured first.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from _measure import KEDGE, clean_environment

ADDED, HOOK = 1.0, 5.0  # milliseconds: at p50; at p95
CPU = 2.0  # of the pipe
YARDSTICKS = {"pipe": "pipe", "relay": "aiohttp alone"}
STREAMS = (1, 32, 256)
PATIENCE = 60.0
GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
_PAUSE = 0.004  # seconds between the events whose delay is measured
_TICKS = os.sysconf("SC_CLK_TCK")
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


async def serve_model(port: int) -> None:
    """Answer each request with a stream; its path says how many events, and the pause."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = next(
                    int(line[15:])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                )
                await reader.readexactly(size)
                query = head.split(b" ")[1].partition(b"?")[2].decode()
                count, pause = query.split("x")
                writer.write(_HEAD)
                for _ in range(int(count)):
                    writer.write(make_event())
                    await writer.drain()
                    if float(pause):
                        await asyncio.sleep(float(pause))
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=1000)
    await server.serve_forever()


def make_event() -> bytes:
    delta = {"type": "text_delta", "text": f"<{time.monotonic_ns()}> some words of an answer"}
    value = {"type": "content_block_delta", "index": 0, "delta": delta}
    data = f"event: content_block_delta\ndata: {json.dumps(value)}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


async def serve_pipe(port: int, upstream: int) -> None:
    """Pass bytes between a client and the model."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", upstream)
        await asyncio.gather(copy(reader, outer), copy(inner, writer))

    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=1000)
    await server.serve_forever()


async def serve_relay(port: int, upstream: int) -> None:
    """Relay requests with aiohttp as simply as it can be done: what its HTTP costs by itself."""
    from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

    async with ClientSession(
        connector=TCPConnector(limit=0), timeout=ClientTimeout(total=None), auto_decompress=False
    ) as client:

        async def answer(request: web.Request) -> web.StreamResponse:
            url = f"http://127.0.0.1:{upstream}{request.raw_path}"
            data = await request.read()
            async with client.request(request.method, url, data=data) as answered:
                response = web.StreamResponse(status=answered.status, headers=answered.headers)
                await response.prepare(request)
                async for data in answered.content.iter_any():
                    await response.write(data)
                await response.write_eof()
            return response

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port, backlog=1000).start()
        await asyncio.Event().wait()


@dataclass
class Target:
    """Something between the client and the model, and what was measured of it."""

    name: str
    port: int
    pid: int
    first: list[float] = field(default_factory=list)  # milliseconds to the first byte of the body
    delays: list[float] = field(default_factory=list)  # milliseconds of each event
    rates: dict[int, float] = field(default_factory=dict)  # events a second, by streams
    cpu: float = 0.0  # seconds
    watch: float = 0.0  # seconds that its child took, in which calls are judged
    memory: float = 0.0  # megabytes at most
    failed: int = 0


class Client:
    """One connection to a target, which lasts for several requests."""

    def __init__(self, port: int, session: str) -> None:
        self.port = port
        self.session = session

    async def __aenter__(self) -> Client:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def ask(self, events: int, pause: float = 0.0) -> tuple[float, list[float], int]:
        """Return the milliseconds to the first event, the delay of each event whose time is not
        split by a chunk's frame, and the number of events."""
        value = {
            "model": "m",
            "stream": True,
            "tools": [{"name": "Bash"}],
            "system": "x" * 20_000,
            "messages": [{"role": "user", "content": GOAL}],
        }
        body = json.dumps(value).encode()
        begin = time.perf_counter()
        self.writer.write(
            f"POST /v1/messages?{events}x{pause} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"anthropic-version: 2023-06-01\r\nX-Claude-Code-Session-Id: {self.session}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await self.reader.readuntil(b"\r\n\r\n")
        first, delays, rest, count = 0.0, [], b"", 0
        while True:
            data = await self.reader.read(1 << 16)
            now = time.monotonic_ns()
            first = first or (time.perf_counter() - begin) * 1000
            if not data:
                raise ConnectionResetError
            count += data.count(b"<")
            *stamps, rest = (rest + data).split(b"<")
            for stamp in (one.partition(b">")[0] for one in stamps):
                if stamp.isdigit():
                    delays.append((now - int(stamp)) / 1e6)
            done = rest.partition(b">")
            if done[1]:
                if done[0].isdigit():
                    delays.append((now - int(done[0])) / 1e6)
                rest = done[2][-10:]
            if rest.endswith(b"0\r\n\r\n"):
                return first, delays, count


async def measure(targets: list[Target], rounds: int, events: int) -> None:
    """Measure all targets, interleaved."""
    for number in range(rounds + 5):
        for target in targets:
            async with Client(target.port, f"one-{target.name}") as client:
                await client.ask(1)
                first, _, _ = await client.ask(1)
            if number >= 5:
                target.first.append(first)
    for _ in range(3):
        for target in targets:
            async with Client(target.port, f"two-{target.name}") as client:
                target.delays += (await client.ask(200, _PAUSE))[1]
    for streams in STREAMS:
        for target in targets:
            children = list_children(target.pid)
            before, begin = read_cpu(target.pid), time.perf_counter()
            watched = sum(map(read_cpu, children))
            count = await asyncio.gather(
                *(run_stream(target, f"s-{at}", events // streams) for at in range(streams))
            )
            target.rates[streams] = sum(count) / (time.perf_counter() - begin)
            target.cpu += read_cpu(target.pid) - before
            target.watch += sum(map(read_cpu, children)) - watched
    for target in targets:
        target.memory = sum(map(read_memory, [target.pid, *list_children(target.pid)]))


async def run_stream(target: Target, session: str, events: int) -> int:
    try:
        async with asyncio.timeout(PATIENCE), Client(target.port, session) as client:
            got = (await client.ask(events))[2]
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        got = 0
    target.failed += got != events
    return got


def read_cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def list_children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def read_memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


def measure_hooks(project: Path, rounds: int) -> list[float]:
    """Return the milliseconds that calls of a tool take as hooks over HTTP."""
    port, token = json.loads((project / ".git/kedge/daemon.json").read_text())
    times = []
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        for number in range(rounds + 5):
            event = {
                "hook_event_name": "PreToolUse",
                "session_id": "hooks",
                "cwd": str(project),
                "tool_name": "Edit",
                "tool_input": {"file_path": "a.py", "old_string": "a", "new_string": f"{number}"},
                "tool_use_id": f"t-{number}",
            }
            body = json.dumps(event).encode()
            begin = time.perf_counter()
            connection.sendall(
                f"POST /kedge/hooks/claude HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                f"X-Kedge-Token: {token}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            answer = connection.recv(1 << 16)
            if number >= 5:
                times.append((time.perf_counter() - begin) * 1000)
            assert answer.startswith(b"HTTP/1.1 200"), answer
    return times


@contextmanager
def start(argv: list[str], port: int, **more: object) -> Iterator[int]:
    """Run a server until the end; yield its process."""
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)  # type: ignore[call-overload]
    try:
        late = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                if child.poll() is not None or time.monotonic() > late:
                    raise SystemExit(f"{argv[0]} does not serve") from None
                time.sleep(0.05)
        yield child.pid
    finally:
        child.terminate()
        child.wait(PATIENCE)


def find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def start_targets(stack: ExitStack, scratch: Path, mitmdump: str | None) -> list[Target]:
    env = clean_environment(scratch)
    model = find_port()
    own = [sys.executable, __file__]
    direct = stack.enter_context(start([*own, "--model", str(model)], model))
    url = f"http://127.0.0.1:{model}"
    targets = [Target("direct", model, direct)]

    def add(name: str, argv: list[str], port: int, cwd: Path = scratch) -> None:
        pid = stack.enter_context(start(argv, port, cwd=cwd, env=env))
        targets.append(Target(name, port, pid))

    for name in ("pipe", "relay"):
        port = find_port()
        add(YARDSTICKS[name], [*own, f"--{name}", str(port), str(model)], port)
    for policy in ("observe", "enforce"):
        project = scratch / policy
        project.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
        words = ["init", "--agent", "claude", "--daemon"]
        subprocess.run([*KEDGE, *words], cwd=project, env=env, check=True, capture_output=True)
        port = json.loads((project / ".git/kedge/daemon.json").read_text())[0]
        words = ["serve", "--upstream", url, "--policy", policy]
        add(f"kedge, {policy}", [*KEDGE, *words], port, project)
    if mitmdump:
        port = find_port()
        words = ["-q", "--mode", f"reverse:{url}", "-p", str(port), "--listen-host", "127.0.0.1"]
        add("mitmproxy", [mitmdump, *words, "--set", "stream_large_bodies=1"], port)
    return targets


def report(targets: list[Target], hooks: list[float]) -> bool:
    direct, pipe = targets[0], targets[1]
    print(f"\n{'':18}{'first byte':>12}{'per event':>12}", end="")
    print("".join(f"{f'{count} streams':>14}" for count in STREAMS), end="")
    print(f"{'CPU':>8}{'watch':>8}{'memory':>10}")
    print(f"{'':18}{'ms at p50':>12}{'ms at p50':>12}{'events a second':>42}")
    fine = True
    for target in targets:
        first, delay = statistics.median(target.first), statistics.median(target.delays)
        over = []
        if target.name.startswith("kedge"):
            over += ["first byte"] * (first - statistics.median(direct.first) > ADDED)
            over += ["event"] * (delay - statistics.median(direct.delays) > ADDED)
            over += ["CPU"] * ("observe" in target.name and target.cpu > CPU * pipe.cpu)
            over += [f"{target.failed} streams failed"] * bool(target.failed)
        fine = fine and not over
        rates = "".join(f"{target.rates[count]:14,.0f}" for count in STREAMS)
        cpu = f"{target.cpu / max(pipe.cpu, 0.01):7.1f}×"
        watch = f"{target.watch / max(pipe.cpu, 0.01):7.1f}×" if target.watch else " " * 8
        line = f"{target.name:18}{first:12.2f}{delay:12.2f}{rates}{cpu}{watch}"
        print(f"{line}{target.memory:8.0f}MB", end="")
        print(f"  over: {', '.join(over)}" if over else "")
    print(
        f"budget of kedge: {ADDED:g} ms more than direct at p50; CPU {CPU:g}× of the pipe (observe)"
    )
    tail = sorted(hooks)[int(len(hooks) * 0.95)]
    over_hook = tail > HOOK
    print(
        f"\na hook over HTTP: {statistics.median(hooks):.2f} ms at p50, {tail:.2f} ms at p95"
        f"{'  over' if over_hook else ''}; budget {HOOK:g} ms at p95"
    )
    return fine and not over_hook


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--mitmdump", default=shutil.which("mitmdump"))
    parser.add_argument("--model", type=int, help=argparse.SUPPRESS)
    for name in YARDSTICKS:
        parser.add_argument(f"--{name}", type=int, nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.model:
        asyncio.run(serve_model(args.model))
    if args.pipe:
        asyncio.run(serve_pipe(*args.pipe))
    if args.relay:
        asyncio.run(serve_relay(*args.relay))
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as folder, ExitStack() as stack:
        scratch = Path(folder).resolve()
        targets = start_targets(stack, scratch, args.mitmdump)
        hooks = measure_hooks(scratch / "enforce", args.rounds * 3)
        asyncio.run(measure(targets, args.rounds, args.events))
    return 0 if report(targets, hooks) else 1


if __name__ == "__main__":
    sys.exit(main())
