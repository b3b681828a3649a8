"""Install, refresh and remove kedge's hooks in the settings of agents."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import kedge
from kedge.agents.settings import claude, codex, hooks
from kedge.agents.settings.hook_command import make_command, make_portable_command
from kedge.context.setup_plan import FileChange, SetupPlan
from kedge.errors import FileError, GitError
from kedge.host.project import Project

AGENTS: tuple[ModuleType, ...] = (claude, codex)
HOOK_FILE = Path(kedge.__file__).parent / "hook.py"


def plan_install(project: Project, *, shared: bool, used: Collection[str] = ()) -> SetupPlan:
    """Plan hooks for the agents that are on this machine, used in the project, or in `used`."""
    plan = SetupPlan()
    for agent in AGENTS:
        folder = project.root / agent.settings_file().split("/")[0]
        if agent.find_program() or folder.is_dir() or agent.NAME in used:
            path = agent.settings_file(shared=shared)
            plan += _plan_file(project, agent, path, shared=shared)
            plan += _plan_removal_from(
                project, [other for other in _settings_files(agent) if other != path]
            )
    if not plan.changes and not plan.same:
        plan += SetupPlan(notes=("no agent was found to install hooks for (claude, codex)",))
    return plan


def plan_refresh(project: Project) -> SetupPlan:
    """Plan to bring the installed hooks up to date."""
    plan = SetupPlan()
    for agent, path, text in _find_hooks(project):
        first = hooks.list_installed(text, where=path)[0].command
        plan += _plan_file(project, agent, path, shared=first == make_portable_command(agent.NAME))
    return plan


def plan_removal(project: Project) -> SetupPlan:
    plan = _plan_removal_from(
        project, [path for agent in AGENTS for path in _settings_files(agent)]
    )
    return plan + SetupPlan(unexclude=tuple(f"/{agent.settings_file()}" for agent in AGENTS))


def _plan_removal_from(project: Project, paths: Sequence[str]) -> SetupPlan:
    plan = SetupPlan()
    for _, path, text in _find_hooks(project):
        if path in paths:
            left = hooks.remove(text, where=path)
            what = "removed" if left is None else "hooks removed"
            after = None if left is None else left.encode()
            plan += SetupPlan((FileChange(path, text.encode(), after, what),))
    return plan


def commands(agent: ModuleType) -> tuple[str, str]:
    """Return the commands of this kedge's hooks: by absolute path, and by name on PATH."""
    return make_command(Path(sys.executable), HOOK_FILE, agent.NAME), make_portable_command(
        agent.NAME
    )


def list_installed(project: Project) -> list[tuple[ModuleType, str]]:
    """List the agents that have kedge's hooks, each with its settings file."""
    return [(agent, path) for agent, path, _ in _find_hooks(project)]


def list_complete_agents(project: Project) -> set[str]:
    """Return the names of the agents that have all of kedge's hooks here."""
    wanted = {(hook.event, hook.matcher) for hook in hooks.HOOKS}
    return {
        agent.NAME
        for agent, path, text in _find_hooks(project)
        if wanted <= {hook.place for hook in hooks.list_installed(text, where=path)}
    }


def _plan_file(project: Project, agent: ModuleType, path: str, *, shared: bool) -> SetupPlan:
    where = project.path(*path.split("/"))
    if where.is_symlink() and not where.exists():
        raise FileError(f"{path} is a broken symbolic link", hint="remove it, or create its target")
    text = hooks.read_settings(where, where=path)
    if text is not None and not where.stat().st_mode & 0o222:
        raise FileError(f"{path} is read-only", hint=f"chmod u+w {path}, if kedge may write it")
    in_git = shared or _is_tracked(project, path)
    line = (
        make_portable_command(agent.NAME)
        if in_git
        else make_command(Path(sys.executable), HOOK_FILE, agent.NAME)
    )
    after = hooks.install(text, hooks.add_command(line), where=path)
    exclude = () if in_git or _is_ignored(project, path) else (f"/{path}",)
    if after == text:
        return SetupPlan(same=(path,), exclude=exclude)
    what = "created" if text is None else "hooks added"
    before = None if text is None else text.encode()
    return SetupPlan((FileChange(path, before, after.encode(), what),), exclude=exclude)


def _find_hooks(project: Project) -> Iterator[tuple[ModuleType, str, str]]:
    for agent in AGENTS:
        for path in _settings_files(agent):
            text = hooks.read_settings(project.path(*path.split("/")), where=path)
            if text is not None and hooks.list_installed(text, where=path):
                yield agent, path, text


def _settings_files(agent: ModuleType) -> list[str]:
    """List the settings files that may hold the agent's hooks."""
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
