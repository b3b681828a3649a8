"""The interface of an agent's adapter, and one way to run any of them.

    invocation = Invocation(program=locate_program(claude), prompt=…, directory=…)
    with start_agent(claude, invocation) as child:
        for event in read_events(claude, child, deadline=…, idle=…):
            ...  # the last one is Finished

An adapter is a module without I/O: it builds the command line, and turns lines into events.
`kedge.testing.agents` has the tests that every adapter must pass.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from kedge.agents import installation
from kedge.agents.launch.events import Event, Finished
from kedge.agents.launch.invocation import Invocation, Launch
from kedge.agents.launch.stream_state import ProcessEnd, StreamState
from kedge.errors import ProgramError
from kedge.host import running
from kedge.host.running import NEVER, Child, Line

_PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "copilot": "@github/copilot",
    "opencode": "opencode-ai",
}


class Adapter(Protocol):
    """One kind of agent."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of the module
        """The agent's program, unless the user names another."""

    @property
    def MARK(self) -> bytes:  # noqa: N802 - a constant of the module
        """What each line of standard output that says something contains; empty if any line does,
        and many may be read as one."""

    def launch(self, invocation: Invocation, /) -> Launch:
        """Return the process to start. Nothing is written to the repository for it."""

    def follow(self, stream: StreamState, line: Line, /) -> Iterator[Event]:
        """Add one more line of output to the stream, and yield the events in it. Never raises."""

    def finish(self, stream: StreamState, end: ProcessEnd, /) -> Finished:
        """Return how the run ended, whatever was printed."""


def locate_program(adapter: Adapter) -> tuple[str, ...]:
    """Return the agent's program on PATH. A program of the repository is never taken."""
    program = installation.find_program(adapter.NAME)
    if program is None:
        package = _PACKAGES.get(adapter.NAME)
        install = f"npm install -g {package}" if package else f"install {adapter.NAME}"
        raise ProgramError(
            f"{adapter.NAME} is not on PATH",
            hint=f"{install}, or choose another agent with --agent or --command",
        )
    return (str(program),)


@contextlib.contextmanager
def start_agent(
    adapter: Adapter, invocation: Invocation, *, environ: Mapping[str, str] | None = None
) -> Iterator[Child]:
    """Start the agent, with the invocation's environment added to the caller's or to `environ`."""
    scratch = Path(tempfile.gettempdir(), f"kedge-call-{secrets.token_hex(8)}")
    launch = adapter.launch(replace(invocation, scratch=scratch))
    inherited = os.environ if environ is None else environ
    place = {"PWD": str(invocation.directory)}  # opencode believes it more than its own directory
    env = {**inherited, **place, **invocation.environment, **launch.env}
    log = None if launch.log is None else launch.log.locate(env)
    try:
        if launch.files:
            scratch.mkdir(mode=0o700)  # fails if it exists: nobody else's directory is used
        for name, text in launch.files.items():
            path = scratch / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        with running.start(
            launch.argv, cwd=invocation.directory, env=env, input=launch.stdin, log=log
        ) as child:
            yield child
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def read_events(
    adapter: Adapter,
    child: Child,
    *,
    deadline: float = NEVER,
    idle: float = NEVER,
    session: str | None = None,
) -> Iterator[Event]:
    """Yield events until the agent ends or a limit ends it; the last one is `Finished`.

    `session` is the id that the agent was given, for one that does not print it.
    """
    stream = StreamState(given=session or "")
    for line in child.lines(deadline=deadline, idle=idle, mark=adapter.MARK):
        yield from adapter.follow(stream, line)
    yield adapter.finish(stream, ProcessEnd(child.end(), time.time()))
