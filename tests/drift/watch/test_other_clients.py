"""Gemini CLI, Copilot CLI and opencode under kedge's watch, with what `kedge init` installs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from clients import Copilot, Gemini, Opencode
from drift.harbour import Harbour
from support import Kedge, git

from kedge.host import agent_process
from kedge.store import sqlite
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
AGENTS = ["gemini", "copilot", "opencode"]
GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
SCOPE = ("--scope", "src/utils/", "--out-of-scope", "src/middleware/")
OUT, BESIDE = "src/middleware/etag/new.ts", "src/router/trie.ts"
KEYS = {
    "gemini": {"GEMINI_API_KEY": "keyofgemini0815"},
    "copilot": {"COPILOT_PROVIDER_API_KEY": "keyofcopilot0815"},
    "opencode": {"ANTHROPIC_API_KEY": "keyofopencode0815"},
}
every = pytest.mark.parametrize("agent", AGENTS)


@pytest.fixture
def harbour(
    repo: Path, kedge: Kedge, gemini: Gemini, copilot: Copilot, opencode: Opencode
) -> Harbour:
    (repo / "src" / "auth").mkdir(parents=True)
    (repo / "src" / "auth" / "token.py").write_text("TTL = 60\n")
    for path in (OUT, BESIDE):  # Copilot does not create folders
        (repo / path).parent.mkdir(parents=True)
    kedge("init", *(word for agent in AGENTS for word in ("--agent", agent)))
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    others: dict[str, Callable[..., Any]] = {
        "gemini": gemini,
        "copilot": copilot,
        "opencode": partial(opencode, pure=False),
    }
    return Harbour(kedge, None, None, **others)


@every
def test_an_agent_is_anchored_stopped_corrected_and_asked_to_prove(
    harbour: Harbour, agent: str, play: Play
) -> None:
    harbour.kedge("task", "add", "Parse dates faster", "--id", "k1", *SCOPE, "--check", "true")
    harbour.kedge("task", "claim", "k1")
    text = "export const x = 1\n"
    again = harbour.shell(agent, "echo out; exit 3")
    calls = [harbour.write(agent, OUT, text), harbour.write(agent, BESIDE, text), again, again]
    with play([*calls, "Done.", "Done again.", "Still done."]) as model:
        harbour.run(agent, model, "Make it faster.", env=KEYS[agent])
    first, refused, corrected, *_, last = [one.given + one.results for one in model.list_requests()]
    # anchored from the first request on, and the managed section is there
    assert "This session is bound to k1 (in progress here)." in first
    assert "Parse dates faster" in first
    assert "`kedge task ready` lists what can be started" in first
    assert "[kedge]" not in first
    # stopped before execution
    assert not (harbour.root / OUT).exists()
    assert "src/middleware/" in refused
    assert "out of scope" in refused
    # corrected in the turn
    assert (harbour.root / BESIDE).exists()
    assert f"not in the task's scope: {BESIDE}" in corrected.partition("[kedge] This leaves")[2]
    # asked once to prove it, and no more; a plugin of opencode cannot make it go on
    asked = agent != "opencode"
    assert last.count("is not proven done: `true`") == asked
    assert len(model.list_requests()) == 5 + asked
    denied, written, one, two = harbour.steps()
    assert (denied["decision"], denied["ok"]) == ("deny", None)
    assert (written["drift_score"], written["ok"]) == (5, True)
    assert (one["ok"], two["ok"]) == (False, False)  # two calls, though they are alike
    row = harbour.session()
    assert (row["agent"], row["task"], row["status"]) == (agent, "k1", "completed")
    assert agent_process.is_gone(row["process"]), row["process"]
    # what kedge said at the end is not taken for a message of the user
    charters = harbour.kedge.json("drift", "explain", "last")["revisions"]
    assert [one["said"] for one in charters] == ["Make it faster."]
    assert harbour.errors() == []
    (key,) = KEYS[agent].values()
    assert not [one for one in harbour.home.rglob("*") if one.is_file() and key in read(one)]


def read(path: Path) -> str:
    return path.read_bytes().decode("latin-1")


FILES = {
    "gemini": (".gemini/settings.json", "AfterTool", 1000),
    "copilot": (".github/hooks/kedge.json", "PostToolUse", 1),
    "opencode": (".kedge/opencode.js", "PostToolUse", 1),
}  # with the event after a call, and a second


def break_hooks(root: Path, agent: str) -> None:
    """Let the hook of a session's start have no Python, and the one after a call hang."""
    name, after, second = FILES[agent]
    path = root / name
    text = path.read_text()
    if agent == "opencode":
        (line,) = [line for line in text.splitlines() if line.startswith("const COMMAND")]
        own = json.loads(line.partition(" = ")[2].rstrip(";"))
        cases = f'*SessionStart*) /gone/python;; *{after}*) sleep 30;; *) echo "$i" | {own};;'
        broken = json.dumps(f'i=$(cat); case "$i" in {cases} esac')
        text = text.replace(line, f"const COMMAND = {broken};").replace("10_000", "1_000")
        path.write_text(text)
        return
    settings = json.loads(text)
    for group in settings["hooks"]["SessionStart"]:
        hook = group["hooks"][0]
        hook["command"] = hook["command"].replace(sys.executable, "/gone/python")
    for group in settings["hooks"][after]:
        group["hooks"][0] |= {"command": "sleep 30 || :", "timeout": second}
    path.write_text(json.dumps(settings))


