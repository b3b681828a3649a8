"""Sessions of the real clients are anchored by the hooks that `kedge init` installs."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from clients import Claude, Codex
from support import Kedge, git

from kedge.context import instruction_files
from kedge.context.agent_hooks import HOOK_FILE
from kedge.context.anchor import SMALL
from kedge.drift.watch import messages
from kedge.host import tokens
from kedge.store import sessions
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
FULL = 990_000  # tokens that make Claude Code compact
BASH = {"tool": "Bash", "input": {"command": "true"}, "input_tokens": FULL}


@pytest.fixture
def at_work(repo: Path, kedge: Kedge) -> Kedge:
    """A repository with kedge for both agents, and a task in progress."""
    (repo / "app.py").write_text("def sail(): ...\n")
    (repo / ".claude").mkdir()
    (repo / ".codex").mkdir()
    kedge("init")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    kedge("task", "add", "Hash passwords", "--id", "l1", "--accept", "none is plain")
    kedge("task", "claim", "l1", "--as", "ada")
    return kedge


def now(kedge: Kedge) -> str:
    return kedge("anchor", "l1", "--sources", "task,git,progress").out.strip()


def test_each_iteration_of_claude_code_gets_the_current_anchor(
    at_work: Kedge, claude: Claude, play: Play
) -> None:
    root, said = at_work.directory, set()
    for step in range(3):
        (root / f"step{step}.py").write_text("x = 1\n")
        git(root, "add", ".")
        git(root, "commit", "-qm", f"step {step}")
        expected = now(at_work)
        with play(["Done."]) as model:
            claude(model.url, "go on", cwd=root)
        (request,) = model.list_requests("main")
        assert request.given.count(expected) == 1
        assert f"step {step}" in expected
        said.add(expected)
        # The files that the managed sections import are there as well.
        assert "## Working with kedge" in request.given
        assert "# Map of the code" in request.given
        assert f"step{step}.py" in request.given.partition("# Map of the code")[2]
        assert "# Constitution" in request.given
        assert "BEGIN KEDGE MANAGED SECTION" not in request.given
    assert len(said) == 3


def test_after_a_compaction_claude_code_gets_the_small_anchor_once(
    at_work: Kedge, claude: Claude, play: Play
) -> None:
    small = at_work("anchor", "l1", "--mode", "small").out.strip()
    assert tokens.count(small) <= SMALL
    with play([BASH, "Done."]) as model:
        claude(model.url, "go on", "--allowedTools", "Bash(true)", cwd=at_work.directory)
    assert len(model.list_requests("compaction")) >= 1
    first, *_, last = model.list_requests("main")
    assert small not in first.given
    assert "## Re-anchoring Context" in first.given
    assert last.given.count(small) == 1
    assert "## Re-anchoring Context" not in last.given


ASKED = "Make the parser of dates faster. Do not touch package.json."


def assert_reminded(said: str) -> None:
    """The user's goal and limits are in what a session was told after a compaction."""
    assert (
        said.count("### Limits in force\n- “Do not touch package.json” (the user's message)") == 1
    )
    assert said.count(f"### The user asked\n“{ASKED}”") == 1


def test_after_a_compaction_claude_code_is_reminded_of_the_users_words(
    at_work: Kedge, claude: Claude, play: Play
) -> None:
    at_work("task", "close", "l1")
    with play([BASH, "Done."]) as model:
        claude(model.url, ASKED, "--allowedTools", "Bash(true)", cwd=at_work.directory)
    assert len(model.list_requests("compaction")) >= 1
    first, *_, last = model.list_requests("main")
    assert "Limits in force" not in first.given
    assert_reminded(last.given)


def test_after_a_compaction_codex_is_reminded_of_the_users_words(
    at_work: Kedge, codex: Codex, play: Play
) -> None:
    at_work("task", "close", "l1")
    look = {"tool": "exec_command", "input": {"cmd": "true"}, "input_tokens": 50_000}
    limit = ("-c", "model_auto_compact_token_limit=20000")
    with play([look, "Done."]) as model:
        anyway = "--dangerously-bypass-hook-trust"
        codex(model.url, ASKED, anyway, *limit, cwd=at_work.directory)
    assert len(model.list_requests("compaction")) == 1
    assert_reminded(model.list_requests("main")[-1].given)


def test_codex_is_anchored_too(at_work: Kedge, codex: Codex, play: Play) -> None:
    expected = now(at_work)
    with play(["Done."]) as model:
        codex(model.url, "go on", "--dangerously-bypass-hook-trust", cwd=at_work.directory)
    (request,) = model.list_requests("main")
    assert request.given.count(expected) == 1
    assert "## Working with kedge" in request.given


def test_a_session_without_a_task_gets_nothing(at_work: Kedge, claude: Claude, play: Play) -> None:
    at_work("task", "close", "l1")
    with play(["Done."]) as model:
        claude(model.url, "go on", cwd=at_work.directory)
    assert "Re-anchoring" not in model.requests[-1].given
    at_work("config", "set", "anchor.enabled", "false")
    at_work("task", "reopen", "l1")
    at_work("task", "claim", "l1", "--as", "ada")
    with play(["Done."]) as model:
        claude(model.url, "go on", cwd=at_work.directory)
    assert "Re-anchoring" not in model.requests[-1].given


