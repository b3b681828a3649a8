"""The doctor: whether what kedge set up really reaches the agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType

from kedge import config
from kedge.agents import hooks
from kedge.context import checkup, hooking, installed, session
from kedge.context.checkup import Finding, fine
from kedge.context.probe import probe
from kedge.errors import KedgeError
from kedge.host.project import Project
from kedge.settings import Settings


def examine(project: Project, *, live: bool) -> Iterator[Finding]:
    """All checks, one after the other; `live` starts the agents to see their hooks run."""
    yield from checkup.programs(project)
    broken = list(checkup.settings(project))
    yield from broken
    wanted = Settings()
    if not any(found.state == "problem" for found in broken):
        wanted = config.load(project).settings
    try:
        installed.require(project)
    except KedgeError as error:
        yield Finding("sections", "problem", error.message, "kedge init")
        return
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        lambda: checkup.sections(project, wanted),
        lambda: checkup.map_(project, wanted),
        lambda: checkup.sizes(project),
        lambda: checkup.double(project),
        lambda: checkup.database(project),
        lambda: checkup.permissions(project),
        lambda: checkup.leftovers(project),
        *(partial(_hooks, project, agent, live=live) for agent in hooking.AGENTS),
        lambda: checkup.errors(project),
    )
    for check in checks:
        try:
            yield from check()
        except KedgeError as error:  # one check that cannot be made keeps no other from being made
            yield Finding("check", "problem", error.message, error.hint or "mend it")


def mend(found: list[Finding]) -> list[Finding]:
    """Repair what is safe to repair; the findings that were mended."""
    done, acts = [], set()
    for finding in found:
        if finding.mend is None:
            continue
        if finding.fix not in acts:
            finding.mend()
        acts.add(finding.fix)
        done.append(finding)
    return done


def _hooks(project: Project, agent: ModuleType, *, live: bool) -> Iterator[Finding]:
    try:
        places = [path for one, path in hooking.installed(project) if one is agent]
    except KedgeError as error:
        yield Finding("hooks", "problem", error.message, error.hint or "mend it")
        return
    program = agent.found()
    if not places:
        if program is not None:
            yield Finding(
                "hooks",
                "note",
                f"{agent.TITLE} is on this machine, and has none of kedge's hooks here",
                "kedge init, if it is to be anchored",
            )
        return
    if len(places) > 1:
        where = " and ".join(places)
        yield Finding("hooks", "problem", f"{where} both have them: each runs twice", "kedge init")
    problems = agent.problems(project)
    for told in problems:
        what, _, fix = told.rpartition("; ")
        yield Finding("hooks", "problem", what, fix)
    if program is None:
        yield fine("hooks", f"{agent.TITLE}: installed in {places[0]}; it is not on this machine")
    elif live:
        yield _probed(project, agent, places[0], "would run" if problems else "runs")
    else:
        yield _beat(project, agent, places[0])


def _probed(project: Project, agent: ModuleType, place: str, runs: str) -> Finding:
    own = hooks.installed(hooks.read(project.path(*place.split("/")), where=place), where=place)
    if any(hook.command not in hooking.commands(agent) for hook in own):
        what = f"the hooks in {place} name another program than this kedge"
        return Finding("hooks", "problem", what, "kedge update")
    found = probe(agent, own)
    if found.fired:
        name = f"{agent.TITLE} {agent.version() or ''}".strip()
        return fine("hooks", f"{name} {runs} them ({place}): tried in {found.seconds:.1f} s")
    return Finding(
        "hooks",
        "problem",
        f"{agent.TITLE} does not run the hooks in {place}: {found.why}",
        f"see that this runs: {hooking.commands(agent)[0]}",
    )


def _beat(project: Project, agent: ModuleType, place: str) -> Finding:
    beat = session.last_beat(project, agent.NAME)
    if beat is None:
        return Finding(
            "hooks", "note", f"{agent.TITLE}: those in {place} have never run", "kedge doctor"
        )
    return fine("hooks", f"{agent.TITLE}: last run at {beat.get('at')} ({place})")
