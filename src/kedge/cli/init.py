"""`kedge init`: set up a repository in one go."""

from __future__ import annotations

import contextlib

from kedge.cli import setup_view, syntax
from kedge.cli.edge import Edge, Reply
from kedge.context.setup import Plan
from kedge.context.targets import ON_REQUEST

FIRST = (
    'kedge task add "TITLE" --accept "WHEN IT IS DONE"   a first task',
    "kedge doctor                                        see that agents get all this",
)


@syntax.command("Set up the repository: managed sections, constitution, map, hooks.")
@syntax.option("--minimal", is_flag=True, help="Write the managed sections only.")
@syntax.option("--dry-run", is_flag=True, help="Print the changes as a patch, and make none.")
@syntax.option(
    "--for",
    "also",
    multiple=True,
    type=syntax.Choice(sorted(ON_REQUEST)),
    help="Write the section for this agent too.",
)
@syntax.option("--no-hooks", is_flag=True, help="Install no hooks.")
@syntax.option("--shared-hooks", is_flag=True, help="Put hooks where the whole team gets them.")
@syntax.option("--plugin", "with_plugin", is_flag=True, help="Add the plugin for Claude Code.")
def command(
    here: Edge,
    minimal: bool,
    dry_run: bool,
    also: tuple[str, ...],
    no_hooks: bool,
    shared_hooks: bool,
    with_plugin: bool,
) -> Reply:
    from kedge import config
    from kedge.context import hooking, installed, plugin, setup

    project = here.project()
    settings = config.load(project).settings
    full = not minimal or installed.full(project)
    paths = installed.paths(project, also)
    plan = setup.sections(project, paths, full=full)
    if not minimal:
        plan += setup.own_files(project, map_in_git=settings.map.commit)
    if not (minimal or no_hooks):
        used = ("claude",) if with_plugin else ()
        plan += hooking.added(project, shared=shared_hooks, used=used)
    plan += plugin.added(project) if with_plugin else plugin.refreshed(project)
    saved = [] if dry_run else setup.apply(project, plan)
    if not minimal:
        with contextlib.closing(here.progress("reading the code")) as progress:
            plan += installed.refreshed_map(project, settings, progress, write=not dry_run)
    if dry_run:
        patch = setup_view.diff(plan)
        return Reply(setup_view.data(plan, diff=patch), patch)
    return Reply(
        setup_view.data(plan, backups=saved),
        setup_view.text(
            plan, nothing="all is set up already", then=(*FIRST, _share(plan)), saved=saved
        ),
    )


def _share(plan: Plan) -> str:
    """What is for git, as a command."""
    local = {line.lstrip("/") for line in plan.exclude}
    paths = [change.path for change in plan.changes if change.path not in local]
    names = dict.fromkeys(_folder(path) for path in paths)
    return f"{'git add ' + ' '.join(names):<51} share it"


def _folder(path: str) -> str:
    """The folder of kedge's that the path is in, or the path."""
    from kedge.context import plugin

    return next((own for own in (".kedge", plugin.FOLDER) if path.startswith(f"{own}/")), path)
