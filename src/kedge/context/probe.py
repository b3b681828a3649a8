"""Check that an agent's hooks really run, by starting the agent with a scripted model.

The model is a server of kedge on 127.0.0.1. The agent gets a temporary home and directory, none of
the user's keys, and kedge's hooks only. The session that the hooks announce proves that they ran.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from kedge.agents import installation
from kedge.agents.settings.hooks import Hook
from kedge.context import session
from kedge.errors import ProgramError
from kedge.host import files, git, proc
from kedge.host.project import Project, find

TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Whether the hooks ran; if they did not, `why` says what is known."""

    fired: bool
    seconds: float
    why: str = ""


def probe(
    agent: ModuleType, own: Sequence[Hook], form: ModuleType, *, timeout: float = TIMEOUT
) -> ProbeResult:
    """Start the agent in a directory with kedge's own hooks and nothing else of the project.

    `form` writes the file with the hooks. A doctor must not run what else the repository's
    settings name.
    """
    from kedge.agents.scripted_model.server import ScriptedModel

    program = installation.find_program(agent.NAME)
    if program is None:
        return ProbeResult(fired=False, seconds=0.0, why=f"{agent.NAME} is not on PATH")
    mark = os.urandom(8).hex()
    with (
        tempfile.TemporaryDirectory(prefix="kedge-probe-", ignore_cleanup_errors=True) as folder,
        ScriptedModel(lambda _: "fine") as model,
    ):
        home, scratch = Path(folder, "home"), Path(folder, "work")
        (scratch / ".kedge").mkdir(parents=True)
        files.write_atomic(scratch / agent.settings_file(), form.install(None, own).encode())
        git.run(scratch, ["init", "--quiet"])
        call = agent.make_probe_call(model.url, home, Project(scratch, None))
        env = {**installation.make_clean_environment(home), **call.env, session.PROBE: mark}
        try:
            done = proc.run([program, *call.args], cwd=scratch, env=env, timeout=timeout)
        except ProgramError as error:
            return ProbeResult(fired=False, seconds=0.0, why=error.message)
        requests = len(model.requests)
        beat = session.read_heartbeat(find(scratch), agent.NAME, probe=True)
    if beat is not None and beat.get("probe") == mark:
        return ProbeResult(fired=True, seconds=done.seconds)
    return ProbeResult(fired=False, seconds=done.seconds, why=_explain(done, requests))


def _explain(done: proc.ProgramResult, requests: int) -> str:
    """Return why the hooks did not run, as far as the agent's end shows it."""
    if done.timed_out:
        return "the agent did not end in time"
    if done.code and not requests:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"the agent ended with exit code {done.code}: {lines[-1][:200] if lines else ''}"
    return "the agent ran but did not call the hooks"
