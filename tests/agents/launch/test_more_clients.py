"""The adapters with the real Gemini CLI, Copilot CLI and opencode, from invocation to end."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents.launch.client_runner import (
    LONG,
    SLOW,
    Play,
    Runner,
    list_changes,
    make_invocation,
    of,
    processes,
    run_and_stop,
    the_end,
)
from clients import Client, Copilot, Gemini, Opencode, environment

from kedge.agents.launch import copilot, copilot_permission, gemini, opencode
from kedge.agents.launch.events import (
    Reason,
    RetryWait,
    Started,
    ToolDenied,
    ToolFinished,
    ToolStarted,
    Usage,
)
from kedge.agents.launch.invocation import Permissions
from kedge.testing.fake_model import FakeModel

CLIENTS: dict[str, tuple[type[Any], Any]] = {
    "gemini": (Gemini, gemini),
    "copilot": (Copilot, copilot),
    "opencode": (Opencode, opencode),
}
ALLOWED = "python3 -c 'print(2)' | sort"
Start = Callable[[FakeModel], Runner]


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Client:
    make, _ = CLIENTS[request.param]
    made: Client = make(tmp_path / "home")
    return made


@pytest.fixture
def start(client: Any) -> Start:
    _, adapter = CLIENTS[client.name]

    def make(model: FakeModel) -> Runner:
        env = {**environment(client.home), **client.own(model.url)}
        env |= {"COPILOT_ALLOW_ALL": "true", "PWD": "/"}  # of the user's, to be left aside
        return Runner(adapter, client.program, env)

    return make


def write(client: Client, path: Path, text: str) -> dict[str, Any]:
    if client.name == "gemini":
        return {"tool": "write_file", "input": {"file_path": str(path), "content": text}}
    if client.name == "copilot":
        return {"tool": "create", "input": {"path": str(path), "file_text": text}}
    return {"tool": "write", "input": {"filePath": str(path), "content": text}}


def shell(client: Client, command: str) -> dict[str, Any]:
    tool = "run_shell_command" if client.name == "gemini" else "bash"
    return {"tool": tool, "input": {"command": command, "description": "a step"}}


def test_work_is_done_and_reported(client: Client, start: Start, repo: Path, play: Play) -> None:
    """The prompt arrives, edits and allowed commands run, other commands are denied."""
    commands = (f"echo $KEDGE_TASK && {ALLOWED}", "false", "python3 -c 'print(1)'")
    steps = [shell(client, command) for command in commands]
    place = repo if client.name == "gemini" else Path()  # it takes no relative path
    first = {"text": "First.", **write(client, place / "a.txt", "a\n")}
    model = play([first, *steps, "All done."])
    session = str(uuid.uuid4())
    invocation = make_invocation(
        repo,
        LONG,
        system="SYSTEM-TEXT",
        session=session,
        permissions=Permissions((ALLOWED, "echo", "false")),
        environment={"KEDGE_TASK": "T-1"},
    )
    events = start(model).run(invocation)
    end = the_end(events)
    assert (end.reason, end.text, end.message) == (Reason.COMPLETED, "All done.", "")
    assert isinstance(events[0], Started)
    assert events[0].session == end.session
    if client.name != "opencode":
        assert end.session == session
    requests = model.list_requests()
    assert len(requests) == 5
    # Gemini counts its question which model to use, opencode does not count that for a title.
    asked = 6 if client.name == "gemini" else 5
    cost = asked * (3 * 1000 + 15 * 50) / 1e6
    assert end.used is not None
    assert (end.used.tokens_in, end.used.tokens_out) == (1000 * asked, 50 * asked)
    assert end.used.cost == (pytest.approx(cost) if client.name == "opencode" else None)
    assert of(events, Usage)[-1] == end.used
    calls = of(events, ToolStarted)
    assert [call.summary for call in calls] == [str(place / "a.txt"), *commands]
    answers = {one.id: one.ok for one in of(events, ToolFinished)}
    failed = client.name == "gemini"  # it does not say that a command failed
    assert [answers[call.id] for call in calls] == [True, True, failed, False]
    (denied,) = of(events, ToolDenied)
    assert (denied.tool, denied.id) == (calls[-1].tool, calls[-1].id)
    assert denied.reason
    given = requests[0].given
    assert LONG in given
    assert given.index("SYSTEM-TEXT") < given.index(LONG)
    assert "T-1" in requests[2].results
    assert "2" in requests[2].results
    assert list_changes(repo) == ["?? a.txt"]


def test_a_refused_key_has_its_reason(client: Client, start: Start, repo: Path, play: Play) -> None:
    events = start(play(lambda _: {"status": 401})).run(make_invocation(repo))
    assert the_end(events).reason is Reason.AUTH
    assert the_end(events).message
    assert bool(of(events, RetryWait)) is (client.name == "copilot")


def test_copilot_reports_a_prompt_that_is_too_long(tmp_path: Path, repo: Path, play: Play) -> None:
    client = Copilot(tmp_path / "home")
    model = play(lambda _: {"status": 400, "message": "prompt is too long: 3 tokens > 2"})
    env = {**environment(client.home), **client.own(model.url)}
    events = Runner(copilot, client.program, env).run(make_invocation(repo))
    assert the_end(events).reason is Reason.TOO_LONG


def test_full_access_denies_nothing(client: Client, start: Start, repo: Path, play: Play) -> None:
    model = play([shell(client, "python3 -c 'print(40 + 2)'"), "Done."])
    events = start(model).run(make_invocation(repo, permissions=Permissions(full=True)))
    assert the_end(events).ok
    assert of(events, ToolDenied) == []
    assert "42" in model.list_requests()[-1].results


def test_a_stopped_agent_leaves_no_process(
    client: Client, start: Start, repo: Path, play: Play
) -> None:
    (repo / "slow.sh").write_text(SLOW)
    model = play([shell(client, "sh slow.sh")])
    invocation = make_invocation(repo, permissions=Permissions(("sh slow.sh",)))
    end = run_and_stop(start(model), invocation, repo)
    assert end.reason is Reason.KILLED
    assert "tokens" in end.message
    assert processes(client.home) == []


def test_copilot_that_is_not_logged_in_says_so(tmp_path: Path, repo: Path) -> None:
    client = Copilot(tmp_path / "home")
    end = the_end(
        Runner(copilot, client.program, environment(client.home)).run(make_invocation(repo))
    )
    assert (end.reason, end.message) == (Reason.AUTH, "not logged in: run copilot login")


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("make test", True),
        ("make test -k moor", True),
        ("make test && make lint | sort", True),
        ("python3 -c 'print(1); x()'", True),
        ("make testing", False),
        ("make clean", False),
        ("make test; rm -rf .", False),
        ("make test & rm -rf .", False),
        ("make test\nrm -rf .", False),
        ("make test $(rm -rf .)", False),
        ("make test `rm -rf .`", False),
        ("make test > .git/config", False),
        ("make test <(rm -rf .)", False),
        ("rm -rf .; make test", False),
        (r"make test $'\'' ; rm -rf . #'", False),
        (r'make test $"\"" ; rm -rf . #"', False),
        ("make test K=$KEDGE_TASK", True),
        ("", False),
    ],
)
def test_copilots_commands_are_allowed_by_their_words(
    command: str, allowed: bool, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps(["make test", "make lint", "sort", "python3 -c 'print(1); x()'"]))
    asked = json.dumps({"toolName": "bash", "toolInput": {"command": command}})
    hook = copilot_permission.make_command(rules)
    done = subprocess.run(hook, shell=True, input=asked.encode(), capture_output=True, check=True)
    assert done.stdout == (b'{"behavior": "allow"}' if allowed else b"")
