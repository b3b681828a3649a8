"""Runs with the real Claude Code and Codex: their prompts, their work and their cost."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from clients import Claude, Client, Codex, environment
from drift import mapped
from support import Kedge, git, wait_for_aside

from kedge.agents.scripted_model.script import parse_turn
from kedge.store import sessions, sqlite
from kedge.testing.fake_model import FakeModel, Turn

Play = Callable[..., FakeModel]
PROMISE = "It is there.\n\n<promise>COMPLETE</promise>"
# Prints the agent's environment, and passes once the file exists.
CHECK = 'echo "context: $TASK_CONTEXT_PATH"\ntest -f "$1" || { echo "E: there is no $1"; exit 1; }'
both = pytest.mark.parametrize("agent", ["claude", "codex"])


class ClientHarness:
    """A project with tasks, and `kedge run` with a real client in a clean environment.

    The client's own output is kept, to compare it with kedge's records.
    """

    def __init__(self, client: Client, kedge: Kedge, scratch: Path) -> None:
        self.client = client
        self.kedge = kedge
        self.root = kedge.directory
        self.output = scratch / "output.jsonl"
        self._bin = scratch / "bin"
        self._bin.mkdir()
        program = self._bin / client.name
        real, output = shlex.quote(str(client.program)), shlex.quote(str(self.output))
        program.write_text(f'#!/bin/sh\n{real} "$@" | tee -a {output}\n')
        program.chmod(0o755)

    def write(self, path: str, text: str) -> dict[str, Any]:
        if self.client.name == "claude":
            return {"tool": "Write", "input": {"file_path": str(self.root / path), "content": text}}
        lines = "".join(f"+{line}\n" for line in text.splitlines())
        patch = f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"
        return {"tool": "apply_patch", "input": patch}

    def shell(self, command: str) -> dict[str, Any]:
        if self.client.name == "claude":
            return {"tool": "Bash", "input": {"command": command}}
        return {"tool": "exec_command", "input": {"cmd": command}}

    def run(self, model: FakeModel, *args: str, code: int = 0) -> list[dict[str, Any]]:
        """Run kedge, and return the events of the run."""
        env = {**environment(self.client.home), **self._own(model)}
        env["PATH"] = f"{self._bin}:{env['PATH']}"
        done = subprocess.run(
            [sys.executable, "-m", "kedge", "run", "--agent", self.client.name, "--json", *args],
            cwd=self.root,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def _own(self, model: FakeModel) -> dict[str, str]:
        if isinstance(self.client, Codex):
            (self.client.codex_home / "config.toml").write_text(_CODEX.format(url=model.url))
            return self.client.own
        return {
            "ANTHROPIC_API_KEY": "sk-ant-dummy",
            "ANTHROPIC_BASE_URL": model.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "CLAUDE_CODE_TMPDIR": str(self.client.home / "tmp"),
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def attempts(self, task: str) -> list[dict[str, Any]]:
        found = self.kedge.json("log", "show", task)
        assert isinstance(found, list)
        return found

    def steps(self, session: str) -> list[dict[str, Any]]:
        wait_for_aside(self.root / ".git" / "kedge")
        with closing(sqlite.connect(self.root / ".git" / "kedge")[0]) as db:
            assert sessions.errors(db) == []
            return sessions.steps(db, session)

    def costs(self) -> list[float]:
        """Return the cost of each call, as the client itself reports it."""
        events = [json.loads(line) for line in self.output.read_text().splitlines()]
        return [one["total_cost_usd"] for one in events if one.get("type") == "result"]

    def list_changes(self) -> list[str]:
        """Return uncommitted and ignored files, except for kedge's own."""
        lines = git(self.root, "status", "--short", "--untracked-files=all", "--ignored")
        return [one for one in lines.splitlines() if not one[3:].startswith(".kedge/")]


_CODEX = """\
model = "gpt-5.5-codex"
model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
[features]
daemon_auto_start = false
"""


