"""`kedge init`: set up a repository."""

from __future__ import annotations

import contextlib

import click

from kedge import config
from kedge.cli import setup_view
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.context import agent_hooks, installation, plugin_files, setup_plan
from kedge.context.instruction_files import ON_REQUEST
from kedge.context.setup_plan import SetupPlan

FIRST = (
    'kedge task add "TITLE" --accept "WHEN IT IS DONE"   a first task',
    "kedge doctor                                        check that agents get all this",
)


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
@click.option("--no-hooks", is_flag=True, help="Do not install hooks.")
@click.option("--shared-hooks", is_flag=True, help="Put hooks into settings that the team shares.")
@click.option("--plugin", "with_plugin", is_flag=True, help="Add the plugin for Claude Code.")
def command(
    edge: Edge,
    minimal: bool,
    dry_run: bool,
    also: tuple[str, ...],
    no_hooks: bool,
    shared_hooks: bool,
    with_plugin: bool,
) -> Reply:
    """Set up the repository: managed sections, constitution, map, hooks."""
    project = edge.project()
    settings = config.load(project).settings
    full = not minimal or installation.is_full(project)
    paths = installation.list_section_files(project, also)
    plan = setup_plan.plan_sections(project, paths, full=full, limits=settings.drift.agent_limits)
    if not minimal:
        plan += setup_plan.plan_own_files(project, map_in_git=settings.map.commit)
    if not (minimal or no_hooks):
        used = ("claude",) if with_plugin else ()
        plan += agent_hooks.plan_install(project, shared=shared_hooks, used=used)
    plan += (
        plugin_files.plan_install(project) if with_plugin else plugin_files.plan_refresh(project)
    )
    saved = [] if dry_run else setup_plan.apply(project, plan)
    if not minimal:
        with contextlib.closing(edge.progress("reading the code")) as progress:
            plan += installation.refresh_map(project, settings, progress, write=not dry_run)
    if dry_run:
        patch = setup_view.diff(plan)
        return Reply(setup_view.data(plan, diff=patch), patch)
    return Reply(
        setup_view.data(plan, backups=saved),
        setup_view.text(
            plan, nothing="everything is set up already", then=(*FIRST, _share(plan)), saved=saved
        ),
    )


def _share(plan: SetupPlan) -> str:
    """Return the git command that shares the changes with the team."""
    local = {line.lstrip("/") for line in plan.exclude}
    paths = [change.path for change in plan.changes if change.path not in local]
    names = dict.fromkeys(_folder(path) for path in paths)
    return f"{'git add ' + ' '.join(names):<51} share it"


def _folder(path: str) -> str:
    """Return kedge's own folder if the path is in one, else the path."""
    return next(
        (own for own in (".kedge", plugin_files.FOLDER) if path.startswith(f"{own}/")), path
    )
