"""`kedge drift status --follow`, and sessions whose agent is gone."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from clients import Claude, Codex
from support import Kedge, git, wait_for_aside

from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
PATIENCE = 60.0
GOAL = "Moor the boat at src/pier.py. Don't touch db/schema.sql."


def send(kedge: Kedge, name: str, agent: str = "claude", env: Any = None, **more: Any) -> None:
    event = {"session_id": "s1", "cwd": str(kedge.directory), "hook_event_name": name, **more}
    kedge("hook", agent, input=json.dumps(event), env=env)
    wait_for_aside(kedge.directory / ".git" / "kedge")


def edit(kedge: Kedge, path: str) -> None:
    given = {"file_path": path, "content": "x\n"}
    send(kedge, "PreToolUse", tool_name="Write", tool_input=given, tool_use_id=path)


class Follower:
    """`kedge drift status --follow`, with its output as it comes."""

    def __init__(self, root: Path, *flags: str, terminal: bool = False) -> None:
        self.text = ""
        if terminal:
            self._read, write = pty.openpty()
        else:
            self._read, write = os.pipe()
        self.child = subprocess.Popen(
            [sys.executable, "-m", "kedge", "drift", "status", "--follow", *flags],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=subprocess.PIPE,
            env={**os.environ, "COLUMNS": "200"},
        )
        os.close(write)

    def wait(self, text: str) -> str:
        late = time.monotonic() + PATIENCE
        while text not in self.text:
            assert time.monotonic() < late, self.text
            if select.select([self._read], [], [], 0.2)[0]:
                self.text += os.read(self._read, 1 << 16).decode()
        return self.text

    def interrupt(self) -> str:
        self.child.send_signal(signal.SIGINT)
        assert self.child.stderr is not None
        err = self.child.stderr.read().decode()
        assert self.child.wait(PATIENCE) == 130, err
        assert "Traceback" not in err
        return err

    def close(self) -> None:
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self._read)
        if self.child.stderr is not None:
            self.child.stderr.close()


@pytest.fixture
def follow(kedge: Kedge) -> Iterator[Callable[..., Follower]]:
    started: list[Follower] = []

    def start(*flags: str, terminal: bool = False) -> Follower:
        started.append(Follower(kedge.directory, *flags, terminal=terminal))
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_a_pipe_gets_a_line_for_each_change(kedge: Kedge, follow: Callable[..., Follower]) -> None:
    """It starts before there is anything, and says so."""
    view = follow()
    assert view.child.stderr is not None
    assert b"no agent has kedge's hooks here" in view.child.stderr.readline()
    send(kedge, "UserPromptSubmit", prompt=GOAL)
    view.wait("Moor the boat")
    edit(kedge, "src/pier.py")
    view.wait("write src/pier.py, 10/10")
    edit(kedge, "db/schema.sql")
    view.wait("intervene: limit, ")
    send(kedge, "SessionEnd", reason="other")
    view.wait("\tcompleted\t")
    lines = view.text.splitlines()
    assert all(line.split("\t")[1:3] == ["s1", "claude"] for line in lines), lines
    assert "\x1b" not in view.text
    time.sleep(1)
    select.select([view._read], [], [], 0.1)
    view.interrupt()
    assert view.text.splitlines() == lines  # what ended is not told again


def test_json_is_a_line_for_each_change(kedge: Kedge, follow: Callable[..., Follower]) -> None:
    send(kedge, "UserPromptSubmit", prompt=GOAL)
    view = follow("--json")
    view.wait("\n")
    edit(kedge, "src/pier.py")
    view.wait("src/pier.py, 10/10")
    rows = [json.loads(line) for line in view.text.splitlines()]
    assert rows[-1]["steps"] == 1
    assert {row["id"] for row in rows} == {"s1"}
    view.interrupt()


def test_a_terminal_shows_the_sessions_and_is_restored(
    kedge: Kedge, follow: Callable[..., Follower]
) -> None:
    send(kedge, "UserPromptSubmit", prompt=GOAL)
    view = follow(terminal=True)
    view.wait("Ctrl-C ends")
    assert "Moor the boat" in view.text
    edit(kedge, "db/schema.sql")
    view.wait("s1 last: write db/schema.sql, ")
    assert "DRIFTED" in view.text
    view.interrupt()
    view.wait("\x1b[?1049l")


def test_a_session_without_its_agent_is_not_active(kedge: Kedge, repo: Path) -> None:
    agent = subprocess.Popen(["sleep", "600"])
    try:
        env = {"CLAUDE_PID": str(agent.pid)}
        send(kedge, "SessionStart", source="startup", env=env)
        assert [row["status"] for row in kedge.json("drift", "status")] == ["active"]
        view = Follower(repo)
        view.wait("\tactive\t")
    finally:
        agent.kill()
        agent.wait()
    view.wait("\tabandoned\t")
    view.interrupt()
    view.close()
    ran = kedge("drift", "status")
    assert ran.out == ""
    assert "--all shows 1 that ended" in ran.err
    assert [row["status"] for row in kedge.json("drift", "status", "--all")] == ["abandoned"]
    send(kedge, "SessionStart", source="resume", env={"CLAUDE_PID": str(os.getpid())})
    assert [row["status"] for row in kedge.json("drift", "status")] == ["active"]


def test_a_process_that_got_the_same_id_is_another_one(kedge: Kedge, repo: Path) -> None:
    send(kedge, "SessionStart", source="startup", env={"CLAUDE_PID": str(os.getpid())})
    db = sqlite3.connect(repo / ".git" / "kedge" / "kedge.db")
    (process,) = db.execute("SELECT process FROM session").fetchone()
    pid, start, space = process.split(" ")
    for changed, status in (
        (f"{pid} {int(start) + 1} {space}", "abandoned"),
        (f"999999999 1 {space}", "abandoned"),
        ("999999999 1 pid:[1]", "active"),  # of a container: nobody here can know
        ("", "active"),
    ):
        db.execute("UPDATE session SET process = ?", (changed,))
        db.commit()
        assert [row["status"] for row in kedge.json("drift", "status", "--all")] == [status]
    db.close()


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_the_real_agents_process_is_known(
    repo: Path, kedge: Kedge, claude: Claude, codex: Codex, play: Play, agent: str
) -> None:
    kedge("init", "--agent", "claude", "--agent", "codex")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    seen: list[str] = []

    def look(_: Any) -> str:
        with closing(sqlite3.connect(repo / ".git" / "kedge" / "kedge.db")) as db:
            (process,) = db.execute("SELECT process FROM session").fetchone()
        running = Path("/proc", process.split()[0], "cmdline").read_bytes()
        assert agent.encode() in running
        seen.extend(row["status"] for row in kedge.json("drift", "status"))
        return "Done."

    with play(look) as model:
        if agent == "claude":
            claude(model.url, "go on", cwd=repo)
        else:
            codex(model.url, "go on", "--dangerously-bypass-hook-trust", cwd=repo)
    assert "active" in seen
    assert kedge.json("drift", "status") == []
