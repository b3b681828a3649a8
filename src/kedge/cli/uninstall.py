"""`kedge uninstall`: restore the repository to what it was before `kedge init`."""

from __future__ import annotations

import click

from kedge.cli import setup_view
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.context import installation, setup_plan


@click.command(cls=KedgeCommand)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Print the changes as a patch and write nothing.")
def command(edge: Edge, yes: bool, dry_run: bool) -> Reply:
    """Remove what kedge wrote and keep your own text."""
    project = edge.project()
    plan = installation.plan_removal(project)
    if dry_run:
        patch = setup_view.diff(plan)
        return Reply(setup_view.data(plan, diff=patch), patch)
    if plan.changes and not yes:
        refusal = "uninstall needs confirmation, and there is no terminal to ask on"
        details = setup_view.text(plan, nothing="")
        if not edge.confirm("Remove all this?", refusal, "kedge uninstall --yes", details):
            return Reply(setup_view.data(setup_plan.SetupPlan()), "nothing was removed")
        plan = installation.plan_removal(project)  # the files may have changed since
    saved = setup_plan.apply(project, plan)
    plan += installation.remove_home(project)
    nothing = "kedge has not written anything here"
    return Reply(
        setup_view.data(plan, backups=saved), setup_view.text(plan, nothing=nothing, saved=saved)
    )
