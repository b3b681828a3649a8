"""`kedge init`: set up a repository."""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path

import click

from kedge import config
from kedge.cli import setup_view
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.context import agent_hooks, installation, mcp_entries, plugin_files, setup_plan
from kedge.context.instruction_files import ON_REQUEST
from kedge.context.setup_plan import SetupPlan
from kedge.errors import GitError, UsageError
from kedge.host import daemon
from kedge.host.project import Project

TASK = ('kedge task add "TITLE" --accept "WHEN IT IS DONE"', "a first task")
SERVE = ("kedge serve", "the server that answers the hooks; until it runs, they do it themselves")
DOCTOR = ("kedge doctor", "check that agents get all this")


@click.command(cls=KedgeCommand)
@click.option("--minimal", is_flag=True, help="Write the managed sections only.")
@click.option("--dry-run", is_flag=True, help="Print the changes as a patch and write nothing.")
@click.option(
    "--for",
    "also",
    multiple=True,
    type=click.Choice(sorted(ON_REQUEST)),
    help="Also write the section for this agent; repeatable.",
)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    type=click.Choice([*(agent.NAME for agent in agent_hooks.AGENTS), *mcp_entries.CLIENTS]),
    help="Install hooks for this agent, found or not, instead of those found; for cursor, vscode "
    "and zed the MCP server. Repeatable.",
)
@click.option("--no-hooks", is_flag=True, help="Do not install hooks.")
@click.option("--shared-hooks", is_flag=True, help="Put hooks into settings that the team shares.")
@click.option(
    "--statusline",
    "with_status_line",
    is_flag=True,
    help="Show the session's score in Claude Code's status line, beside your own.",
)
@click.option(
    "--daemon/--no-daemon",
    "with_daemon",
    default=None,
    help="Let Claude Code send its tool calls to kedge serve, while that runs.",
)
@click.option("--plugin", "with_plugin", is_flag=True, help="Add the plugin for Claude Code.")
def command(
    edge: Edge,
    minimal: bool,
    dry_run: bool,
    also: tuple[str, ...],
    agents: tuple[str, ...],
    no_hooks: bool,
    shared_hooks: bool,
    with_status_line: bool,
    with_daemon: bool | None,
    with_plugin: bool,
) -> Reply:
    """Set up the repository: managed sections, constitution, map, hooks."""
    if (agents or with_status_line) and (minimal or no_hooks):
        own, other = (
            "--agent" if agents else "--statusline",
            "--minimal" if minimal else "--no-hooks",
        )
        raise UsageError(
            f"{own} installs hooks and cannot be combined with {other}",
            hint=f"leave out {other}, or {own}",
        )
    if with_daemon and (minimal or no_hooks or shared_hooks):
        other = "--minimal" if minimal else "--no-hooks" if no_hooks else "--shared-hooks"
        raise UsageError(
            f"--daemon cannot be combined with {other}",
            hint="it installs hooks that send calls to a server on this machine",
        )
    project = edge.project()
    home = project.home()
    settings = config.load(project).settings
    full = not minimal or installation.is_full(project)
    used = ("claude",) if with_plugin or with_status_line or with_daemon else ()
    clients = [name for name in agents if name in mcp_entries.CLIENTS]
    no_hooks = no_hooks or bool(clients and len(clients) == len(agents) and not used)
    if not (minimal or no_hooks):
        also += agent_hooks.list_section_agents(project, agents, used)
    paths = installation.list_section_files(project, also)
    plan = setup_plan.plan_sections(project, paths, full=full, limits=settings.drift.agent_limits)
    if not minimal:
        plan += setup_plan.plan_own_files(project, map_in_git=settings.map.commit)
    server = None
    if not (minimal or no_hooks):
        if with_daemon:
            server = daemon.choose(home)
        elif with_daemon is None and not shared_hooks:
            server = agent_hooks.find_daemon(project)
        plan += agent_hooks.plan_install(
            project,
            shared=shared_hooks,
            only=agents,
            used=used,
            with_status_line=with_status_line,
            daemon=server,
        )
    plan += mcp_entries.plan_install(project, clients, shared=shared_hooks)
    plan += (
        plugin_files.plan_install(project) if with_plugin else plugin_files.plan_refresh(project)
    )
    if server is not None and not dry_run:
        daemon.save(home, server)
    saved = [] if dry_run else setup_plan.apply(project, plan)
    if not minimal:
        with contextlib.closing(edge.progress("reading the code")) as progress:
            plan += installation.refresh_map(project, settings, progress, write=not dry_run)
    if dry_run:
        patch = setup_view.diff(plan)
        return Reply(setup_view.data(plan, diff=patch), patch, plan.warnings)
    then = [TASK, DOCTOR, *_share(edge, project, plan)]
    if with_daemon:
        then.insert(0, SERVE)
    if not (minimal or no_hooks or agent_hooks.list_installed(project)):
        then.insert(0, (agent_hooks.SUGGESTION, "hooks, without which nothing is watched"))
    nothing = "everything is set up already"
    return Reply(
        setup_view.data(plan, backups=saved),
        setup_view.text(plan, nothing=nothing, then=then, saved=saved),
        plan.warnings,
    )


def _share(edge: Edge, project: Project, plan: SetupPlan) -> list[tuple[str, str]]:
    """Return the git command that shares the changes with the team, if there is any to share.

    What git ignores belongs to this machine or this user, and `git add` refuses it.
    """
    if project.repo is None:
        return []
    paths = [change.path for change in plan.changes]
    try:
        ignored = project.repo.list_ignored(paths)
    except GitError:  # as for a path behind a link, which it does not add either
        return []
    names = dict.fromkeys(_folder(path) for path in paths if path not in ignored)
    if not names:
        return []
    start = edge.directory.absolute()
    here, elsewhere = Path.cwd(), []
    if not here.is_relative_to(project.root):
        here, elsewhere = start, ["-C", str(edge.directory)]
    near = [os.path.relpath(project.root / name, os.path.realpath(here)) for name in names]
    return [(f"git {shlex.join([*elsewhere, 'add', *near])}", "share it")]


def _folder(path: str) -> str:
    """Return kedge's own folder if the path is in one, else the path."""
    return next(
        (own for own in (".kedge", plugin_files.FOLDER) if path.startswith(f"{own}/")), path
    )
