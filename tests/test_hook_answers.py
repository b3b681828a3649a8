"""What the hook answers and records for an event, called in this process."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, wait_for_aside

from kedge import hook
from kedge.host import files
from kedge.store import sessions, sqlite

GOAL = "Fix the expiry of tokens in src/auth/token.py. Don't touch db/schema.sql."
FORBIDDEN = {"file_path": "db/schema.sql", "content": "drop table t;\n"}


class Hook:
    """The hook of an agent that works in a repository."""

    def __init__(self, repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.repo, self.capsys = repo, capsys
        self.home = repo / ".git" / "kedge"

    def send(self, data: bytes, agent: str = "claude") -> str:
        """Return what the hook prints for these bytes."""
        sys.stdin = io.TextIOWrapper(io.BytesIO(data))
        assert hook.main(agent) == 0
        out, err = self.capsys.readouterr()
        assert err == ""
        return out

    def tell(self, name: str, **more: Any) -> str:
        """Return what the hook prints for the event."""
        event = {"hook_event_name": name, "session_id": "s1", "cwd": str(self.repo), **more}
        return self.send(json.dumps(event).encode())

    def write(self, id_: str = "t1", **more: Any) -> str:
        """Return what the hook prints when the agent is about to write the forbidden file."""
        call = {"tool_name": "Write", "tool_input": FORBIDDEN, "tool_use_id": id_}
        return self.tell("PreToolUse", **call, **more)

    def ask(self, prompt: str = GOAL, **more: Any) -> str:
        """Tell the hook the user's prompt."""
        return self.tell("UserPromptSubmit", prompt=prompt, **more)

    def start(self, **more: Any) -> str:
        """Return the context that a starting session is given."""
        out = self.tell("SessionStart", **more)
        answer = json.loads(out or "{}").get("hookSpecificOutput", {})
        return str(answer.get("additionalContext", ""))

    def errors(self) -> list[dict[str, Any]]:
        wait_for_aside(self.home)
        with closing(sqlite.connect(self.home)[0]) as db:
            return sessions.errors(db)

    def session(self) -> dict[str, Any] | None:
        with closing(sqlite.connect(self.home)[0]) as db:
            return sessions.get(db, "s1")


@pytest.fixture
def agent(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Hook]:
    """The hook in an empty repository, with the process as it was afterwards."""
    monkeypatch.setattr(sys, "stdin", sys.stdin)
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", sqlite.BUSY_SECONDS)
    monkeypatch.setattr(files, "LOCK_TIMEOUT", files.LOCK_TIMEOUT)
    for name in ("CLAUDE_PROJECT_DIR", "KEDGE_HOME", "KEDGE_TASK", "KEDGE_RUN"):
        monkeypatch.delenv(name, raising=False)
    before = signal.getsignal(signal.SIGALRM)
    yield Hook(repo, capsys)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


# Calls