# The hook by itself


def hook(cwd: Path, event: object, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", str(HOOK_FILE), "claude"],
        input=event if isinstance(event, str) else json.dumps(event),
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd.parent), **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


def faults(root: Path) -> list[dict[str, str]]:
    with closing(sqlite3.connect(root / ".git" / "kedge" / "kedge.db")) as db:
        return sessions.errors(db)


def start(root: Path, source: str = "startup") -> dict[str, str]:
    return {
        "hook_event_name": "SessionStart",
        "source": source,
        "cwd": str(root),
        "session_id": "s",
    }


def test_the_anchor_of_a_session_tells_how_limits_are_recorded(at_work: Kedge) -> None:
    root = at_work.directory
    rule = instruction_files.write_limit_rule()
    said = json.loads(hook(root, start(root)).stdout)["hookSpecificOutput"]["additionalContext"]
    assert said.endswith(f"\n{rule}\n")
    at_work("config", "set", "drift.agent_limits", "false")
    state = os.environ["XDG_STATE_HOME"]  # where kedge keeps that the user typed it
    answer = json.loads(hook(root, start(root), XDG_STATE_HOME=state).stdout)
    said = answer["hookSpecificOutput"]["additionalContext"]
    assert "limit add" not in said


def test_a_session_can_be_bound_to_a_task(at_work: Kedge) -> None:
    root = at_work.directory
    at_work("task", "add", "Other", "--id", "o1")
    at_work("task", "claim", "o1", "--as", "bob")
    said = hook(root, start(root)).stdout  # either of the two could be meant
    assert "2 tasks are in progress: l1, o1. This session is bound to none of them" in said
    assert "`kedge task claim ID --again --as NAME` binds it to the one you work on" in said
    for source, says in (("startup", "ID: o1"), ("compact", "o1: Other")):
        said = json.loads(hook(root, start(root, source), KEDGE_TASK="o1").stdout)
        answer = said["hookSpecificOutput"]
        assert answer["hookEventName"] == "SessionStart"
        assert says in answer["additionalContext"]
    assert (
        "no change"
        in at_work(
            "anchor", "o1", "--mode", "delta", "--session", "s", "--sources", "task,git,progress"
        ).out
    )


def context(ran: subprocess.CompletedProcess[str]) -> str:
    """What the hook tells the agent."""
    answer = json.loads(ran.stdout or "{}").get("hookSpecificOutput", {})
    return str(answer.get("additionalContext", ""))


def test_the_anchor_after_a_compaction_has_the_sessions_limits_beside_the_task(
    at_work: Kedge,
) -> None:
    root = at_work.directory
    at_work("task", "update", "l1", "--out-of-scope", "db/")
    hook(root, {**start(root), "hook_event_name": "UserPromptSubmit", "prompt": ASKED})
    said = context(hook(root, start(root, "compact")))
    assert "l1: Hash passwords" in said
    assert "none is plain" in said
    assert said.count("db/") == 1
    assert_reminded(said)
    assert tokens.count(said) <= SMALL


def test_the_anchor_after_a_compaction_keeps_to_its_budget(at_work: Kedge) -> None:
    root = at_work.directory
    limits = " ".join(f"Don't touch src/part{n}/schema{n}.sql." for n in range(30))
    for prompt in (f"Make the parser of dates {'much ' * 300}faster.", limits):
        hook(root, {**start(root), "hook_event_name": "UserPromptSubmit", "prompt": prompt})
    with_task = context(hook(root, start(root, "compact")))
    at_work("task", "close", "l1")
    for said in (with_task, context(hook(root, start(root, "compact")))):
        assert "Don't touch src/part0/schema0.sql" in said
        assert "kedge drift explain s" in said
        assert 200 < tokens.count(said) <= SMALL
    assert "Hash passwords" in with_task


def test_an_empty_session_is_told_nothing_after_a_compaction(at_work: Kedge) -> None:
    root = at_work.directory
    at_work("task", "close", "l1")
    assert hook(root, start(root, "compact")).stdout == ""


@pytest.mark.parametrize(
    ("env", "source", "notice"),
    [
        ({}, "startup", "bound to l1 (in progress here): Hash passwords; no limits yet"),
        (
            {"KEDGE_TASK": "l1"},
            "resume",
            "bound to l1 (KEDGE_TASK): Hash passwords; no limits yet",
        ),
        ({}, "compact", None),
        ({"KEDGE_TASK": "l1", "KEDGE_RUN": "r1"}, "startup", None),
        ({"KEDGE_DRIFT_POLICY": "off"}, "startup", None),
    ],
)
def test_the_user_sees_what_is_watched(
    at_work: Kedge, env: dict[str, str], source: str, notice: str | None
) -> None:
    root = at_work.directory
    answer = json.loads(hook(root, start(root, source), **env).stdout or "{}")
    said = notice and f"kedge watches this session (advise), {notice}"
    assert answer.get("systemMessage") == said


