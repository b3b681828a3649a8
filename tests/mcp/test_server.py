"""`kedge mcp`, driven by the official SDK's client and by hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import ListRootsResult, Root, TextContent, TextResourceContents
from pydantic import FileUrl
from support import Kedge, git

from kedge.host import tokens
from kedge.mcp.tools import TOOLS

TIMEOUT = 60.0  # seconds: a guard against hanging
_PASSED_ON = ("TESTS_", "GIT_", "XDG_")  # the SDK leaves out the rest of the environment
SERVER = [sys.executable, "-P", "-m", "kedge", "mcp"]


@pytest.fixture
def project(repo: Path, kedge: Kedge) -> Kedge:
    (repo / "moor.py").write_text('def moor(ship: str) -> str:\n    return f"{ship} is moored"\n')
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    kedge("init", "--no-hooks")
    kedge("task", "add", "Moor the ship", "--id", "t1", "--accept", "it holds", "--check", "true")
    return kedge


@asynccontextmanager
async def connect(directory: Path, mode: str = "legacy", **more: Any) -> AsyncIterator[Client]:
    env = {name: os.environ[name] for name in os.environ if name.startswith(_PASSED_ON)}
    server = StdioServerParameters(command=SERVER[0], args=SERVER[1:], cwd=directory, env=env)
    with anyio.fail_after(TIMEOUT):
        async with Client(server, mode=mode, **more) as client:
            yield client


async def call(client: Client, tool: str, **arguments: Any) -> tuple[str, Any, bool]:
    """Return a tool's text, the JSON in it, and whether it is an error."""
    result = await client.call_tool(tool, arguments)
    [content] = result.content
    assert isinstance(content, TextContent)
    data = json.loads(content.text) if content.text.startswith("{") else None
    return content.text, data, bool(result.is_error)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdk_sees_tools_and_resources(project: Kedge, mode: str) -> None:
    async def main() -> None:
        async with connect(project.directory, mode) as client:
            listed = (await client.list_tools()).tools
            assert {tool.name for tool in listed} == set(TOOLS)
            assert all(tool.description and tool.input_schema for tool in listed)
            resources = (await client.list_resources()).resources
            for resource in resources:
                [content] = (await client.read_resource(resource.uri)).contents
                assert isinstance(content, TextResourceContents)
                assert content.text.startswith("# ")

    anyio.run(main)


def test_a_tool_gives_what_its_command_gives(project: Kedge) -> None:
    async def main() -> None:
        async with connect(project.directory) as client:
            text, _, _ = await call(client, "code_map", text="moor a ship", tokens=300)
            assert text == project("map", "--for", "moor a ship", "--tokens", "300").out
            assert "def moor(ship: str) -> str" in text
            text, _, _ = await call(client, "anchor", task="t1")
            assert "it holds" in text
            assert text == project("anchor", "t1").out

    anyio.run(main)


def test_a_task_goes_from_ready_to_done(project: Kedge) -> None:
    async def main() -> None:
        async with connect(project.directory) as client:
            _, data, _ = await call(client, "task_ready")
            assert [task["id"] for task in data["tasks"]] == ["t1"]
            _, data, _ = await call(client, "task_show", task="t1")
            assert data["acceptance"] == ["it holds"]
            _, data, _ = await call(client, "task_claim", task="t1")
            assert data["status"] == "in_progress"
            _, data, _ = await call(client, "task_close", task="t1", reason="it is moored")
            assert data["status"] == "done"

    anyio.run(main)
    assert project("task", "show", "t1", "--json").data["status"] == "done"


def test_a_handoff_by_tools(project: Kedge) -> None:
    async def main() -> None:
        async with connect(project.directory) as client:
            await call(client, "handoff_begin", task="t1", agent="implementer")
            (project.directory / "moor.py").write_text("def moor(): ...\n")
            _, data, refused = await call(
                client, "handoff_snapshot", task="t1", agent="implementer"
            )
            assert not refused
            _, data, _ = await call(client, "handoff_verify", task="t1")
            assert data["state"] == "same"
            (project.directory / "moor.py").write_text("def moor(): 1\n")
            _, data, refused = await call(client, "handoff_verify", task="t1")
            assert [each["path"] for each in data["drift"]] == ["moor.py"]
            assert not refused
            await call(
                client, "report_append", task="t1", report="**Decisions:** Moored with two ropes.\n"
            )
            _, _, refused = await call(client, "lessons", text="mooring")
            assert not refused

    project("task", "claim", "t1")
    project("context", "init", "t1")
    anyio.run(main)
    assert "two ropes" in (project.directory / ".kedge" / "implementation-log.md").read_text()


def test_an_error_says_what_to_do(project: Kedge) -> None:
    async def main() -> None:
        async with connect(project.directory) as client:
            text, _, refused = await call(client, "task_show", task="t9")
            assert refused
            assert text == "no task 't9'\nhint: kedge task list shows all ids"

    anyio.run(main)