@pytest.fixture
def harness(agent: str, repo: Path, kedge: Kedge, tmp_path: Path) -> ClientHarness:
    (repo / "check.sh").write_text(CHECK + "\n")
    kedge(
        "task", "add", "Build the quay", "--id", "quay", "--type", "feat", *check_option("quay.txt")
    )
    more = ("--accept", "a boat can be tied to it", "--depends", "quay")
    kedge("task", "add", "Place a bollard", "--id", "bollard", *more, *check_option("bollard.txt"))
    kedge(
        "task", "add", "Tie the boat", "--id", "boat", "--depends", "bollard", *check_option("rope")
    )
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    client = (Claude if agent == "claude" else Codex)(tmp_path / "home")
    return ClientHarness(client, kedge, tmp_path)


def check_option(name: str) -> tuple[str, str]:
    return "--check", f"sh check.sh {name}"


def texts(model: FakeModel, number: int, *roles: str) -> str:
    """Return the text of the first request of a call."""
    firsts = [one for one in model.list_requests() if not one.results]
    return "\n".join(one.text for one in firsts[number].texts if one.role in roles)


@both
def test_three_tasks_one_after_another(harness: ClientHarness, agent: str, play: Play) -> None:
    files = {"quay": "quay.txt", "bollard": "bollard.txt", "boat": "rope"}
    script: list[Turn] = []
    for number, name in enumerate(files.values()):
        used = {"input_tokens": 1000 + 111 * number, "output_tokens": 40 + number}
        script += [
            parse_turn({**harness.write(name, f"{name}\n"), **used}),
            parse_turn({**harness.shell(f"sh check.sh {name}"), **used}),
            parse_turn({"text": PROMISE, **used}),
        ]
    model = play(script)
    events = harness.run(model)
    assert model.left == 0

    # Done, proven and committed, in order.
    summary = events[-1]
    assert (summary["event"], summary["done"], summary["remaining"]) == ("summary", 3, [])
    assert git(harness.root, "log", "--format=%s", "-3").splitlines() == [
        "task(boat): Tie the boat",
        "task(bollard): Place a bollard",
        "feat(quay): Build the quay",
    ]
    for task, name in files.items():
        (one,) = harness.attempts(task)
        assert (one["outcome"], one["files"], one["agent"]) == ("done", [name], agent)
        assert [(c["exit_code"], c["tree"]) for c in one["checks"]] == [(0, one["end_tree"])]

    # Kedge reports the tokens that the server counted.
    tokens_in = [sum(one.input_tokens for one in script[at : at + 3]) for at in (0, 3, 6)]
    tokens_out = [sum(one.output_tokens for one in script[at : at + 3]) for at in (0, 3, 6)]
    attempts = [harness.attempts(task)[0] for task in files]
    assert [one["tokens_in"] for one in attempts] == tokens_in
    assert [one["tokens_out"] for one in attempts] == tokens_out
    spent = summary["spent"]
    assert (spent["tokens_in"], spent["tokens_out"]) == (sum(tokens_in), sum(tokens_out))
    costs = harness.costs()
    if agent == "claude":
        assert len(costs) == 3
        assert min(costs) > 0
        assert [one["cost_usd"] for one in attempts] == costs
        assert (round(spent["cost"], 9), spent["unpriced"]) == (round(sum(costs), 9), 0)
    else:
        assert [one.get("cost_usd") for one in attempts] == [None, None, None]
        assert (spent["cost"], spent["unpriced"]) == (0, 3)

    # The hooks of each call recorded its steps.
    started = {one["task"]: one["session"] for one in events if one["event"] == "started"}
    for task, name in files.items():
        written, ran = harness.steps(started[task])
        assert written["files"] == [name]
        assert ran["command"] == f"sh check.sh {name}"
    assert harness.list_changes() == []

    # The prompts hold the task and the loop's instructions.
    for number, task in enumerate(files):
        assert f"Task ID: {task}" in texts(model, number, "user")
        assert "Working alone" in texts(model, number, "system", "developer")
        context = harness.root / ".kedge" / "context" / task / "context.json"
        answers = [one.results for one in model.list_requests()]
        assert any(f"context: {context}" in one for one in answers)
    assert "a boat can be tied to it" in texts(model, 1, "user")


