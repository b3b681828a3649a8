"""Kedge's hooks in the settings of the agents that are used here."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import kedge
from kedge.agents import claude, codex, hooks
from kedge.agents.command import command, portable
from kedge.context.setup import Change, Plan
from kedge.errors import FileError, GitError
from kedge.host.project import Project

AGENTS: tuple[ModuleType, ...] = (claude, codex)
HOOK_FILE = Path(kedge.__file__).parent / "hook.py"


def added(project: Project, *, shared: bool, used: Collection[str] = ()) -> Plan:
    """Hooks for the agents that are on this machine, used in the project, or named."""
    plan = Plan()
    for agent in AGENTS:
        folder = project.root / agent.settings_file().split("/")[0]
        if agent.found() or folder.is_dir() or agent.NAME in used:
            path = agent.settings_file(shared=shared)
            plan += _installed(project, agent, path, shared=shared)
            plan += _removed(project, [other for other in _places(agent) if other != path])
    if not plan.changes and not plan.same:
        plan += Plan(notes=("no agent was found to install hooks for (claude, codex)",))
    return plan


def refreshed(project: Project) -> Plan:
    """The hooks that are installed, as they should be."""
    plan = Plan()
    for agent, path, text in _found(project):
        first = hooks.installed(text, where=path)[0].command
        plan += _installed(project, agent, path, shared=first == portable(agent.NAME))
    return plan


def removed(project: Project) -> Plan:
    plan = _removed(project, [path for agent in AGENTS for path in _places(agent)])
    return plan + Plan(unexclude=tuple(f"/{agent.settings_file()}" for agent in AGENTS))


def _removed(project: Project, paths: Sequence[str]) -> Plan:
    plan = Plan()
    for _, path, text in _found(project):
        if path in paths:
            left = hooks.remove(text, where=path)
            what = "removed" if left is None else "hooks removed"
            after = None if left is None else left.encode()
            plan += Plan((Change(path, text.encode(), after, what),))
    return plan


def commands(agent: ModuleType) -> tuple[str, str]:
    """What this kedge's hooks run: on this machine, and wherever it is on PATH."""
    return command(Path(sys.executable), HOOK_FILE, agent.NAME), portable(agent.NAME)


def installed(project: Project) -> list[tuple[ModuleType, str]]:
    """The agents that have kedge's hooks, each with the file that has them."""
    return [(agent, path) for agent, path, _ in _found(project)]


def complete(project: Project) -> set[str]:
    """The names of the agents that have all of kedge's hooks here."""
    wanted = {(hook.event, hook.matcher) for hook in hooks.HOOKS}
    return {
        agent.NAME
        for agent, path, text in _found(project)
        if wanted <= {hook[:2] for hook in hooks.installed(text, where=path)}
    }


def _installed(project: Project, agent: ModuleType, path: str, *, shared: bool) -> Plan:
    where = project.path(*path.split("/"))
    if where.is_symlink() and not where.exists():
        raise FileError(
            f"{path} is a link that leads nowhere", hint="remove it, or put a file there"
        )
    text = hooks.read(where, where=path)
    if text is not None and not where.stat().st_mode & 0o222:
        raise FileError(f"{path} is read-only", hint=f"chmod u+w {path}, if kedge may write there")
    in_git = shared or _is_tracked(project, path)
    line = portable(agent.NAME) if in_git else command(Path(sys.executable), HOOK_FILE, agent.NAME)
    after = hooks.install(text, hooks.calling(line), where=path)
    exclude = () if in_git or _is_ignored(project, path) else (f"/{path}",)
    if after == text:
        return Plan(same=(path,), exclude=exclude)
    what = "created" if text is None else "hooks added"
    before = None if text is None else text.encode()
    return Plan((Change(path, before, after.encode(), what),), exclude=exclude)


def _found(project: Project) -> Iterator[tuple[ModuleType, str, str]]:
    for agent in AGENTS:
        for path in _places(agent):
            text = hooks.read(project.path(*path.split("/")), where=path)
            if text is not None and hooks.installed(text, where=path):
                yield agent, path, text


def _places(agent: ModuleType) -> list[str]:
    """The files that may have the agent's hooks."""
    return sorted({agent.settings_file(), agent.settings_file(shared=True)})


def _is_tracked(project: Project, path: str) -> bool:
    repo = project.repo
    return repo is not None and bool(repo.git("ls-files", "-z", "--", path))


def _is_ignored(project: Project, path: str) -> bool:
    repo = project.repo
    if repo is None:
        return True
    try:  # `check-ignore` refuses to take paths literally
        repo.git("check-ignore", "--quiet", "--", path, env={"GIT_LITERAL_PATHSPECS": "0"})
    except GitError:
        return False
    return True
