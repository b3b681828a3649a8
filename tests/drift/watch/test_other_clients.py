"""Gemini CLI, Copilot CLI and opencode under kedge's watch, with what `kedge init` installs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from clients import Copilot, Gemini
from drift.harbour import Harbour
from support import Kedge, git

from kedge.store import sqlite
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
AGENTS = ["gemini", "copilot"]
GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
SCOPE = ("--scope", "src/utils/", "--out-of-scope", "src/middleware/")
OUT, BESIDE = "src/middleware/etag/new.ts", "src/router/trie.ts"
KEYS = {
    "gemini": {"GEMINI_API_KEY": "keyofgemini0815"},
    "copilot": {"COPILOT_PROVIDER_API_KEY": "keyofcopilot0815"},
}
every = pytest.mark.parametrize("agent", AGENTS)


@pytest.fixture
def harbour(repo: Path, kedge: Kedge, gemini: Gemini, copilot: Copilot) -> Harbour:
    (repo / "src" / "auth").mkdir(parents=True)
    (repo / "src" / "auth" / "token.py").write_text("TTL = 60\n")
    for path in (OUT, BESIDE):  # Copilot does not create folders
        (repo / path).parent.mkdir(parents=True)
    kedge("init", *(word for agent in AGENTS for word in ("--agent", agent)))
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    return Harbour(kedge, None, None, gemini=gemini, copilot=copilot)


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
    # asked once to prove it, and no more
    assert last.count("is not proven done: `true`") == 1
    assert len(model.list_requests()) == 6
    denied, written, one, two = harbour.steps()
    assert (denied["decision"], denied["ok"]) == ("deny", None)
    assert (written["drift_score"], written["ok"]) == (5, True)
    assert (one["ok"], two["ok"]) == (False, False)  # two calls, though they are alike
    row = harbour.session()
    assert (row["agent"], row["task"], row["status"]) == (agent, "k1", "completed")
    # what kedge said at the end is not taken for a message of the user
    charters = harbour.kedge.json("drift", "explain", "last")["revisions"]
    assert [one["said"] for one in charters] == ["Make it faster."]
    assert harbour.errors() == []
    (key,) = KEYS[agent].values()
    assert not [one for one in harbour.home.rglob("*") if one.is_file() and key in read(one)]


def read(path: Path) -> str:
    return path.read_bytes().decode("latin-1")


def change_commands(path: Path, changes: dict[str, tuple[str, float]]) -> None:
    """Give the hooks of these events another command and time."""
    settings = json.loads(path.read_text())
    for event, (command, wait) in changes.items():
        for group in settings["hooks"][event]:
            group["hooks"][0] |= {"command": command, "timeout": wait}
    path.write_text(json.dumps(settings))


@every
def test_without_a_working_kedge_the_agent_works_on(
    harbour: Harbour, agent: str, play: Play
) -> None:
    """Its Python is gone at one event, it hangs at another, and its database is broken."""
    with closing(sqlite.connect(harbour.home)[0]) as db:
        db.execute("DROP TABLE step")
    path = harbour.root / {"gemini": ".gemini/settings.json"}.get(agent, ".github/hooks/kedge.json")
    own = json.loads(path.read_text())["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    gone = own.replace(sys.executable, "/gone/python")
    after, end = ("AfterTool", "AfterAgent") if agent == "gemini" else ("PostToolUse", "Stop")
    second = 1000 if agent == "gemini" else 1
    changes = {"SessionStart": (gone, 10 * second), after: ("sleep 30 || :", second)}
    change_commands(path, {**changes, end: (gone, 10 * second)})
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


def test_copilot_runs_the_hooks_of_claude_code_too(harbour: Harbour, play: Play) -> None:
    """Kedge's hooks in Claude Code's settings leave it to those for Copilot."""
    harbour.kedge("init", "--agent", "claude")
    calls = [harbour.write("copilot", "src/auth/new.py", "A = 1\n")]
    with play([*calls, "Done."]) as model:
        harbour.run("copilot", model, GOAL)
    assert len(harbour.steps()) == 1
    assert harbour.session()["agent"] == "copilot"
