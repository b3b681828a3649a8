"""How sessions without hooks end, and how the commands speak of a server without hooks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from proxy.conftest import Serve
from proxy.playbook import make_stream
from proxy.test_relay import wait_for
from proxy.upstream import LAST, STREAM, Upstream, chunk
from support import TIMEOUT, Kedge

from kedge.agents.scripted_model.script import Turn
from kedge.host import agent_process
from kedge.host import project as projects
from kedge.proxy import judging
from kedge.proxy.conversation import Conversation
from kedge.proxy.exchange import ToolCall
from kedge.proxy.judging import Judging
from kedge.proxy.routes import Binding, Origin
from kedge.store import sessions, sqlite

GOAL = "Fix the expiry of tokens in src/auth/token.py."
ASK = """if True:
    import json, os, sys, urllib.request
    body = {"model": "m", "stream": True, "tools": [{"name": "Bash"}],
            "messages": [{"role": "user", "content": sys.argv[1]}]}
    request = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
        json.dumps(body).encode(),
        {"X-Claude-Code-Session-Id": "s-1", "anthropic-version": "2023-06-01"},
    )
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).read()
    print("asked", flush=True)
    sys.stdin.read()
"""


def test_a_session_ends_with_its_process(project: Path, serve: Serve, kedge: Kedge) -> None:
    stream = make_stream("messages", Turn(("Hi.",)))
    with Upstream(lambda _: [STREAM, chunk(stream), LAST]) as upstream:
        server = serve("--upstream", upstream.url)
        child = subprocess.Popen(
            [sys.executable, "-m", "kedge", "exec", "--", sys.executable, "-c", ASK, GOAL],
            cwd=project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"asked\n"
        wait_for(lambda: [row["goal"] for row in server.sessions()] == [GOAL])
        (row,) = server.sessions()
        assert (row["status"], row["process"]) == ("active", agent_process.describe(child.pid))
        (shown,) = kedge.json("drift", "status")
        assert shown["status"] == "active"
        child.communicate(timeout=TIMEOUT)
        wait_for(lambda: server.sessions()[0]["status"] == "completed")
        assert server.sessions()[0]["ended_at"]
        assert server.errors() == []


@pytest.mark.parametrize(
    ("stops", "hooks", "status"),
    [(True, False, "completed"), (False, False, "active"), (True, True, "active")],
)
def test_a_session_ends_when_its_user_is_silent(
    project: Path, monkeypatch: pytest.MonkeyPatch, stops: bool, hooks: bool, status: str
) -> None:
    """Not while a command of the agent runs, and not if hooks report the end."""
    monkeypatch.setattr(judging, "IDLE_SECONDS", 0.0)
    found = projects.find(project)

    def read() -> dict[str, Any]:
        with closing(sqlite.connect(found.home())[0]) as db:
            row = sessions.get(db, "s-1")
            assert row is not None
            return row

    async def play() -> None:
        watch = Judging(found)
        watched = await watch.locate("messages", Origin("s-1", "claude"), Binding())
        opened = await watch.open_request(watched, b"{}", [], Conversation((GOAL,), 1))
        assert opened.take is not None
        await opened.take()  # type: ignore[misc]
        await watch.judge_call(watched, ToolCall("t-1", "Bash", {"command": "ls"}))
        if hooks:
            with closing(sqlite.connect(found.home())[0]) as db:
                sessions.change(db, "s-1", transcript="/t.jsonl")
        if stops:
            await watch.end_turn(watched)
        await watch.end_sessions()
        assert read()["status"] == status
        again = Conversation((GOAL, "Go on"), 1)
        opened = await watch.open_request(watched, b"{}", [], again)
        assert opened.take is not None
        await opened.take()  # type: ignore[misc]
        assert read()["status"] == "active"
        await watch.close()

    asyncio.run(play())


def test_the_commands_know_a_server_without_hooks(
    project: Path, kedge: Kedge, serve: Serve
) -> None:
    kedge("init", "--no-hooks")
    assert "kedge exec" not in kedge("drift", "status").err + kedge("doctor", "--no-probe").out
    server = serve()
    assert "kedge exec -- claude" in kedge("drift", "status").err
    said = kedge("doctor", "--no-probe").out
    assert "only what goes through kedge serve is watched" in said
    server.process.kill()
    server.process.wait()
    assert "kedge exec" not in kedge("drift", "status").err


def test_the_doctor_names_errors_of_the_proxy(project: Path, kedge: Kedge) -> None:
    kedge("init", "--no-hooks")
    found = projects.find(project)
    with closing(sqlite.connect(found.home())[0]) as db:
        for event in ("proxy", "PreToolUse", "proxy"):
            line = {"at": "now", "agent": "claude", "session": "s", "kedge": "0"}
            sessions.add_error(db, **line, event=event, error="it broke")
    said = kedge("doctor", "--no-probe").out
    assert "the proxy failed 2 times" in said
    assert "a hook failed once" in said
