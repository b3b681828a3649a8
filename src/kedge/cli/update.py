"""`kedge update`: refresh the managed sections, the map and the hooks."""

from __future__ import annotations

import contextlib

import click

from kedge import config
from kedge.cli import setup_view
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.context import installation, setup_plan
from kedge.errors import CheckFound, UsageError


@click.command(cls=KedgeCommand)
@click.option("--check", is_flag=True, help="Write nothing; exit with 4 if anything is stale.")
@click.option("--dry-run", is_flag=True, help="Print the changes as a patch and write nothing.")
@click.option("--repair", is_flag=True, help="Repair broken section markers.")
@click.option(
    "--defaults",
    type=click.Choice(["keep", "take"]),
    help="If a default file that you edited has changed: keep yours or take the new one.",
)
def command(edge: Edge, check: bool, dry_run: bool, repair: bool, defaults: str | None) -> Reply:
    """Refresh the managed sections, the map and the hooks."""
    if check and (repair or defaults):
        raise UsageError(
            "--check cannot be combined with --repair or --defaults",
            hint="run kedge update --check alone",
        )
    project = edge.project()
    settings = config.load(project).settings
    installation.require_setup(project)
    plan = installation.plan_refresh(project, settings, repair=repair)
    offers = setup_plan.find_changed_defaults(project)
    if offers and defaults:
        plan += setup_plan.plan_changed_defaults(project, offers, take=defaults == "take")
    elif offers:
        plan += installation.show_default_changes(project, offers)
    look = check or dry_run
    saved = [] if look else setup_plan.apply(project, plan)
    if installation.is_full(project) and installation.keeps_map(project, settings):
        with contextlib.closing(edge.progress("reading the code")) as progress:
            plan += installation.refresh_map(project, settings, progress, write=not look)
    if check and plan.changes:
        edge.warn(*plan.warnings)
        names = ", ".join(change.path for change in plan.changes)
        raise CheckFound(f"stale: {names}", hint="kedge update", data=setup_view.data(plan))
    if dry_run:
        patch = setup_view.diff(plan)
        return Reply(setup_view.data(plan, diff=patch), patch, plan.warnings)
    return Reply(
        setup_view.data(plan, backups=saved),
        setup_view.text(plan, nothing="everything is up to date", saved=saved),
        plan.warnings,
    )