@every
def test_without_a_working_kedge_the_agent_works_on(
    harbour: Harbour, agent: str, play: Play
) -> None:
    """Its Python is gone at one event, it hangs at another, and its database is broken."""
    with closing(sqlite.connect(harbour.home)[0]) as db:
        db.execute("DROP TABLE step")
    break_hooks(harbour.root, agent)
    with play([harbour.write(agent, "src/auth/new.py", "A = 1\n"), "Done."]) as model:
        harbour.run(agent, model, GOAL)
    assert (harbour.root / "src" / "auth" / "new.py").exists()
    assert len(model.list_requests()) == 2
    assert any("no such table: step" in one["error"] for one in harbour.errors())


BIG = "".join(f"words of all kinds, number {n}, in a long line of text\n" for n in range(1500))


def test_gemini_is_anchored_again_after_a_compression(
    harbour: Harbour, gemini: Gemini, play: Play
) -> None:
    """No event says that it compressed: the transcript does."""
    (harbour.root / "big.txt").write_text(BIG)
    look = {"tool": "read_file", "input": {"file_path": "big.txt"}}
    with play([look, "Read."]) as model:
        session = harbour.run("gemini", model, GOAL)
    settings = gemini.home / ".gemini" / "settings.json"
    shrink = {"model": {"compressionThreshold": 0.001}}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | shrink))
    calls = [harbour.write("gemini", f"src/auth/{name}.py", "A = 1\n") for name in "ab"]
    with play([*calls, "Done."], summary="<state_snapshot>All is well.</state_snapshot>") as model:
        gemini(model.url, "Go on.", "--resume", session.id, cwd=harbour.root)
    assert "compaction" in [one.kind for one in model.requests]
    every = [one.given + one.results for one in model.list_requests()]
    assert "words of all kinds" not in every[0]  # what was said before is gone
    assert [one.count("### Limits in force") for one in every] == [1, 1, 1]
    assert "Don't touch db/schema.sql" in every[0]


def test_copilot_is_anchored_again_after_a_compaction(harbour: Harbour, play: Play) -> None:
    look = harbour.shell("copilot", "seq 3000")
    with play([look, look, look, "Done."]) as model:
        small = {"COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "30000"}
        harbour.run("copilot", model, GOAL, env=small)
    kinds = [one.kind for one in model.requests]
    assert "compaction" in kinds
    last = model.requests[-1].given + model.requests[-1].results
    assert "<summary>" in last
    assert last.count("### Limits in force") == 1
    assert "Don't touch db/schema.sql" in last


def test_opencode_keeps_its_anchor_after_a_compaction(harbour: Harbour, play: Play) -> None:
    full = harbour.write("opencode", "src/auth/new.py", "A = 1\n") | {"input_tokens": 199_000}
    with play([full, "Done."], summary="All is well.") as model:
        harbour.run("opencode", model, GOAL)
    first, *_, last = model.list_requests()
    assert "### Limits in force" not in first.given
    assert last.given.count("### Limits in force") == 1
    assert "Don't touch db/schema.sql" in last.given


def test_work_without_the_hooks_is_noticed(
    harbour: Harbour, gemini: Gemini, opencode: Opencode, play: Play
) -> None:
    """Gemini CLI in a folder that it does not trust, and opencode without plugins, say nothing."""
    env = {"HOME": str(gemini.home)}
    with play(["Done."] * 2) as model:
        harbour.run("gemini", model, GOAL)
    assert "unwatched" not in harbour.kedge("drift", "status", env=env).err
    with play(["Done."] * 4) as model:
        untrusted = {"GEMINI_CLI_TRUST_WORKSPACE": ""}
        gemini(model.url, GOAL, "--skip-trust", cwd=harbour.root, env=untrusted)
        opencode(model.url, GOAL, cwd=harbour.root)
    warned = harbour.kedge("drift", "status", env=env).err
    assert "Gemini CLI worked here unwatched: no hook told of session " in warned
    assert "start gemini without --skip-trust" in warned
    assert "opencode worked here unwatched" in warned
    said = harbour.kedge("doctor", "--no-probe", env=env, code=4).out
    assert "Gemini CLI worked here unwatched" in said
    with play(["Done."] * 2) as model:
        harbour.run("gemini", model, GOAL)
    assert "Gemini CLI" not in harbour.kedge("drift", "status", env=env).err


def test_copilot_runs_the_hooks_of_claude_code_too(harbour: Harbour, play: Play) -> None:
    """Kedge's hooks in Claude Code's settings leave it to those for Copilot, and never fail."""
    harbour.kedge("init", "--agent", "claude")
    local = harbour.root / ".claude" / "settings.local.json"
    text = local.read_text()
    (harbour.root / ".claude" / "settings.json").write_text(text.replace(sys.executable, "/gone"))
    look = {"name": "look", "prompt": "Look.", "agent_type": "general-purpose"}
    calls = [
        harbour.write("copilot", "src/auth/new.py", "A = 1\n"),
        {"tool": "task", "input": {**look, "description": "look", "mode": "sync"}},
    ]
    with play([*calls, "Done."], subagent=["Looked."]) as model:
        harbour.run("copilot", model, GOAL)
    assert (harbour.root / "src" / "auth" / "new.py").exists()
    steps = [(step["tool"], step["ok"]) for step in harbour.steps()]
    assert steps == [("Write", True), ("Agent", True)]
    assert harbour.session()["agent"] == "copilot"