def test_the_user_sees_what_is_watched_without_a_task(at_work: Kedge) -> None:
    root = at_work.directory
    at_work("task", "close", "l1")
    answer = json.loads(hook(root, start(root)).stdout)
    said = "kedge watches this session (advise): tool calls are compared with what you ask"
    assert answer == {"systemMessage": f"{said}; no limits yet"}
    for name in ("o1", "o2"):
        at_work("task", "add", "Other", "--id", name)
        at_work("task", "claim", name)
    answer = json.loads(hook(root, start(root)).stdout)
    assert "bound to no task: 2 are in progress here (o1, o2)" in answer["systemMessage"]
    assert "`kedge task claim ID --again` binds it" in context(hook(root, start(root)))


def test_the_user_sees_the_limits_at_the_start_of_a_session(at_work: Kedge) -> None:
    """Those of the task at the first start already, and those of the user in one that goes on."""
    root = at_work.directory
    at_work("task", "update", "l1", "--out-of-scope", "db/schema.sql")
    line = json.loads(hook(root, start(root)).stdout)["systemMessage"]
    assert line.endswith("Hash passwords; limit: “out of scope: db/schema.sql”")
    words = "Hash them. Don't touch web/. Don't add dependencies."
    hook(root, {**start(root), "hook_event_name": "UserPromptSubmit", "prompt": words})
    line = json.loads(hook(root, start(root, "resume")).stdout)["systemMessage"]
    assert "“Don't touch web/”" in line
    assert line.endswith(" and 1 more")
    off = hook(root, start(root, "resume"), KEDGE_DRIFT_POLICY="off").stdout
    assert "systemMessage" not in off


def test_a_message_that_nobody_has_read_counts_at_the_start_of_a_session(at_work: Kedge) -> None:
    """Its hook only notes it; the process that reads it may be late, or may have been killed."""
    root = at_work.directory
    hook(root, start(root))
    event = {**start(root), "hook_event_name": "UserPromptSubmit", "prompt": "Don't touch web/."}
    home = str(root / ".git" / "kedge")
    assert messages.note(home, event, None, unattended=False) == (True, [])
    line = json.loads(hook(root, start(root, "resume")).stdout)["systemMessage"]
    assert line.endswith("limit: “Don't touch web/”")


def test_claude_code_shows_the_user_what_is_watched(
    at_work: Kedge, claude: Claude, play: Play
) -> None:
    with play(["Done."]) as model:
        ran = claude(model.url, "go on", cwd=at_work.directory)
    responses = ran.of("system", "hook_response")  # a slow hook also has events of its progress
    (answer,) = [event for event in responses if event["hook_event"] == "SessionStart"]
    assert "kedge watches this session" in json.loads(answer["output"])["systemMessage"]
    assert "kedge watches this session" not in model.requests[-1].given


def test_links_outside_a_repository_are_not_followed(tmp_path: Path) -> None:
    home = tmp_path / "plain" / ".kedge" / "home" / "hooks"
    home.mkdir(parents=True)
    (tmp_path / "mine").write_text("mine")
    (home / "claude.json").symlink_to(tmp_path / "mine")
    done = hook(tmp_path / "plain", start(tmp_path / "plain"))
    assert done.returncode == 0
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_hook_does_not_wait_for_a_lock(at_work: Kedge) -> None:
    root = at_work.directory
    db = sqlite3.connect(root / ".git" / "kedge" / "kedge.db", isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    assert "ID: l1" in hook(root, start(root)).stdout
    db.close()


@pytest.mark.parametrize("event", ["", "{", "[]", "null", '{"hook_event_name": 1}', "\x00" * 100])
def test_invalid_hook_input_changes_nothing(at_work: Kedge, event: str) -> None:
    done = hook(at_work.directory, event)
    assert (done.returncode, done.stdout) == (0, "")
    assert bool(faults(at_work.directory)) == (event != '{"hook_event_name": 1}')


def test_a_failing_hook_is_recorded_and_does_not_stop_the_agent(at_work: Kedge) -> None:
    root = at_work.directory
    (root / ".kedge" / "config.toml").write_text("[anchor]\ntokens = 'many'\n")
    done = hook(root, start(root))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (fault,) = faults(root)
    assert "anchor.tokens must be an integer" in fault["error"]
    assert (fault["event"], fault["session"]) == ("SessionStart", "s")
    assert hook(root.parent, start(root.parent)).returncode == 0  # not in a repository
    (root / ".kedge" / "config.toml").unlink()
    (root / ".kedge" / "tasks.jsonl").write_text("{broken")
    done = hook(root, start(root), KEDGE_TASK="l1")
    assert done.returncode == 0
    assert "This cannot be read now" in done.stdout


def test_the_portable_hook_command_prints_the_same(at_work: Kedge) -> None:
    root = at_work.directory
    by_path = hook(root, start(root)).stdout
    ran = at_work("hook", "claude", input=json.dumps(start(root)))
    assert json.loads(ran.out) == json.loads(by_path)
