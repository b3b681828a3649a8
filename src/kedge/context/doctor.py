"""The doctor: does what kedge has installed really reach the agents?"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType

from kedge import config
from kedge.agents.installation import find_program, find_version
from kedge.agents.settings import copilot, gemini, hooks
from kedge.context import agent_hooks, doctor_checks, installation, session
from kedge.context.doctor_checks import Diagnosis, diagnose_fine
from kedge.context.probe import probe
from kedge.errors import KedgeError
from kedge.host import daemon
from kedge.host.project import Project
from kedge.repomap.progress import Tick, no_tick
from kedge.settings import Settings

_OTHER_READERS = (copilot, gemini)  # agents that read instruction files by rules of their own
_DAMAGED = "repair the database first"


def examine(project: Project, *, live: bool, progress: Tick = no_tick) -> Iterator[Diagnosis]:
    """Run all checks, one after the other; `live` starts the agents to see their hooks run."""
    yield from doctor_checks.check_programs(project)
    about_settings = list(doctor_checks.check_settings(project))
    yield from about_settings
    wanted = Settings()
    if not any(one.state == "problem" for one in about_settings):
        wanted = config.load(project).settings
    try:
        installation.require_setup(project)
    except KedgeError as error:
        yield Diagnosis("sections", "problem", error.message, "kedge init")
        return
    checks: list[Callable[[], Iterator[Diagnosis]]] = [
        partial(doctor_checks.check_sections, project, wanted),
        partial(doctor_checks.check_map, project, wanted),
        *(partial(check, project) for check in doctor_checks.CHECKS),
        partial(_check_any_hooks, project),
        *(partial(_check_hooks, project, agent, live=live) for agent in agent_hooks.AGENTS),
        partial(_check_unwatched, project),
        partial(_check_server, project),
        partial(doctor_checks.check_hook_errors, project),
    ]
    for number, check in enumerate(checks):
        progress(number, len(checks))
        try:
            yield from check()
        except KedgeError as error:  # a check that fails does not stop the others
            yield Diagnosis(
                "check", "problem", error.message, error.hint or "fix it and run kedge doctor again"
            )
        except sqlite3.DatabaseError as error:  # `check_database` says which file and what to do
            yield Diagnosis("check", "note", f"the database cannot be read: {error}", _DAMAGED)


def repair(diagnoses: list[Diagnosis]) -> list[Diagnosis]:
    """Repair what is safe to repair, each fix once; return the diagnoses that were repaired."""
    repaired, fixes = [], set()
    for one in diagnoses:
        if one.repair is None:
            continue
        if one.fix not in fixes:
            one.repair()
        fixes.add(one.fix)
        repaired.append(one)
    return repaired


def _check_any_hooks(project: Project) -> Iterator[Diagnosis]:
    """Check that some agent has hooks: without them nothing is anchored or watched.

    A note, because the user may have left them out on purpose.
    """
    try:
        if agent_hooks.list_installed(project):
            return
    except KedgeError:  # `_check_hooks` reports it
        return
    if daemon.is_serving(project.home()):
        what = "no agent has hooks of kedge here: only what goes through kedge serve is watched"
        yield Diagnosis("hooks", "note", what, agent_hooks.EXEC)
        return
    found = [agent for agent in agent_hooks.AGENTS if find_program(agent.NAME)]
    yield Diagnosis(
        "hooks",
        "note",
        "no agent has hooks of kedge here, so no session is watched",
        "kedge init" if found else agent_hooks.SUGGESTION,
    )


def _check_hooks(project: Project, agent: ModuleType, *, live: bool) -> Iterator[Diagnosis]:
    try:
        installed_in = [path for one, path in agent_hooks.list_installed(project) if one is agent]
    except KedgeError as error:
        yield Diagnosis(
            "hooks", "problem", error.message, error.hint or "fix it and run kedge doctor again"
        )
        return
    program = find_program(agent.NAME)
    if not installed_in:
        if program is not None and agent_hooks.list_installed(project):
            yield Diagnosis(
                "hooks",
                "note",
                f"{agent.TITLE} is on this machine, but has no hooks of kedge here",
                "kedge init, if you use it here",
            )
        return
    if len(installed_in) > 1:
        where = " and ".join(installed_in)
        yield Diagnosis(
            "hooks", "problem", f"{where} both have the hooks: each runs twice", "kedge init"
        )
    problems = agent.find_problems(project)
    for problem in problems:
        what, _, fix = problem.rpartition("; ")
        yield Diagnosis("hooks", "problem" if program else "note", what, fix)
    if agent in _OTHER_READERS:
        for problem in agent.find_instruction_problems(project):
            what, _, fix = problem.rpartition("; ")
            yield Diagnosis("sections", "note", what, fix)
    if program is None:
        yield diagnose_fine(
            "hooks", f"{agent.TITLE}: installed in {installed_in[0]}; it is not on this machine"
        )
    elif live:
        yield _probe_hooks(project, agent, installed_in[0], "would run" if problems else "runs")
    else:
        yield _check_heartbeat(project, agent, installed_in[0])


def _check_unwatched(project: Project) -> Iterator[Diagnosis]:
    """Check that no agent with hooks worked here without them."""
    from kedge.context.unwatched import find_unwatched

    for one in find_unwatched(project):
        yield Diagnosis("hooks", "problem", one.describe(), one.hint)


def _check_server(project: Project) -> Iterator[Diagnosis]:
    """Check that somebody answers the hooks that send their calls to `kedge serve`."""
    sends = agent_hooks.find_daemon(project)
    if sends is None:
        return
    if daemon.is_served(project.home()):
        yield diagnose_fine("serve", f"kedge serve answers the hooks on port {sends.port}")
    else:
        yield Diagnosis(
            "serve",
            "note",
            f"kedge serve does not run on port {sends.port}: the hooks run as commands",
            "kedge serve, or kedge serve --install",
        )


def _probe_hooks(project: Project, agent: ModuleType, path: str, runs: str) -> Diagnosis:
    form = agent_hooks.find_format(agent)
    own = form.list_installed(
        hooks.read_settings(project.path(*path.split("/")), where=path), where=path
    )
    sends = agent_hooks.find_daemon(project)
    known = {
        (hook.command, hook.url)
        for line in agent_hooks.commands(agent)[: 1 if sends else None]
        for hook in agent_hooks.list_wanted(project, agent, line, sends)
    }
    if any((hook.command, hook.url) not in known for hook in own):
        what = f"the hooks in {path} run another program than this kedge"
        return Diagnosis("hooks", "problem", what, "kedge update")
    outcome = probe(agent, own, form)
    if outcome.fired:
        name = f"{agent.TITLE} {find_version(agent.NAME) or ''}".strip()
        return diagnose_fine(
            "hooks", f"{name} {runs} them ({path}): tried in {outcome.seconds:.1f} s"
        )
    return Diagnosis(
        "hooks",
        "problem",
        f"{agent.TITLE} does not run the hooks in {path}: {outcome.why}",
        f"check that this command runs: {agent_hooks.commands(agent)[0]}",
    )


def _check_heartbeat(project: Project, agent: ModuleType, path: str) -> Diagnosis:
    heartbeat = session.read_heartbeat(project, agent.NAME)
    if heartbeat is None:
        return Diagnosis(
            "hooks", "note", f"{agent.TITLE}: the hooks in {path} have never run", "kedge doctor"
        )
    return diagnose_fine("hooks", f"{agent.TITLE}: last run at {heartbeat.get('at')} ({path})")
