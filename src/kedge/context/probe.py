"""Seeing that an agent's hooks really run: the agent itself is started, with a model that is none.

It talks to a server of kedge's on 127.0.0.1, in a home that is thrown away, with no key of the
user's. Its hooks are those of the project, and the session that they announce is the proof.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from kedge.agents import program
from kedge.context import session
from kedge.errors import ProgramError
from kedge.host import proc
from kedge.host.project import Project

TIMEOUT = 60.0


class Probed(NamedTuple):
    """Whether the hook ran; when it did not, what is known of why."""

    fired: bool
    seconds: float
    why: str = ""


def probe(project: Project, agent: ModuleType, *, timeout: float = TIMEOUT) -> Probed:
    from kedge.testing.fake_model import FakeModel

    found = agent.found()
    if found is None:
        return Probed(fired=False, seconds=0.0, why=f"{agent.NAME} is not on PATH")
    mark = os.urandom(8).hex()
    with (
        tempfile.TemporaryDirectory(prefix="kedge-probe-", ignore_cleanup_errors=True) as folder,
        FakeModel(lambda _: "fine") as model,
    ):
        home = Path(folder)
        launch = agent.probe(model.url, home, project)
        env = {**program.clean_environment(home), **launch.env, session.PROBE: mark}
        try:
            done = proc.run([found, *launch.args], cwd=project.root, env=env, timeout=timeout)
        except ProgramError as error:
            return Probed(fired=False, seconds=0.0, why=error.message)
        asked = len(model.requests)
    beat = session.last_beat(project, agent.NAME, probe=True)
    if beat is not None and beat.get("probe") == mark:
        return Probed(fired=True, seconds=done.seconds)
    return Probed(fired=False, seconds=done.seconds, why=_why(done, asked))


def _why(done: proc.Finished, asked: int) -> str:
    if done.timed_out:
        return "the agent did not end in time"
    if done.code and not asked:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"the agent ended with exit code {done.code}: {said[-1][:200] if said else ''}"
    return "the agent ran and did not call it"
