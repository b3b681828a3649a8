"""A project with a fake agent at work in it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import Kedge, Ran, git

from kedge.testing.fake_agent import FakeAgent

CHECK = "sh check.sh"


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def until(yes: Callable[[], Any], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not yes():
        assert time.monotonic() < end
        time.sleep(0.05)


class Yard:
    """Tasks, an agent that plays a script, and runs of it."""

    def __init__(self, kedge: Kedge, scratch: Path) -> None:
        self.kedge = kedge
        self.root = kedge.directory
        self.scratch = scratch
        self.agent: FakeAgent | None = None

    def task(self, title: str, id: str, *more: str, check: str = CHECK) -> None:
        self.kedge("task", "add", title, "--id", id, *(("--check", check) if check else ()), *more)

    def plays(self, *parts: Any, dialect: str = "claude") -> FakeAgent:
        self.agent = FakeAgent(self.scratch / "agent", dialect, list(parts))
        return self.agent

    def run(self, *args: str, code: int | None = 0, agent: str = "claude", **more: Any) -> Ran:
        assert self.agent is not None
        program = " ".join(map(str, self.agent.program))
        return self.kedge(
            *("run", "--agent", agent, "--command", program, *args), code=code, **more
        )

    def started(self, *args: str) -> subprocess.Popen[bytes]:
        """A run that goes on, to be interrupted or killed."""
        assert self.agent is not None
        program = " ".join(map(str, self.agent.program))
        command = [sys.executable, "-m", "kedge", "run", "--agent", "claude", "--command", program]
        return subprocess.Popen(
            [*command, *args],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def events(self, ran: Ran) -> list[dict[str, Any]]:
        return [json.loads(line) for line in ran.out.splitlines()]

    def state(self, id: str) -> str:
        found = self.kedge("task", "show", id, "--json").data["status"]
        assert isinstance(found, str)
        return found

    def attempts(self, id: str) -> list[dict[str, Any]]:
        found = self.kedge("log", "show", id, "--json").data
        assert isinstance(found, list)
        return found

    def outcomes(self, id: str) -> list[str]:
        return [one["outcome"] for one in self.attempts(id)]

    @property
    def prompts(self) -> list[str]:
        assert self.agent is not None
        return [call.prompt for call in self.agent.calls]

    def log(self) -> list[str]:
        return git(self.root, "log", "--format=%s").split("\n")[:-1]
