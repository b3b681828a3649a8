"""Run a real client with its adapter, from invocation to end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from support import git

from kedge.agents.launch.adapter import Adapter, read_events, start_agent
from kedge.agents.launch.events import Event, Finished
from kedge.agents.launch.invocation import Invocation
from kedge.host.running import Child
from kedge.testing.fake_model import FakeModel

Play = Callable[..., FakeModel]
T = TypeVar("T")
PATIENCE = 120.0  # seconds: a guard against hanging, not a measurement
SLOW = "setsid sleep 3600 &\ntouch begun\nsleep 3600\n"
LONG = "BEGIN \"'$(touch no)\\ é\n" + "x y z\n" * 50_000 + "END"


class Runner:
    """A real client with its adapter and a temporary home."""

    def __init__(self, adapter: Adapter, program: Path, env: dict[str, str]) -> None:
        self.adapter = adapter
        self.program = (str(program),)
        self.env = env

    @contextmanager
    def start(self, invocation: Invocation) -> Iterator[Child]:
        invocation = replace(invocation, program=self.program)
        with start_agent(self.adapter, invocation, environ=self.env) as child:
            yield child

    def run(self, invocation: Invocation, *, seconds: float = PATIENCE) -> list[Event]:
        with self.start(invocation) as child:
            deadline = time.monotonic() + seconds
            following = read_events(
                self.adapter, child, deadline=deadline, session=invocation.session
            )
            return list(following)


def make_invocation(repo: Path, prompt: str = "Do it.", **more: object) -> Invocation:
    return Invocation((), prompt, repo, **more)  # type: ignore[arg-type]


def the_end(events: list[Event]) -> Finished:
    last = events[-1]
    assert isinstance(last, Finished), events
    return last


def of(events: list[Event], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def list_changes(repo: Path) -> list[str]:
    return git(repo, "status", "--short", "--untracked-files=all", "--ignored").splitlines()


def processes(home: Path) -> list[str]:
    """Return the command lines of processes with this home."""
    mark, found = f"HOME={home}".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def run_and_stop(runner: Runner, invocation: Invocation, repo: Path) -> Finished:
    """Stop the agent while `slow.sh` runs, and return its end."""

    def stop_when_begun() -> None:
        end = time.monotonic() + PATIENCE
        while not (repo / "begun").exists() and time.monotonic() < end:
            time.sleep(0.01)
        child.stop("tokens")

    with runner.start(invocation) as child:
        stopper = threading.Thread(target=stop_when_begun)
        stopper.start()
        limit = time.monotonic() + PATIENCE
        events = list(
            read_events(runner.adapter, child, deadline=limit, session=invocation.session)
        )
        stopper.join()
    return the_end(events)
