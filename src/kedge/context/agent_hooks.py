"""Install, refresh and remove kedge's hooks in the settings of agents."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import kedge
from kedge.agents.installation import find_program
from kedge.agents.settings import claude, codex, copilot, gemini, hooks, opencode, opencode_plugin
from kedge.agents.settings.hook_command import is_portable, make_command, make_portable_command
from kedge.agents.settings.hooks import Hook
from kedge.context import mcp_entries, status_line
from kedge.context.git_files import is_ignored, is_tracked
from kedge.context.setup_plan import FileChange, SetupPlan
from kedge.errors import FileError, KedgeError
from kedge.host import daemon as host_daemon
from kedge.host.daemon import Daemon
from kedge.host.project import Project

AGENTS: tuple[ModuleType, ...] = (claude, codex, gemini, copilot, opencode)
EXEC = "kedge exec -- claude starts an agent that kedge serve watches"
SUGGESTION = f"kedge init --agent {AGENTS[0].NAME}"  # where no agent was found
HOOK_FILE = Path(kedge.__file__).parent / "hook.py"


def plan_install(
    project: Project,
    *,
    shared: bool,
    only: Collection[str] = (),
    used: Collection[str] = (),
    with_status_line: bool = False,
    daemon: Daemon | None = None,
) -> SetupPlan:
    """Plan hooks for the agents that are on this machine, used in the project, or in `used`.

    With `only`, for these agents instead, found or not. With `daemon`, agents that can do so send
    their calls there.
    """
    plan = SetupPlan()
    for agent in choose_agents(project, only, used):
        path = agent.settings_file(shared=shared)
        plan += _plan_file(project, agent, path, daemon, shared=shared)
        plan += _plan_removal_from(
            project, [other for other in _settings_files(agent) if other != path]
        )
    if not plan.changes and not plan.same:
        names = ", ".join(agent.NAME for agent in AGENTS)
        note = f"no agent was found ({names}), so no hooks were installed and nothing is watched"
        plan += SetupPlan(notes=(f"{note}; {SUGGESTION} installs them all the same",))
    if with_status_line or status_line.is_installed(project):
        plan = _add_status_line(project, plan)
    return plan


def choose_agents(
    project: Project, only: Collection[str] = (), used: Collection[str] = ()
) -> list[ModuleType]:
    """Return the agents that `plan_install` installs hooks for."""
    return [
        agent
        for agent in AGENTS
        if agent.NAME in (*only, *used) or (not only and _is_found(project, agent))
    ]


def list_section_agents(
    project: Project, only: Collection[str] = (), used: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the agents with hooks that need kedge's section in an instruction file of their own:
    Gemini CLI does not read AGENTS.md, unless its settings say so."""
    chosen = choose_agents(project, only, used)
    wants = gemini in chosen and "AGENTS.md" not in gemini.list_instruction_files(project)
    return (gemini.NAME,) if wants else ()


def _add_status_line(project: Project, plan: SetupPlan) -> SetupPlan:
    in_git = is_tracked(project, status_line.FILE)
    exclude = () if in_git or is_ignored(project, status_line.FILE) else (f"/{status_line.FILE}",)
    return status_line.add_to(project, plan, in_git=in_git) + SetupPlan(
        exclude=tuple(line for line in exclude if line not in plan.exclude)
    )


def _is_found(project: Project, agent: ModuleType) -> bool:
    return find_program(agent.NAME) is not None or (project.root / agent.TRACE).exists()


def find_format(agent: ModuleType) -> ModuleType:
    """Return what reads and writes the file with the agent's hooks."""
    return opencode_plugin if agent is opencode else hooks


def plan_refresh(project: Project) -> SetupPlan:
    """Plan to bring the installed hooks and the status line up to date."""
    plan, daemon = SetupPlan(), find_daemon(project)
    for agent, path, text in _find_hooks(project):
        first = find_format(agent).list_installed(text, where=path)[0].command
        shared = is_portable(first, agent.NAME)
        plan += _plan_file(project, agent, path, daemon, shared=shared)
    if status_line.is_installed(project):
        plan = _add_status_line(project, plan)
    return plan


def plan_removal(project: Project) -> SetupPlan:
    """Plan to remove the hooks, and to restore the user's status line."""
    plan = SetupPlan(unexclude=tuple(f"/{agent.settings_file()}" for agent in AGENTS))
    plan += mcp_entries.plan_drop(project, opencode.ENTRY)
    plan += SetupPlan(unexclude=(f"/{opencode.ENTRY.file}",))
    places = [(agent, path) for agent in AGENTS for path in _settings_files(agent)]
    for agent, path in places:
        text = hooks.read_settings(project.path(*path.split("/")), where=path)
        if text is None:
            continue
        left = status_line.remove(text, path) if agent is claude else text
        what = ["status line"] if left != text else []
        if left is not None and find_format(agent).list_installed(left, where=path):
            what.insert(0, "hooks")
            left = find_format(agent).remove(left, where=path)
        if left != text:
            after = None if left is None else left.encode()
            said = "removed" if left is None else f"{' and '.join(what)} removed"
            plan += SetupPlan((FileChange(path, text.encode(), after, said),))
    return plan