@both
def test_a_failed_check_is_reported_within_the_call_and_in_the_next_prompt(
    harness: ClientHarness, agent: str, play: Play
) -> None:
    first = [{**harness.write("other.txt", "x\n"), "text": "I write."}, PROMISE, PROMISE]
    model = play([*first, harness.write("quay.txt", "quay\n"), PROMISE, "It will be green."])
    harness.run(model, "--task", "quay")
    assert model.left == 0
    assert [one["outcome"] for one in harness.attempts("quay")] == ["failed-checks", "done"]
    requests = model.list_requests()
    assert "`sh check.sh quay.txt` did not pass since the last change" not in requests[1].given
    assert "`sh check.sh quay.txt` did not pass since the last change" in requests[2].given
    assert "WHAT WENT WRONG" not in requests[2].given
    again = texts(model, 1, "user")
    assert "The agent said it was done, but `sh check.sh quay.txt` failed" in again
    assert "E: there is no quay.txt" in again


@both
def test_the_agent_may_only_edit_files_and_run_checks(
    harness: ClientHarness, agent: str, play: Play
) -> None:
    outside = harness.root / ".git" / "there"
    meddling = harness.shell('python3 -c \'open(".git/there", "w")\'')
    green = [harness.write("quay.txt", "x\n"), harness.shell("sh check.sh quay.txt"), PROMISE]
    events = harness.run(play([meddling, *green]), "--task", "quay")
    assert not outside.exists()
    assert harness.attempts("quay")[-1]["outcome"] == "done"
    denied = [one["tool"] for one in events if one["event"] == "denied"]
    assert denied == (["Bash"] if agent == "claude" else [])  # Codex runs it in its sandbox


@both
def test_a_provider_that_refuses_the_key_ends_the_run(
    harness: ClientHarness, agent: str, play: Play
) -> None:
    model = play(lambda _: {"status": 401})
    events = harness.run(model, code=1)
    summary = events[-1]
    assert (summary["event"], summary["done"], summary["left"]) == ("summary", 0, 1)
    (one,) = harness.attempts("quay")
    assert one["outcome"] == "agent-error"
    assert "auth" in one["reason"]
    assert harness.kedge.json("task", "show", "quay")["status"] == "open"
    assert harness.list_changes() == []


@both
def test_drift_is_reported_during_the_run_and_in_the_summary(
    harness: ClientHarness, play: Play
) -> None:
    harness.kedge("task", "update", "quay", "--out-of-scope", "db")
    work = [
        harness.write("db/schema.sql", "drop table boats;\n"),
        harness.shell("true"),
        harness.write("quay.txt", "stone\n"),
    ]
    with play([*work, PROMISE]) as model:
        events = harness.run(model, "--task", "quay")
    assert not (harness.root / "db").exists()
    (result,) = events[-1]["results"]
    assert result["state"] == "done"
    assert result["drift"]["worst"] == "intervene"
    assert result["drift"]["alarms"] == 1
    assert [one["course"] for one in events if one["event"] == "drift"][:1] == ["DRIFTED"]
    (attempt,) = harness.attempts("quay")
    assert attempt["drift"]["alarms"] == 1


@both
def test_the_map_of_the_project_is_used_in_a_run(harness: ClientHarness, play: Play) -> None:
    """A change that shares nothing with the task is seen with the map alone."""
    mapped.fill(harness.root)
    harness.kedge("task", "add", mapped.GOAL, "--id", "jwt", *check_option("quay.txt"))
    turns = [
        harness.write("src/auth/expiry.py", "def verify_token(claim): return claim['exp']\n"),
        harness.write("src/charts/donut.py", "radius = 12\n"),
        harness.write("quay.txt", "x\n"),
        PROMISE,
    ]

    def answer(_: Any) -> Any:
        wait_for_aside(harness.root / ".git" / "kedge")  # the files are ranked meanwhile
        return turns.pop(0) if turns else PROMISE

    with play(answer) as model:
        events = harness.run(model, "--task", "jwt")
    (session,) = {one["session"] for one in events if one["event"] == "started"}
    scores = {
        path: step["drift_score"] for step in harness.steps(session) for path in step["files"]
    }
    assert scores["src/auth/expiry.py"] == 10
    assert scores["src/charts/donut.py"] == 7