def test_a_call_against_the_users_word_is_answered_and_another_is_not(agent: Hook) -> None:
    assert agent.ask() == ""
    assert "Don't touch db/schema.sql" in agent.write()
    assert agent.tell("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}) == ""
    assert agent.errors() == []


def test_a_prompt_of_a_run_is_not_the_users_word(
    agent: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGE_RUN", "r1")
    agent.ask()
    monkeypatch.delenv("KEDGE_RUN")
    assert agent.write("t1") == ""
    agent.ask()
    assert "db/schema.sql" in agent.write("t2")


def test_no_limit_is_left_after_an_answer_or_an_error(agent: Hook) -> None:
    agent.ask()
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    agent.send(b"no JSON")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_input_that_never_ends_is_given_up_and_recorded(
    agent: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "LIMIT", 0.05)
    monkeypatch.chdir(agent.repo)
    read, write = os.pipe()
    end = threading.Timer(10, os.close, [write])
    end.start()
    with os.fdopen(read) as sys.stdin:
        assert hook.main("claude") == 0
    assert end.is_alive()
    end.cancel()
    os.close(write)
    assert agent.capsys.readouterr() == ("", "")
    assert [one["error"] for one in agent.errors()] == ["HookTimeout: no answer within 0.05 s"]


def test_two_waits_for_locks_leave_time_for_an_answer() -> None:
    assert 2 * hook.WAIT <= hook.LIMIT / 4


# Places


def test_an_event_without_a_directory_is_of_the_current_one(
    agent: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(agent.repo)
    agent.ask(cwd=None)
    assert "db/schema.sql" in agent.write(cwd=None)


def test_the_directory_of_the_event_counts_more_than_the_current_one(
    agent: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    agent.ask()
    assert agent.session() is not None


def test_the_agents_project_counts_more_than_the_directory_of_the_event(
    agent: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(agent.repo))
    agent.ask(cwd=str(tmp_path))
    assert agent.session() is not None


def test_a_directory_below_the_root_belongs_to_the_project(agent: Hook) -> None:
    below = agent.repo / "src"
    below.mkdir()
    agent.ask(cwd=str(below))
    row = agent.session()
    assert row is not None
    assert row["project"] == str(agent.repo)


def test_kedge_home_is_where_the_session_is_kept(
    agent: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGE_HOME", str(tmp_path / "home"))
    agent.ask()
    assert not (agent.home / "kedge.db").exists()
    agent.home = tmp_path / "home"
    row = agent.session()
    assert row is not None
    assert row["project"] == str(agent.repo)


def test_a_repository_that_only_git_understands_is_found(
    agent: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "/nowhere")
    agent.ask()
    assert "db/schema.sql" in agent.write()


# Sessions


@pytest.fixture
def bound(agent: Hook, kedge: Kedge, monkeypatch: pytest.MonkeyPatch) -> Hook:
    """A session that is bound to a task."""
    kedge("task", "add", "Expire tokens", "--id", "k1")
    monkeypatch.setenv("KEDGE_TASK", "k1")
    return agent


def test_a_session_that_starts_is_given_its_task_and_watched(bound: Hook) -> None:
    assert "Expire tokens" in bound.start(source="startup")
    row = bound.session()
    assert row is not None
    assert row["task"] == "k1"


def test_a_session_without_a_task_is_given_nothing(agent: Hook) -> None:
    assert agent.start(source="startup") == ""
    assert agent.errors() == []


def test_a_session_in_a_run_is_given_its_task_only_after_a_compaction(
    bound: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGE_RUN", "r1")
    assert bound.start(source="startup") == ""
    assert "Expire tokens" in bound.start(source="compact")


@pytest.mark.parametrize(
    ("event", "source", "session"),
    [
        ({"source": "resume"}, "resume", "s1"),
        ({"source": None}, "startup", "s1"),
        ({"source": "startup", "session_id": None}, "startup", ""),
    ],
)
def test_the_start_of_a_session_leaves_a_heartbeat(
    agent: Hook, event: dict[str, Any], source: str, session: str
) -> None:
    agent.start(**event)
    heartbeat = json.loads((agent.home / "hooks" / "claude.json").read_text())
    assert (heartbeat["source"], heartbeat["session"]) == (source, session)


def test_a_session_that_starts_refreshes_the_map_unless_it_was_compacted(
    agent: Hook, kedge: Kedge
) -> None:
    kedge("init")
    (agent.repo / "new.py").write_text("def new(): ...\n")
    kept = agent.repo / ".kedge" / "map.md"
    agent.start(source="compact")
    assert "new.py" not in kept.read_text()
    agent.start(source="startup")
    assert "new.py" in kept.read_text()


@pytest.mark.parametrize("event", ["Stop", "SessionEnd"])
def test_a_task_whose_session_strayed_is_labelled_at_its_end(
    bound: Hook, kedge: Kedge, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    skips = {"tool_name": "Bash", "tool_input": {"command": "git commit --no-verify -m x"}}
    monkeypatch.delenv("KEDGE_TASK")
    for name in ("PreToolUse", "PostToolUse", event):
        bound.tell(name, **skips, tool_use_id="t1", session_id="of no task")
    assert kedge.json("task", "show", "k1")["labels"] == []
    monkeypatch.setenv("KEDGE_TASK", "k1")
    for name in ("PreToolUse", "PostToolUse", event):
        bound.tell(name, **skips, tool_use_id="t1")
    assert kedge.json("task", "show", "k1")["labels"] == ["had-drift", "needs-review"]


# Errors


@pytest.mark.parametrize("data", [b"", b"no JSON", b"[1]", b'"text"', b"\xff\xfe", b"{" * 100_000])
def test_input_that_is_no_event_is_recorded(
    agent: Hook, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(agent.repo)
    assert agent.send(data) == ""
    (error,) = agent.errors()
    assert (error["agent"], error["session"], error["event"]) == ("claude", "", "")


def test_a_fault_is_recorded_with_its_session_and_event(agent: Hook) -> None:
    (agent.repo / ".kedge").mkdir()
    (agent.repo / ".kedge" / "config.toml").write_text("[drift\n")
    agent.ask()
    (error,) = agent.errors()
    assert "config.toml" in error["error"]
    assert (error["session"], error["event"]) == ("s1", "UserPromptSubmit")


@pytest.mark.parametrize("escape", [b"\\ud800", b"\\uD800"])
def test_a_lone_surrogate_is_replaced(agent: Hook, escape: bytes) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "cwd": str(agent.repo)}
    data = json.dumps({**event, "prompt": f"{GOAL} @"}).encode()
    agent.send(data.replace(b"@", escape))
    assert agent.errors() == []
    assert "db/schema.sql" in agent.write()


def test_a_pair_of_surrogates_is_one_character(agent: Hook) -> None:
    agent.ask(f"{GOAL} \U0001f6a2")
    with closing(sqlite.connect(agent.home)[0]) as db:
        (charter,) = sessions.charters(db, "s1")
    assert "\U0001f6a2" in charter["said"]


def test_outside_of_a_project_nothing_is_said(
    agent: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    monkeypatch.chdir(outside)
    assert agent.send(b"no JSON") == ""
    assert list(outside.iterdir()) == []
