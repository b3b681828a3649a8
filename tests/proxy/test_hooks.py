"""Hooks over HTTP: who is let in, which of server and command judges, and what it costs."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from clients import Claude
from proxy.conftest import Serve
from proxy.upstream import send_raw
from support import TIMEOUT, Kedge, git

from kedge.host import daemon
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
BREAKS = "echo 'drop table t;' > db/schema.sql"
CALLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
SETTINGS = ".claude/settings.local.json"


@pytest.fixture
def watched(project: Path, kedge: Kedge) -> Path:
    """A project whose hooks send calls to the server."""
    (project / ".claude").mkdir()
    kedge("init", "--agent", "claude", "--daemon")
    return project


def read_entries(project: Path, event: str) -> list[dict[str, Any]]:
    settings = json.loads((project / SETTINGS).read_text())
    return [hook for group in settings["hooks"][event] for hook in group["hooks"]]


def call(name: str, command: str, project: Path, **more: Any) -> dict[str, Any]:
    return {
        "hook_event_name": "PreToolUse",
        "session_id": "s-1",
        "cwd": str(project),
        "transcript_path": str(project / "t.jsonl"),
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": name,
        **more,
    }


def run_command(project: Path, event: Mapping[str, Any], command: str = "") -> dict[str, Any]:
    """Run the command of an event's hook as the client does, and return its answer."""
    if not command:
        entries = read_entries(project, event["hook_event_name"])
        command = next(hook["command"] for hook in entries if hook["type"] == "command")
    done = subprocess.run(
        command, shell=True, cwd=project, input=json.dumps(event).encode(), capture_output=True,
        timeout=TIMEOUT, check=True,
    )  # fmt: skip
    assert done.stderr == b""
    return dict(json.loads(done.stdout or "{}"))


def send(project: Path, event: Mapping[str, Any], **headers: str) -> dict[str, Any]:
    """Send an event as the client does, and return the answer."""
    (entry,) = [
        hook for hook in read_entries(project, event["hook_event_name"]) if hook["type"] == "http"
    ]
    given = {key: "" if value.startswith("$") else value for key, value in entry["headers"].items()}
    request = urllib.request.Request(
        entry["url"],
        json.dumps(event).encode(),
        {"Content-Type": "application/json", **given, **headers},
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=TIMEOUT) as answer:
        return dict(json.load(answer))


def say(project: Path, session: str = "s-1") -> None:
    event = call("", "", project, hook_event_name="UserPromptSubmit", prompt=GOAL)
    event["session_id"] = session
    run_command(project, event)


def test_calls_are_sent_and_have_their_command_beside_them(watched: Path) -> None:
    known = daemon.read(watched / ".git" / "kedge")
    assert known is not None
    for event in CALLS:
        command, sent = read_entries(watched, event)
        assert command["type"] == "command"
        assert sent["type"] == "http"
        assert sent["url"] == f"http://127.0.0.1:{known.port}/kedge/hooks/claude"
        assert sent["headers"]["X-Kedge-Token"] == known.token
        assert sent["allowedEnvVars"] == ["KEDGE_TASK", "KEDGE_RUN", "KEDGE_JUDGE"]
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
        assert {hook["type"] for hook in read_entries(watched, event)} == {"command"}
    assert (watched / ".git/kedge/daemon.json").stat().st_mode & 0o777 == 0o600