def test_fifty_calls_at_once_are_all_answered(project: Kedge) -> None:
    async def main() -> None:
        results: dict[int, Any] = {}

        async def one(client: Client, at: int) -> None:
            _, results[at], _ = await call(client, "task_ready", limit=at + 1)

        async with connect(project.directory) as client, anyio.create_task_group() as group:
            for at in range(50):
                group.start_soon(one, client, at)
        assert sorted(results) == list(range(50))
        assert all([task["id"] for task in data["tasks"]] == ["t1"] for data in results.values())

    anyio.run(main)


def test_outside_of_a_project_the_clients_root_counts(project: Kedge, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    async def roots(_: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(project.directory.as_uri()))])

    async def main() -> None:
        async with connect(elsewhere, list_roots_callback=roots) as client:
            _, data, _ = await call(client, "task_ready")
            assert [task["id"] for task in data["tasks"]] == ["t1"]

    anyio.run(main)


class Server:
    """The server with its pipes, for what a good client does not do."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.stdin: IO[bytes] = process.stdin
        self.stdout: IO[bytes] = process.stdout

    def send(self, method: str, id: int | None = None, **params: Any) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        message |= {} if id is None else {"id": id}
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, data: bytes) -> None:
        self.stdin.write(data)
        self.stdin.flush()

    def read(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.stdout.readline())
        return message

    def children(self) -> list[int]:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[1] == str(self.process.pid) and fields[0] != "Z":
                found.append(int(entry.name))
        return found


@contextmanager
def start(directory: Path) -> Iterator[Server]:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        SERVER, cwd=directory, stdin=pipe, stdout=pipe, start_new_session=True
    ) as process:
        server = Server(process)
        try:
            yield server
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def await_true(condition: Any) -> None:
    late = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < late
        time.sleep(0.01)


@pytest.fixture
def slow(project: Kedge, tmp_path: Path) -> Path:
    """A project with a task whose check takes as long as the test allows, and its mark."""
    mark = tmp_path / "check-is-running"
    check = f"echo $$ >{mark}; sleep 600"
    project("task", "add", "Wait", "--id", "t2", "--check", check)
    project("task", "claim", "t2")
    return mark


def is_running(mark: Path) -> bool:
    try:
        os.kill(int(mark.read_text()), 0)
    except (ProcessLookupError, ValueError, FileNotFoundError):
        return False
    return True


def test_a_cancelled_call_leaves_no_process(project: Kedge, slow: Path) -> None:
    with start(project.directory) as server:
        arguments = {"task": "t2", "reason": "done"}
        server.send("tools/call", 1, name="task_close", arguments=arguments)
        await_true(lambda: is_running(slow))
        server.send("notifications/cancelled", requestId=1)
        await_true(lambda: not is_running(slow))
        server.send("ping", 2)
        assert server.read() == {"jsonrpc": "2.0", "id": 2, "result": {}}
        server.stdin.close()
        assert server.process.wait(TIMEOUT) == 0


@pytest.mark.parametrize("how", ["close", "SIGTERM"])
def test_a_server_that_ends_takes_its_commands_along(project: Kedge, slow: Path, how: str) -> None:
    with start(project.directory) as server:
        arguments = {"task": "t2", "reason": "done"}
        server.send("tools/call", 1, name="task_close", arguments=arguments)
        await_true(lambda: is_running(slow))
        if how == "close":
            server.stdin.close()
        else:
            server.process.terminate()
        server.process.wait(TIMEOUT)
        await_true(lambda: not is_running(slow))
        assert server.children() == []


def test_a_client_that_disappears_ends_the_server(project: Kedge) -> None:
    with start(project.directory) as server:
        for at in range(20):
            server.send("tools/call", at, name="task_ready")
        server.stdout.close()
        server.stdin.close()
        server.process.wait(TIMEOUT)


def test_garbage_is_answered_and_forgotten(project: Kedge) -> None:
    with start(project.directory) as server:
        for line in (
            b"garbage\n",
            b"\xff\xfe\0\n",
            b"{" * 10_000 + b"\n",
            b"x" * 5_000_000 + b"\n",
        ):
            server.write(line)
            assert server.read()["error"]["code"] == -32700
        server.write(b"\n \n")
        server.send("ping", 1)
        assert server.read()["result"] == {}


@pytest.mark.parametrize(
    "uri", ["file://[/x", f"file:///{'a' * 6000}", "file:///%00", "file://\ud800"]
)
def test_no_root_of_a_client_ends_the_server(tmp_path: Path, uri: str) -> None:
    with start(tmp_path) as server:
        server.send("initialize", 1, capabilities={"roots": {}})
        server.read()
        server.send("notifications/initialized")
        asked = server.read()
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": uri}]}}
        server.write(json.dumps(answer).encode() + b"\n")
        server.send("ping", 2)
        assert server.read()["id"] == 2


def test_the_tools_are_small_enough_for_every_request() -> None:
    """A client sends their descriptions with each request of its model."""
    listed = json.dumps([tool.describe() for tool in TOOLS.values()])
    assert tokens.count(listed) < 2_500


def test_on_a_terminal_it_says_who_calls_it(project: Kedge) -> None:
    assert project("mcp", "--json", code=2).document["hint"] == "leave --json out"
