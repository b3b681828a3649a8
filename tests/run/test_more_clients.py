"""Runs with the real Gemini CLI, Copilot CLI and opencode: their work, their tokens, the proof."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clients import PROGRAMS, Copilot, Gemini, Opencode, environment
from support import Kedge, assert_clear, git

from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
PROMISE = "It is there.\n\n<promise>COMPLETE</promise>"
CHECK = 'echo "task: $KEDGE_TASK"\ntest -f "$1"\n'
CLIENTS: dict[str, Any] = {"gemini": Gemini, "copilot": Copilot, "opencode": Opencode}
WRITE = {
    "gemini": ("write_file", "file_path", "content", "run_shell_command"),
    "copilot": ("create", "path", "file_text", "bash"),
    "opencode": ("write", "filePath", "content", "bash"),
}


def run_task(
    client: Any, model: FakeModel, repo: Path, **variables: str
) -> tuple[list[dict[str, Any]], str]:
    """Run kedge with the client on the task; return the events of the run, and all it printed."""
    env = {**environment(client.home), **client.own(model.url), **variables}
    done = subprocess.run(
        [sys.executable, "-m", "kedge", "run", "--agent", client.name, "--task", "quay", "--json"],
        cwd=repo,
        env={**env, "PATH": f"{PROGRAMS}:{env['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stdout + done.stderr


@pytest.mark.parametrize("name", CLIENTS)
def test_a_task_is_done_proven_and_committed(
    name: str, repo: Path, kedge: Kedge, tmp_path: Path, play: Play
) -> None:
    (repo / "check.sh").write_text(CHECK)
    kedge("task", "add", "Build the quay", "--id", "quay", "--check", "sh check.sh quay.txt")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    tool, path, content, shell = WRITE[name]
    key = "sk-not-to-be-seen"
    client = CLIENTS[name](tmp_path / "home")
    model = play(
        [
            {
                "text": "I write it.",
                "tool": tool,
                "input": {path: str(repo / "quay.txt"), content: "stone\n"},
            },
            {"tool": shell, "input": {"command": "python3 -c 'print(1)'", "description": "d"}},
            {"tool": shell, "input": {"command": "sh check.sh quay.txt", "description": "d"}},
            PROMISE,
        ]
    )
    events, said = run_task(client, model, repo, OTHER_API_KEY=key)
    assert model.left == 0
    assert key not in said
    assert ("takes no hooks for a single run" in said) is (name == "gemini")

    # Done and proven by kedge, committed, and nothing else is left in the project.
    assert git(repo, "log", "--format=%s", "-1").strip() == "task(quay): Build the quay"
    assert git(repo, "show", "--format=", "--name-only", "HEAD", "--", "quay.txt").strip()
    (attempt,) = kedge.json("log", "show", "quay")
    assert (attempt["outcome"], attempt["files"], attempt["agent"]) == ("done", ["quay.txt"], name)
    assert [(one["exit_code"], one["tree"]) for one in attempt["checks"]] == [
        (0, attempt["end_tree"])
    ]
    changed = git(repo, "status", "--short", "--untracked-files=all").splitlines()
    assert [line for line in changed if not line[3:].startswith(".kedge/")] == []

    # The agent got its task and its instructions, and could run the check and nothing else.
    requests = model.list_requests()
    assert "Task ID: quay" in requests[0].given
    assert "Working alone" in requests[0].given
    assert "task: quay" in requests[3].results
    assert [one["tool"] for one in events if one["event"] == "denied"] == [shell]

    # Tokens are those the server counted; opencode alone knows what they cost.
    asked = len(model.list_requests("main", "aside" if name == "gemini" else "main"))
    assert (attempt["tokens_in"], attempt["tokens_out"]) == (1000 * asked, 50 * asked)
    cost = pytest.approx(4 * (3 * 1000 + 15 * 50) / 1e6) if name == "opencode" else None
    assert attempt.get("cost_usd") == cost

    # What the agent has left on disk is replayed.
    (started,) = [one for one in events if one["event"] == "started"]
    (replayed,) = kedge.json("drift", "replay", "--all", env={"HOME": str(client.home)})
    assert (replayed["agent"], replayed["session"]) == (name, started["session"])
    assert (replayed["actions"], replayed["modifying"]) == (3, 1)
    assert "Build the quay" in replayed["goal"]


def test_a_client_that_is_not_installed_is_named(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "Build the quay", "--id", "quay", "--check", "true")
    for name in CLIENTS:
        ran = kedge("run", "--agent", name, env={"PATH": "/usr/bin:/bin"}, code=None)
        assert_clear(ran, code=1, says=f"{name} is not on PATH")
        assert "npm install -g " in ran.err


@pytest.mark.parametrize(
    ("name", "installed"),
    [("copilot", False), ("copilot", True), ("gemini", True), ("opencode", False)],
)
def test_a_forbidden_edit_is_stopped_in_a_run(
    name: str, repo: Path, kedge: Kedge, tmp_path: Path, play: Play, *, installed: bool
) -> None:
    """The hooks are part of the call, or Gemini's are in the project. Each call is judged once."""
    if installed:
        kedge("init", "--agent", name)
    tool, path, content, _ = WRITE[name]
    (repo / "check.sh").write_text(CHECK)
    kedge("task", "add", "Build the quay", "--id", "quay", "--check", "sh check.sh quay.txt")
    kedge("task", "update", "quay", "--out-of-scope", "db")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    client = CLIENTS[name](tmp_path / "home")
    writes = [
        {"tool": tool, "input": {path: str(repo / place), content: "x\n"}}
        for place in ("db/schema.sql", "quay.txt")
    ]
    model = play([*writes, PROMISE])
    events, _ = run_task(client, model, repo)
    assert not (repo / "db").exists()
    (result,) = events[-1]["results"]
    assert (result["state"], result["drift"]["alarms"]) == ("done", 1)
    assert "db" in model.list_requests()[1].results
    assert not (repo / "opencode.json").exists()
