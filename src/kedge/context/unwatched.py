"""Sessions of agents that ran here without the hooks that are installed: they are lost silently."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing
from datetime import datetime
from types import ModuleType
from typing import NamedTuple

from kedge.agents.transcripts import locations
from kedge.agents.transcripts import sessions as transcripts
from kedge.context import agent_hooks
from kedge.errors import FileError
from kedge.host.project import Project
from kedge.store import sessions, sqlite

_LATEST = 10  # files of an agent that are looked at, the latest first
_HINTS = {
    "codex": "trust the project and its hooks in codex: /hooks",
    "gemini": "start gemini without --skip-trust, in a folder that it trusts",
    "copilot": "trust the folder in copilot, or pass --trust-folder",
    "opencode": "start opencode without --pure",
}  # of the agents that leave out hooks without a word


class UnwatchedSession(NamedTuple):
    """A session that no hook announced, and how the next one is watched."""

    title: str
    id: str
    at: str
    hint: str

    def describe(self) -> str:
        return (
            f"{self.title} worked here unwatched: no hook told of session {self.id[:8]}, {self.at}"
        )


def find_unwatched(project: Project) -> Iterator[UnwatchedSession]:
    """Yield the last session of each agent if it began after the hooks came, without them."""
    for agent, path in agent_hooks.list_installed(project):
        if agent.NAME not in _HINTS:
            continue
        since = project.path(*path.split("/")).stat().st_mtime
        last = _find_last(project, agent, since)
        if last is not None and last.facts.session not in _list_known(project, last.facts.session):
            session, at = last.facts.session, last.at[:16].replace("T", " ")
            yield UnwatchedSession(agent.TITLE, session, at, _HINTS[agent.NAME])


def _find_last(
    project: Project, agent: ModuleType, since: float
) -> transcripts.TranscriptFile | None:
    """Return the transcript of the last session that began after a time; None if there is none."""
    places = locations.list_places(project.root, [agent.NAME])
    changed = [(path.stat().st_mtime, path) for path in transcripts.find_files(places)]
    latest = sorted((pair for pair in changed if pair[0] > since), reverse=True)[:_LATEST]
    found = []
    for _, path in latest:
        try:
            found += locations.inspect_project_files(path, project.root)
        except FileError:  # the agent has it open, or it is gone; it is looked at the next time
            continue
    begun = [one for one in found if not one.facts.subagent and _read_time(one.at) > since]
    return max(begun, key=lambda one: one.at, default=None)


def _read_time(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0


def _list_known(project: Project, session: str) -> Collection[str]:
    """Return the session's id if a hook has told of it."""
    if not (project.home() / sqlite.FILE).exists():
        return ()
    with closing(sqlite.connect(project.home())[0]) as db:
        return sessions.find_ids(db, session[:100])
