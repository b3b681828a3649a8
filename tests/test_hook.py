"""The hook as an agent starts it: it answers in time or not at all, and the agent goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, git, wait_for_aside

from kedge import hook
from kedge.agents.settings import claude, codex
from kedge.agents.settings import hooks as settings
from kedge.store import sessions, sqlite

GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
SOURCES = Path(hook.__file__).parents[1]
ANSWERED = 5.0  # seconds: less than the real limit, enough for a busy machine
SHORT = f"""
import sys, time
sys.path.insert(0, {str(SOURCES)!r})
from kedge import hook
hook.LIMIT = 0.3
"""


def make_event(repo: Path, name: str = "PreToolUse", **more: Any) -> dict[str, Any]:
    forbidden = {"file_path": "db/schema.sql", "content": "drop table t;\n"}
    call = {"tool_name": "Write", "tool_input": forbidden, "tool_use_id": "t1"}
    return {"hook_event_name": name, "session_id": "s1", "cwd": str(repo), **call, **more}


def run(
    event: Any, cwd: Path, *, code: str | None = None, agent: str = "claude", **env: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the hook by its path, or run `code` instead."""
    program = ["-c", code] if code is not None else [hook.__file__, *agent.split()]
    data = event if isinstance(event, bytes) else json.dumps(event).encode()
    return subprocess.run(
        [sys.executable, "-I", "-S", *program],
        input=data,
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        timeout=60,
    )


def find_errors(repo: Path) -> list[str]:
    """Return the errors that the hook recorded, in the database or in the log beside it."""
    home = repo / ".git" / "kedge"
    wait_for_aside(home)
    errors = []
    log = home / "logs" / "hook-errors.jsonl"
    if log.exists():
        errors += [json.loads(line)["error"] for line in log.read_text().splitlines()]
    with closing(sqlite.connect(home)[0]) as db:
        return errors + [row["error"] for row in sessions.errors(db)]


@pytest.fixture
def watched(repo: Path) -> Path:
    """A repository with a session that was asked for something."""
    git(repo, "commit", "-qm", "first", "--allow-empty")
    ran = run(make_event(repo, "UserPromptSubmit", prompt=GOAL), repo)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    return repo


# Time


def test_a_hook_whose_input_never_ends_lets_the_agent_go_on(watched: Path) -> None:
    start = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", SHORT + "sys.exit(hook.main('claude'))"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=watched,
    )
    try:
        assert child.wait(timeout=30) == 0
    finally:
        child.kill()
        out, _ = child.communicate()
    assert time.monotonic() - start < ANSWERED
    assert out == b""
    assert find_errors(watched) == ["HookTimeout: no answer within 0.3 s"]


def test_a_hook_that_judges_too_long_lets_the_agent_go_on(watched: Path) -> None:
    code = SHORT + (
        "from kedge.drift.watch import sensor\n"
        "sensor.answer_event = lambda *_, **__: time.sleep(30)\n"
        "sys.exit(hook.main('claude'))"
    )
    start = time.monotonic()
    ran = run(make_event(watched), watched, code=code)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert time.monotonic() - start < ANSWERED
    assert find_errors(watched) == ["HookTimeout: no answer within 0.3 s"]


def test_recording_an_error_has_a_limit_of_its_own(watched: Path) -> None:
    code = SHORT + (
        "from kedge.context import session\n"
        "from kedge.drift.watch import sensor\n"
        "sensor.answer_event = lambda *_, **__: time.sleep(30)\n"
        "session.record_error = lambda *_: time.sleep(30)\n"
        "hook.RECORD_LIMIT = 0.3\n"
        "sys.exit(hook.main('claude'))"
    )
    start = time.monotonic()
    ran = run(make_event(watched), watched, code=code)
    assert (ran.returncode, ran.stdout) == (0, b"")
    assert time.monotonic() - start < ANSWERED
    assert b"could not be recorded" in ran.stderr


