"""Real agents use kedge's tools."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from clients import Claude, Codex, Copilot, Opencode
from support import Kedge, git

from kedge.testing.fake_model import FakeModel, Request

Play = Callable[..., FakeModel]
COMMAND, ARGS = sys.executable, ["-P", "-m", "kedge", "mcp"]


@pytest.fixture
def project(repo: Path, kedge: Kedge) -> Kedge:
    (repo / "moor.py").write_text("def moor(ship: str) -> str: ...\n")
    kedge("init", "--no-hooks")
    kedge("task", "add", "Moor the ship", "--id", "t1", "--accept", "it holds")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    return kedge


MCP = {"mcpServers": {"kedge": {"command": COMMAND, "args": ARGS}}}
PROMPT = "Claim the task."


def run_claude(claude: Claude, url: str, cwd: Path) -> None:
    allowed = ("--allowedTools", "mcp__kedge__task_claim")
    claude(url, PROMPT, "--mcp-config", json.dumps(MCP), *allowed, cwd=cwd)


def run_codex(codex: Codex, url: str, cwd: Path) -> None:
    server = {"command": COMMAND, "args": ARGS}
    settings = [f"mcp_servers.kedge.{key}={json.dumps(value)}" for key, value in server.items()]
    codex(url, PROMPT, *(word for one in settings for word in ("-c", one)), cwd=cwd)


def run_copilot(copilot: Copilot, url: str, cwd: Path) -> None:
    server = {**MCP["mcpServers"]["kedge"], "type": "stdio", "tools": ["*"]}
    settings = json.dumps({"mcpServers": {"kedge": server}})
    copilot(url, PROMPT, "--additional-mcp-config", settings, cwd=cwd)


def run_opencode(opencode: Opencode, url: str, cwd: Path) -> None:
    server = {"type": "local", "command": [COMMAND, *ARGS]}
    opencode(url, PROMPT, cwd=cwd, settings={"mcp": {"kedge": server}})


CALLS: dict[str, tuple[Callable[[Any, str, Path], None], dict[str, str]]] = {
    "claude": (run_claude, {"tool": "mcp__kedge__task_claim"}),
    "codex": (run_codex, {"tool": "task_claim", "namespace": "mcp__kedge"}),
    "copilot": (run_copilot, {"tool": "kedge-task_claim"}),
    "opencode": (run_opencode, {"tool": "kedge_task_claim"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_agent_claims_a_task(
    project: Kedge, name: str, play: Play, request: pytest.FixtureRequest
) -> None:
    run, call = CALLS[name]

    def answer(asked: Request) -> Any:
        """Call the tool once; a request for a title of the session has no tools."""
        if asked.results or not asked.body.get("tools"):
            return "Done."
        return {**call, "input": {"task": "t1"}}

    with play(answer) as model:
        run(request.getfixturevalue(name), model.url, project.directory)
        results = "".join(asked.results for asked in model.requests)
    assert re.search(r'"status": ?"in_progress"', results.replace("\\", "")), results
    assert project("task", "show", "t1", "--json").data["status"] == "in_progress"
