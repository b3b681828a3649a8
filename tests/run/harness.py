"""A project in which a fake agent works on tasks."""

from __future__ import annotations

import contextlib
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
PATIENCE = 120.0  # seconds: a guard against hanging, not a measurement
HANG = 600  # seconds; longer than any guard


def is_alive(pid: int) -> bool:
    """True if the process exists and is not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def list_processes_in(directory: Path) -> list[int]:
    """Return the processes that work in a directory or below it."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "cwd").readlink().is_relative_to(directory):
                found.append(int(path.name))
    return found


def wait_until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


class RunHarness:
    """Tasks, an agent that plays a script, and runs of kedge with it."""

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

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """Start a run without waiting for it, to interrupt or kill it."""
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
        status = self.kedge("task", "show", id, "--json").data["status"]
        assert isinstance(status, str)
        return status

    def attempts(self, id: str) -> list[dict[str, Any]]:
        attempts = self.kedge("log", "show", id, "--json").data
        assert isinstance(attempts, list)
        return attempts

    def outcomes(self, id: str) -> list[str]:
        return [one["outcome"] for one in self.attempts(id)]

    @property
    def prompts(self) -> list[str]:
        assert self.agent is not None
        return [call.prompt for call in self.agent.calls]

    def committed(self) -> list[str]:
        """The files of the last commit, without kedge's own records."""
        names = git(self.root, "show", "--format=", "--name-only", "HEAD").splitlines()
        return [one for one in names if not one.startswith(".kedge/")]

    def status(self) -> list[str]:
        """What git calls changed or untracked."""
        return git(self.root, "status", "--porcelain", "-uall").splitlines()

    def log(self) -> list[str]:
        return git(self.root, "log", "--format=%s").split("\n")[:-1]
