"""Seeing that an agent's hooks really run: the agent itself is started, with a model that is none.

It talks to a server of kedge's on 127.0.0.1, in a home and a directory that are thrown away,
without a key of the user's. Its hooks are kedge's, and the session that they announce is the proof.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from kedge.agents import hooks, program
from kedge.agents.hooks import Hook
from kedge.context import session
from kedge.errors import ProgramError
from kedge.host import files, git, proc
from kedge.host.project import Project, find
from kedge.host.record import NamedTuple

TIMEOUT = 60.0


class Probed(NamedTuple):
    """Whether the hook ran; when it did not, what is known of why."""

    fired: bool
    seconds: float
    why: str = ""


def probe(agent: ModuleType, own: Sequence[Hook], *, timeout: float = TIMEOUT) -> Probed:
    """Start the agent in a directory that has kedge's own hooks and nothing else of the project.

    What else a repository's settings would run is none of a doctor's business.
    """
    from kedge.testing.fake_model import FakeModel

    found = agent.found()
    if found is None:
        return Probed(fired=False, seconds=0.0, why=f"{agent.NAME} is not on PATH")
    mark = os.urandom(8).hex()
    with (
        tempfile.TemporaryDirectory(prefix="kedge-probe-", ignore_cleanup_errors=True) as folder,
        FakeModel(lambda _: "fine") as model,
    ):
        home, scratch = Path(folder, "home"), Path(folder, "work")
        (scratch / ".kedge").mkdir(parents=True)
        files.write_atomic(scratch / agent.settings_file(), hooks.install(None, own).encode())
        git.run(scratch, ["init", "--quiet"])
        launch = agent.probe(model.url, home, Project(scratch, None))
        env = {**program.clean_environment(home), **launch.env, session.PROBE: mark}
        try:
            done = proc.run([found, *launch.args], cwd=scratch, env=env, timeout=timeout)
        except ProgramError as error:
            return Probed(fired=False, seconds=0.0, why=error.message)
        asked = len(model.requests)
        beat = session.last_beat(find(scratch), agent.NAME, probe=True)
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
