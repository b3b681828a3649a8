"""Gemini CLI, Copilot CLI and opencode through `kedge serve`, started by `kedge exec`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from clients import Copilot, Gemini, Opencode
from proxy.conftest import Serve
from proxy.test_clients import BREAKS, GOAL, Play, read_schema, run_exec
from support import Kedge

SCHEMA = "create table t (id int);\n"
READS = "cat src/auth/token.py"


def test_calls_of_gemini_are_recorded_and_scored(
    project: Path, serve: Serve, gemini: Gemini, play: Play, kedge: Kedge
) -> None:
    """Its API is only observed. The wire names no session: kedge's path and option do."""
    call = {"tool": "run_shell_command", "input": {"command": BREAKS, "description": "x"}}
    model = play([call, "Done."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    name = "0b6c2a4e-3a51-4d0e-9f0e-0123456789ab"
    words = ["-p", GOAL, "-m", "gemini-2.5-pro", "-o", "json", "--approval-mode", "yolo"]
    own = gemini.own(model.url)
    run_exec(kedge, gemini.home, str(gemini.program), *words, "--session-id", name, **own)
    assert read_schema(project) != SCHEMA
    (row,) = server.sessions()
    assert (row["id"], row["agent"], row["goal"]) == (name, "gemini", GOAL)
    (step,) = server.steps()
    assert (step["decision"], step["drift_score"] < 5) == ("none", True)
    assert server.errors() == []


@pytest.mark.parametrize("agent", ["gemini", "copilot"])
def test_with_hooks_a_call_is_recorded_once(
    project: Path,
    serve: Serve,
    gemini: Gemini,
    copilot: Copilot,
    play: Play,
    kedge: Kedge,
    agent: str,
) -> None:
    """No option names the session: that of the hooks has the process that `kedge exec` became."""
    kedge("init", "--agent", agent)
    tool = {"gemini": "run_shell_command", "copilot": "bash"}[agent]
    call = {"tool": tool, "input": {"command": READS, "description": "x"}}
    model = play([call, "Done."])
    server = serve("--upstream", model.url)
    client: Gemini | Copilot = gemini if agent == "gemini" else copilot
    flags = ["-m", "gemini-2.5-pro", "-o", "json", "--approval-mode", "yolo"]
    if agent == "copilot":
        flags = ["--allow-all-tools", "--trust-folder", "--output-format", "json"]
    words = [str(client.program), "-p", GOAL, *flags]
    run_exec(kedge, client.home, *words, **client.own(model.url))
    (row,) = server.sessions()
    assert not row["id"].startswith("exec-")
    assert (row["agent"], row["goal"], row["turn"]) == (agent, GOAL, 1)
    (step,) = server.steps()
    assert (step["command"], step["ok"]) == (READS, True)
    assert server.errors() == []


def test_copilot_is_refused_a_command(
    project: Path, serve: Serve, copilot: Copilot, play: Play, kedge: Kedge
) -> None:
    model = play([{"tool": "bash", "input": {"command": BREAKS, "description": "x"}}, "I left it."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    own = copilot.own(model.url)
    words = ["-p", GOAL, "--allow-all-tools", "--trust-folder", "--output-format", "json"]
    run_exec(kedge, copilot.home, str(copilot.program), *words, **own)
    assert read_schema(project) == SCHEMA
    assert "Don't touch db/schema.sql" in model.list_requests()[-1].results
    (row,) = server.sessions()
    assert (row["agent"], row["goal"]) == ("copilot", GOAL)
    (step,) = server.steps()
    assert step["decision"] == "deny"
    assert server.errors() == []


def test_opencode_is_refused_a_command_and_its_own_settings_stay(
    project: Path, serve: Serve, opencode: Opencode, play: Play, kedge: Kedge
) -> None:
    """It reads the base URL from its environment, behind the user's own settings."""
    call: dict[str, Any] = {"tool": "bash", "input": {"command": BREAKS, "description": "x"}}
    model = play([call, "I left it."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    settings = {"autoupdate": False, "share": "disabled"}
    own = {
        **opencode.own(model.url),
        "ANTHROPIC_API_KEY": "sk-dummy",
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }
    words = ["run", "--pure", "--format", "json", "-m", "anthropic/claude-sonnet-4-5", GOAL]
    out = run_exec(kedge, opencode.home, str(opencode.program), *words, **own)
    assert read_schema(project) == SCHEMA
    assert "Don't touch db/schema.sql" in model.list_requests()[-1].results
    (row,) = server.sessions()
    assert row["agent"] == "opencode"
    assert row["id"] in out, "the session that it names itself"
    (step,) = server.steps()
    assert step["decision"] == "deny"
    assert server.errors() == []


def test_calls_of_opencode_over_chat_completions_are_recorded_and_scored(
    project: Path, serve: Serve, opencode: Opencode, play: Play
) -> None:
    """With a provider of the user's own, whose API is only observed."""
    calls: list[dict[str, Any]] = [
        {"tool": "bash", "input": {"command": command, "description": "x"}}
        for command in (READS, BREAKS)
    ]
    model = play([*calls, "Done."])
    server = serve("--upstream", model.url, "--policy", "enforce")
    settings = opencode.settings(server.url)
    settings["provider"]["fake"]["npm"] = "@ai-sdk/openai-compatible"
    session = opencode(server.url, GOAL, cwd=project, settings=settings)
    assert {one.api for one in model.requests} == {"chat"}
    assert read_schema(project) != SCHEMA
    (row,) = server.sessions()
    assert (row["id"], row["agent"], row["goal"]) == (
        session.events[0]["sessionID"],
        "opencode",
        GOAL,
    )
    steps = server.steps()
    assert [(step["command"], step["decision"]) for step in steps] == [
        (READS, "none"),
        (BREAKS, "none"),
    ]
    assert [step["ok"] for step in steps] == [True, True]
    assert [step["drift_score"] < 5 for step in steps] == [False, True]
    assert server.errors() == []