def _plan_removal_from(project: Project, paths: Sequence[str]) -> SetupPlan:
    plan = SetupPlan()
    for agent, path, text in _find_hooks(project):
        if path in paths:
            left = find_format(agent).remove(text, where=path)
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


def suggest_next_step(project: Project) -> str:
    """Say how to get a session watched here, where none is."""
    try:
        if installed := list_installed(project):
            *others, last = dict.fromkeys(agent.NAME for agent, _ in installed)
            names = f"{', '.join(others)} or {last}" if others else last
            return f"start {names} here; kedge doctor checks that the hooks run"
    except KedgeError as error:
        return f"{error.message}: {error.hint}"
    if host_daemon.is_serving(project.home()):
        return EXEC
    found = any(_is_found(project, agent) for agent in AGENTS)
    command = "kedge init" if found else SUGGESTION
    steps = f"{command} installs them, kedge doctor checks that they run"
    return f"no agent has kedge's hooks here; {steps}"


def list_complete_agents(project: Project) -> set[str]:
    """Return the names of the agents that have all of kedge's hooks here."""
    return {
        agent.NAME
        for agent, path, text in _find_hooks(project)
        if {hook.place for hook in agent.HOOKS}
        <= {hook.place for hook in find_format(agent).list_installed(text, where=path)}
    }


def find_daemon(project: Project) -> Daemon | None:
    """Return where the installed hooks send their calls, or None."""
    sends = any(
        hook.url
        for agent, path, text in _find_hooks(project)
        for hook in find_format(agent).list_installed(text, where=path)
    )
    return host_daemon.read(project.home()) if sends else None


def list_wanted(
    project: Project, agent: ModuleType, line: str, daemon: Daemon | None
) -> list[Hook]:
    """List the hooks that an agent should have, with this command."""
    own = hooks.add_command(line, agent.HOOKS)
    if daemon is not None and agent is claude:
        own = claude.send_calls(own, daemon, project.home())
    return list(own)


def _plan_file(
    project: Project, agent: ModuleType, path: str, daemon: Daemon | None, *, shared: bool
) -> SetupPlan:
    where = project.path(*path.split("/"))
    if where.is_symlink() and not where.exists():
        raise FileError(f"{path} is a broken symbolic link", hint="remove it, or create its target")
    text = hooks.read_settings(where, where=path)
    if text is not None and not where.stat().st_mode & 0o222:
        raise FileError(f"{path} is read-only", hint=f"chmod u+w {path}, if kedge may write it")
    in_git = shared or is_tracked(project, path)
    entry = SetupPlan()
    if agent is opencode:  # who has the entry needs the plugin: both are in git, or neither
        in_git = in_git or is_tracked(project, opencode.ENTRY.file)
        entry = mcp_entries.plan_add(project, opencode.ENTRY, in_git=in_git)
    if in_git and daemon is not None and agent is claude:
        raise FileError(
            f"{path} is in git, and the server that --daemon names is this machine's own",
            hint="run kedge init without --daemon",
        )
    line = (
        make_portable_command(agent.NAME)
        if in_git
        else make_command(Path(sys.executable), HOOK_FILE, agent.NAME)
    )
    wanted = list_wanted(project, agent, line, daemon)
    after = find_format(agent).install(text, wanted, where=path)
    exclude = () if in_git or is_ignored(project, path) else (f"/{path}",)
    if after == text:
        return entry + SetupPlan(same=(path,), exclude=exclude)
    what = "created" if text is None else "hooks added"
    before = None if text is None else text.encode()
    change = FileChange(path, before, after.encode(), what)
    return entry + SetupPlan((change,), exclude=exclude)


def _find_hooks(project: Project) -> Iterator[tuple[ModuleType, str, str]]:
    for agent in AGENTS:
        for path in _settings_files(agent):
            text = hooks.read_settings(project.path(*path.split("/")), where=path)
            if text is not None and find_format(agent).list_installed(text, where=path):
                yield agent, path, text


def _settings_files(agent: ModuleType) -> list[str]:
    """List the settings files that may hold the agent's hooks."""
    return sorted({agent.settings_file(), agent.settings_file(shared=True)})
