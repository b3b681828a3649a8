"""`kedge drift replay --all` reads the transcripts that the real clients write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from clients import Claude, Codex
from support import Kedge

from kedge.agents.transcripts import locations, sessions
from kedge.agents.transcripts.events import Compacted, PromptMessage, ToolCall, ToolResult
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
FULL = 990_000  # tokens: more than Claude Code lets a conversation have before it compacts it


def list_calls(home: Path, repo: Path) -> list[tuple[str, Any, str, bool]]:
    """Return each call of the sessions in a home: tool, input, reasoning, and success."""
    places = [home / ".claude" / "projects", home / ".codex" / "sessions"]
    files = [
        file
        for path in sessions.find_files([place for place in places if place.is_dir()])
        for file in locations.inspect_project_files(path, repo)
    ]
    found = []
    for session in sessions.group_sessions(files):
        events = list(sessions.read_events(session))
        ended = {event.id: event.ok for event in events if isinstance(event, ToolResult)}
        found += [
            (event.tool, event.input, event.reasoning, ended[event.id])
            for event in events
            if isinstance(event, ToolCall)
        ]
    return found


def test_claude_code_with_a_subagent_and_a_fork(
    claude: Claude, repo: Path, play: Play, kedge: Kedge
) -> None:
    write = {"file_path": str(repo / "lexer.py"), "content": "TAB = 8\n"}
    task = {"description": "look", "prompt": "Look around.", "subagent_type": "general-purpose"}
    model = play(
        [
            {"text": "I write it.", "tool": "Write", "input": write},
            {"tool": "Bash", "input": {"command": "exit 3"}},
            {"tool": "Agent", "input": task},
            "Waiting.",
            "Done.",
            "Done again.",
        ],
        subagent=[{"tool": "Bash", "input": {"command": "echo below"}}, "Looked."],
    )
    flags = ("--allowedTools", "Bash,Agent,Write")
    session = claude(model.url, "Write the lexer.", *flags, cwd=repo)
    claude(model.url, "Go on.", "--resume", session.id, "--fork-session", *flags, cwd=repo)
    first, fork = kedge.json("drift", "replay", "--all", env={"HOME": str(claude.home)})
    assert (first["session"], first["agent"], first["goal"]) == (
        session.id,
        "claude",
        "Write the lexer.",
    )
    assert (first["actions"], first["modifying"], first["subagents"]) == (4, 1, 1)
    assert first["model"].startswith("claude")
    assert (fork["actions"], fork["copied"], fork["prompts"]) == (0, 3, 2)
    with_fork = list_calls(claude.home, repo)
    assert with_fork[:4] == [
        ("Write", write, "I write it.", True),
        ("Bash", {"command": "exit 3"}, "", False),
        ("Agent", task, "", True),
        ("Bash", {"command": "echo below"}, "", True),
    ]
    assert len(with_fork) == 7


def test_claude_code_that_compacts(claude: Claude, repo: Path, play: Play) -> None:
    look = {"tool": "Bash", "input": {"command": "true"}}
    model = play([{**look, "input_tokens": FULL}, look, "Done."])
    claude(model.url, "THE-GOAL", "--allowedTools", "Bash", cwd=repo)
    (path,) = sessions.find_files([claude.home / ".claude" / "projects"])
    file = sessions.inspect_file(path)
    assert file is not None
    (session,) = sessions.group_sessions([file])
    found = list(sessions.read_events(session))
    said = [event.text for event in found if isinstance(event, PromptMessage) and not event.machine]
    assert said == ["THE-GOAL"]
    assert sum(isinstance(event, Compacted) for event in found) == 1
    assert sum(isinstance(event, ToolCall) for event in found) == 2


def test_codex_with_what_it_adds_to_the_prompt(
    codex: Codex, repo: Path, play: Play, kedge: Kedge
) -> None:
    (repo / "AGENTS.md").write_text("Don't touch lexer.txt.\n")
    patch = "*** Begin Patch\n*** Add File: lexer.txt\n+TAB = 8\n*** End Patch\n"
    model = play(
        [
            {"tool": "apply_patch", "input": patch},
            {"text": "I look.", "tool": "exec_command", "input": {"cmd": "exit 3"}},
            "Done.",
            "On.",
        ]
    )
    session = codex(model.url, "Write lexer.txt.", cwd=repo)
    codex(model.url, "Go on.", cwd=repo, resume=session.id)
    env = {"HOME": str(codex.home), "CODEX_HOME": ""}
    (found,) = kedge.json("drift", "replay", "--all", env=env)
    assert (found["session"], found["agent"], found["goal"]) == (
        session.id,
        "codex",
        "Write lexer.txt.",
    )
    assert (found["actions"], found["modifying"], found["prompts"]) == (2, 1, 2)
    assert found["alarms"] == []
    assert list_calls(codex.home, repo) == [
        ("apply_patch", patch, "", True),
        ("exec_command", {"cmd": "exit 3"}, "I look.", False),
    ]