def test_the_answer_is_that_of_the_command(watched: Path, serve: Serve) -> None:
    say(watched)
    breaks = call("t-1", BREAKS, watched)
    without = run_command(watched, breaks)
    server = serve("--no-proxy")
    say(watched, "s-2")
    again = send(watched, call("t-2", BREAKS, watched, session_id="s-2"))
    assert json.dumps(again).replace("s-2", "s-1").replace("t-2", "t-1") == json.dumps(without)
    assert without["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert send(watched, call("t-3", "ls", watched)) == {}
    done = call("t-3", "ls", watched, hook_event_name="PostToolUse", tool_response={})
    assert send(watched, done) == {}
    assert {step["id"]: step["ok"] for step in server.steps()} == {
        "t-1": None,
        "t-2": None,
        "t-3": True,
    }
    assert server.errors() == []


def test_one_of_the_two_judges_each_call(watched: Path, serve: Serve) -> None:
    """While the server is on duty the command is silent, and the server is when it is not."""
    say(watched)
    server = serve()
    assert run_command(watched, call("t-1", BREAKS, watched)) == {}
    assert server.steps() == []
    assert send(watched, call("t-1", BREAKS, watched)) != {}
    (server.home / "daemon.pid").unlink()
    assert send(watched, call("t-2", BREAKS, watched)) == {}
    assert [step["id"] for step in server.steps()] == ["t-1"]


@pytest.mark.parametrize("number", [9, 15])
def test_the_commands_take_over_from_a_dead_server(
    watched: Path, serve: Serve, number: int
) -> None:
    say(watched)
    server = serve()
    os.kill(server.process.pid, number)
    server.process.wait(TIMEOUT)
    assert run_command(watched, call("t-1", BREAKS, watched)) != {}
    with pytest.raises(urllib.error.URLError):
        send(watched, call("t-1", BREAKS, watched))


@pytest.mark.parametrize("event", ["UserPromptSubmit", "SessionStart"])
def test_a_server_that_hangs_is_relieved_when_a_turn_begins(
    watched: Path, serve: Serve, event: str
) -> None:
    """Likewise one whose number another process has since."""
    say(watched)
    server = serve()
    os.kill(server.process.pid, 19)
    try:
        assert run_command(watched, call("t-1", BREAKS, watched)) == {}
        begin = call("", "", watched, hook_event_name=event, prompt="Go on", source="resume")
        run_command(watched, begin)
        assert run_command(watched, call("t-2", BREAKS, watched)) != {}
    finally:
        os.kill(server.process.pid, 18)


def test_a_server_on_another_port_leaves_the_hooks_to_their_commands(
    watched: Path, serve: Serve, unused_port: int
) -> None:
    say(watched)
    serve("--port", str(unused_port))
    assert run_command(watched, call("t-1", BREAKS, watched)) != {}


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_only_who_knows_the_token_is_let_in(watched: Path, serve: Serve) -> None:
    say(watched)
    server = serve()
    breaks = call("t-1", BREAKS, watched)
    for headers in ({"X-Kedge-Token": "other"}, {"X-Kedge-Token": ""}, {"Origin": "http://x"}):
        with pytest.raises(urllib.error.HTTPError) as refused:
            send(watched, breaks, **headers)
        assert refused.value.code == 403
        refused.value.close()
    with pytest.raises(urllib.error.HTTPError) as refused:
        send(watched, breaks, Host="evil.example")
    assert refused.value.code == 421
    refused.value.close()
    preflight = send_raw(
        server.port,
        b"OPTIONS /kedge/hooks/claude HTTP/1.1\r\nOrigin: http://x\r\nConnection: close\r\n"
        b"Host: 127.0.0.1:%d\r\n\r\n" % server.port,
    )
    assert b" 403 " in preflight
    assert b"access-control" not in preflight.lower()
    assert server.steps() == []
    token = json.loads((server.home / "daemon.json").read_text())[1]
    assert token not in server.stop() + json.dumps(server.state)


def test_without_daemon_hooks_nothing_is_let_in(project: Path, serve: Serve) -> None:
    server = serve()
    answer = send_raw(
        server.port,
        b"POST /kedge/hooks/claude HTTP/1.1\r\nX-Kedge-Token:\r\nConnection: close\r\n"
        b"Content-Length: 2\r\nHost: 127.0.0.1:%d\r\n\r\n{}" % server.port,
    )
    assert b" 403 " in answer


def test_the_environment_of_the_client_comes_with_the_call(
    watched: Path, serve: Serve, kedge: Kedge
) -> None:
    kedge("task", "add", "Fix the expiry", "--id", "k-1")
    server = serve()
    send(watched, call("t-1", "ls", watched), **{"X-Kedge-Task": "k-1"})
    (row,) = server.sessions()
    assert (row["task"], row["bound"]) == ("k-1", "named")
    send(watched, call("t-2", "ls", watched), **{"X-Kedge-Judge": "1"})
    assert len(server.steps()) == 1


def test_what_cannot_be_read_is_recorded_and_the_agent_goes_on(watched: Path, serve: Serve) -> None:
    server = serve()
    entry = read_entries(watched, "PreToolUse")[1]
    for body in (b"{", b"[]", b'{"a": "' + b"x" * 11_000_000 + b'"}'):
        token = {"X-Kedge-Token": entry["headers"]["X-Kedge-Token"]}
        request = urllib.request.Request(entry["url"], body, token)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            assert json.load(answer) == {}
    assert len(server.errors()) == 3


def test_a_call_of_a_nested_repository_belongs_to_the_session(watched: Path, serve: Serve) -> None:
    say(watched)
    other = watched / "vendor"
    other.mkdir()
    git(other, "init", "-q")
    server = serve()
    assert send(watched, call("t-1", f"cd .. && {BREAKS}", other)) != {}
    assert [step["id"] for step in server.steps()] == ["t-1"]


def test_they_are_removed_byte_for_byte(project: Path, kedge: Kedge, serve: Serve) -> None:
    settings = project / SETTINGS
    settings.parent.mkdir()
    foreign = '{"type": "http", "url": "http://127.0.0.1:1/x"}'
    before = '{"hooks": {"PreToolUse": [ {"hooks": [' + foreign + "]} ]}}"
    settings.write_text(before)
    status = git(project, "status", "--porcelain", "--ignored")
    kedge("init", "--agent", "claude", "--daemon")
    assert settings.read_text() != before
    assert kedge.json("init", "--agent", "claude")["changes"] == []
    assert kedge.json("update")["changes"] == []
    serve().stop()
    assert "hooks/claude" in settings.read_text()
    kedge("init", "--agent", "claude", "--no-daemon")
    assert "hooks/claude" not in settings.read_text()
    assert "kill -0" not in settings.read_text()
    kedge("init", "--agent", "claude", "--daemon")
    server = serve()
    kedge("uninstall", "--yes", "--records")
    assert server.process.wait(TIMEOUT) == 0, "it would have no repository to serve"
    assert settings.read_text() == before
    assert git(project, "status", "--porcelain", "--ignored") == status
    assert not [*(project / ".git").glob("kedge/*")]


def test_the_doctor_knows_them(watched: Path, kedge: Kedge, serve: Serve) -> None:
    said = kedge("doctor", "--no-probe").out
    assert "kedge serve does not run" in said
    serve()
    said = kedge("doctor", "--no-probe").out
    assert "kedge serve answers" in said
    assert "another program" not in said


@pytest.mark.parametrize("alive", [True, False])
def test_claude_code_is_watched_with_and_without_the_server(
    watched: Path, serve: Serve, claude: Claude, play: Play, alive: bool
) -> None:
    calls = [{"tool": "Bash", "input": {"command": text}} for text in ("ls src", BREAKS, "exit 3")]
    model = play([*calls, "Done."])
    server = serve("--no-proxy")
    if not alive:
        os.kill(server.process.pid, 9)
        server.process.wait(TIMEOUT)
    session = claude(model.url, GOAL, "--allowedTools", "Bash", cwd=watched)
    assert session.text == "Done."
    assert (watched / "db/schema.sql").read_text() == "create table t (id int);\n"
    steps = server.steps()
    assert [step["command"] for step in steps] == ["ls src", BREAKS, "exit 3"]
    assert [step["decision"] for step in steps] == ["none", "ask", "none"]
    assert [step["ok"] for step in steps] == [True, None, False]
    (row,) = server.sessions()
    assert (row["turn"], row["goal"], row["status"]) == (1, GOAL, "completed")
    assert server.errors() == []


def test_claude_code_is_watched_when_the_server_dies_in_the_middle(
    watched: Path, serve: Serve, claude: Claude, play: Play
) -> None:
    server = serve("--no-proxy")
    threading.Thread(target=server.process.wait, daemon=True).start()  # as a shell does
    kill = f"kill -9 {server.process.pid}; sleep 0.3"
    calls = [{"tool": "Bash", "input": {"command": text}} for text in (kill, BREAKS)]
    model = play([*calls, "Done."])
    claude(model.url, GOAL, "--allowedTools", "Bash", cwd=watched)
    assert (watched / "db/schema.sql").read_text() == "create table t (id int);\n"
    assert [step["decision"] for step in server.steps()] == ["none", "ask"]


def test_claude_code_sends_the_task_of_its_environment(
    watched: Path, serve: Serve, claude: Claude, play: Play, kedge: Kedge
) -> None:
    kedge("task", "add", "Fix the expiry", "--id", "k-1", "--out-of-scope", "db")
    model = play([{"tool": "Bash", "input": {"command": "rm db/schema.sql"}}, "Done."])
    server = serve("--no-proxy", "--policy", "enforce")
    claude(model.url, "Tidy up", "--allowedTools", "Bash", cwd=watched, env={"KEDGE_TASK": "k-1"})
    (row,) = server.sessions()
    assert (row["task"], row["bound"]) == ("k-1", "named")
    assert (watched / "db/schema.sql").exists()