def test_agents_wait_longer_than_the_hook_takes() -> None:
    assert settings.TIMEOUT is not None
    start_up = 1.0  # of the interpreter, on a busy machine
    assert start_up + hook.LIMIT + hook.RECORD_LIMIT <= settings.TIMEOUT
    ends = [each.timeout for each in codex.HOOKS if each.event == "SessionEnd"]
    assert ends == [start_up + sum(hook.END_LIMITS)]
    others = [each for each in codex.HOOKS if each.event != "SessionEnd"]
    assert all(each.timeout == settings.TIMEOUT for each in (*claude.HOOKS, *others))


def test_the_end_of_a_session_of_codex_has_a_shorter_limit(watched: Path) -> None:
    code = SHORT + (
        "from kedge.drift.watch import sensor\n"
        "sensor.answer_event = lambda *_, **__: time.sleep(30)\n"
        "hook.LIMIT = 20.0\n"
        "sys.exit(hook.main('codex'))"
    )
    start = time.monotonic()
    ran = run(make_event(watched, "SessionEnd"), watched, code=code)
    assert (ran.returncode, ran.stdout) == (0, b"")
    assert time.monotonic() - start < ANSWERED
    # on a busy machine it may not be recorded in time
    assert "no answer within 1.2 s" in "".join([*find_errors(watched), ran.stderr.decode()])


@pytest.fixture
def hanging_git(tmp_path: Path) -> str:
    """A search path whose git never ends."""
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 300\n")
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


@pytest.mark.parametrize("name", ["PreToolUse", "SessionStart"])
def test_a_git_that_hangs_has_the_hooks_time_and_the_error_is_recorded(
    watched: Path, hanging_git: str, name: str
) -> None:
    start = time.monotonic()
    ran = run(make_event(watched, name), watched, PATH=hanging_git, GIT_CEILING_DIRECTORIES="/")
    assert time.monotonic() - start < hook.LIMIT + hook.RECORD_LIMIT
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert any("git rev-parse took more than" in error for error in find_errors(watched))


def test_no_handler_on_the_way_catches_the_end_of_the_time(watched: Path) -> None:
    code = SHORT + (
        "from kedge.drift.watch import sensor\n"
        "def answer(*_, **__):\n"
        "    while True:\n"
        "        try: time.sleep(30)\n"
        "        except Exception: pass\n"
        "sensor.answer_event = answer\n"
        "sys.exit(hook.main('claude'))"
    )
    start = time.monotonic()
    assert run(make_event(watched), watched, code=code).returncode == 0
    assert time.monotonic() - start < ANSWERED


SLOW = SHORT + (
    "from kedge.drift.watch import sensor\n"
    "sensor.answer_event = lambda *_, **__: time.sleep(30)\n"
    "sys.exit(hook.main(sys.argv[1]))"
)


def enforce(repo: Path, session: str = "s1") -> None:
    (repo / ".kedge").mkdir(exist_ok=True)
    (repo / ".kedge" / "config.toml").write_text('[drift]\npolicy = "enforce"\n')
    run(make_event(repo, "UserPromptSubmit", prompt=GOAL, session_id=session), repo)
    wait_for_aside(repo / ".git" / "kedge")


@pytest.mark.parametrize(("agent", "decision"), [("claude", "ask"), ("codex", "deny")])
def test_a_call_that_takes_too_long_is_put_to_the_user_under_enforce(
    watched: Path, agent: str, decision: str
) -> None:
    code = SLOW.replace("sys.argv[1]", repr(agent))
    assert run(make_event(watched), watched, code=code).stdout == b""
    enforce(watched)
    answer = json.loads(run(make_event(watched), watched, code=code).stdout)["hookSpecificOutput"]
    assert answer["permissionDecision"] == decision
    assert "could not read all of this call" in answer["permissionDecisionReason"]
    assert run(make_event(watched, "PostToolUse"), watched, code=code).stdout == b""


def test_a_call_that_is_too_large_to_read_is_put_to_the_user_under_enforce(watched: Path) -> None:
    command = {"command": f"true {'x' * 11_000_000}; echo x > db/schema.sql"}
    large = make_event(watched, tool_name="Bash", tool_input=command)
    assert run(large, watched).stdout == b""
    enforce(watched)
    answer = json.loads(run(large, watched).stdout)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "ask"


def test_a_command_that_is_not_read_to_its_end_is_put_to_the_user_under_enforce(
    watched: Path,
) -> None:
    command = "curl " + "x " * 30_000 + "; echo x > db/schema.sql"
    call = make_event(watched, tool_name="Bash", tool_input={"command": command})
    assert run(call, watched).stdout == b""
    enforce(watched)
    ran = run({**call, "tool_use_id": "t2"}, watched)
    answer = json.loads(ran.stdout)["hookSpecificOutput"]
    assert answer["permissionDecision"] == "ask"
    assert "could not read all of this call" in answer["permissionDecisionReason"]


@contextmanager
def locked(repo: Path) -> Iterator[None]:
    """Hold the database's write lock, as a hook of a parallel call does."""
    with closing(sqlite.connect(repo / ".git" / "kedge")[0]) as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")


def test_a_database_that_stays_locked_is_not_waited_for_long(watched: Path) -> None:
    start = time.monotonic()
    with locked(watched):
        ran = run(make_event(watched), watched)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert time.monotonic() - start < ANSWERED
    assert any("locked" in error for error in find_errors(watched))


def test_a_call_waits_for_the_hooks_of_other_calls(watched: Path) -> None:
    """Events are written one after another; with many at once, the last one waits for seconds."""
    with ThreadPoolExecutor(1) as pool:
        with locked(watched):
            ran = pool.submit(run, make_event(watched), watched)
            time.sleep(3 * hook.WAIT)
        assert "db/schema.sql" in ran.result().stdout.decode()
    assert not find_errors(watched)


# Answers


def test_a_call_against_the_users_word_is_answered(watched: Path) -> None:
    ran = run(make_event(watched), watched)
    answer = json.loads(ran.stdout)["hookSpecificOutput"]
    assert answer["permissionDecision"] == "ask"
    assert "Don't touch db/schema.sql" in answer["permissionDecisionReason"]
    denied = json.loads(run(make_event(watched, tool_use_id="t2"), watched, agent="codex").stdout)
    assert denied["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_hook_that_is_started_without_a_name_answers(watched: Path) -> None:
    ran = run(make_event(watched), watched, agent="")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"db/schema.sql" in ran.stdout


def test_a_data_directory_that_is_a_link_is_refused(watched: Path, tmp_path: Path) -> None:
    home = watched / ".git" / "kedge"
    home.rename(tmp_path / "moved")
    home.symlink_to(tmp_path / "moved")
    ran = run(make_event(watched), watched)
    assert (ran.returncode, ran.stdout) == (0, b"")
    assert b"kedge is a link" in ran.stderr


def test_a_session_gets_its_anchor_where_kedge_cannot_write(repo: Path, kedge: Kedge) -> None:
    git(repo, "commit", "-qm", "first", "--allow-empty")
    kedge("task", "add", "Sail", "--id", "t", "--description", "d", "--accept", "the sail is set")
    home = repo / ".git" / "kedge"
    if home.exists():
        shutil.rmtree(home)
    home.touch()  # root may write into any directory, and into no file
    event = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": str(repo)}
    ran = run({**event, "source": "startup"}, repo, KEDGE_TASK="t")
    answer = json.loads(ran.stdout)["hookSpecificOutput"]["additionalContext"]
    assert "the sail is set" in answer


# Errors


def test_the_packages_of_kedge_are_found_wherever_it_is_installed(repo: Path, kedge: Kedge) -> None:
    workflow = repo / ".github" / "workflows" / "ci.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text("jobs: {check: {steps: [{run: make check}]}}\n")
    kedge("init")
    workflow.write_text("jobs: {check: {steps: [{run: make lint}]}}\n")
    (repo / "port.py").write_text("def berth(): ...\n")
    ran = run(make_event(repo, "SessionStart", source="startup"), repo)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert find_errors(repo) == []
    assert "port.py" in (repo / ".kedge" / "map.md").read_text()


def test_input_that_is_no_event_is_recorded_as_an_error(watched: Path) -> None:
    ran = run(b"no JSON", watched)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert len(find_errors(watched)) == 1
