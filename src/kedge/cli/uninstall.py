"""`kedge uninstall`: restore the repository to what it was before `kedge init`."""

from __future__ import annotations

import click

from kedge.cli import setup_view
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.context import home_removal, installation, setup_plan
from kedge.context.setup_plan import SetupPlan
from kedge.handoff.snapshot import commits
from kedge.host.project import Project
from kedge.host.text import count_noun


@click.command(cls=KedgeCommand)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Print the changes as a patch and write nothing.")
@click.option("--records", is_flag=True, help="Also remove the records of watched sessions.")
def command(edge: Edge, yes: bool, dry_run: bool, records: bool) -> Reply:
    """Remove what kedge wrote and keep your own text."""
    from kedge.proxy import service, unit

    project = edge.project()
    home = home_removal.plan_home_removal(project, records=records)
    refs = _describe_refs(project)
    outside = SetupPlan(notes=home.notes, outside=home.rows) + refs
    if unit.is_installed(project):
        outside += SetupPlan(outside=((str(unit.find_unit(project).path), "removed"),))
    plan = installation.plan_removal(project) + outside
    if dry_run:
        edge.warn(*(f"{path} would be {what}" for path, what in plan.outside), *plan.notes)
        patch = setup_view.diff(plan)
        return Reply(setup_view.data(plan, diff=patch), patch)
    if (plan.changes or plan.outside) and not yes:
        refusal = "uninstall needs confirmation, and there is no terminal to ask on"
        details = setup_view.text(plan, nothing="")
        if not edge.confirm("Remove all this?", refusal, "kedge uninstall --yes", details):
            return Reply(setup_view.data(SetupPlan()), "nothing was removed")
        # the files may have changed since
        plan = installation.plan_removal(project) + outside
    unit.uninstall(project)
    if home.paths:
        service.stop(project.home())
    saved = setup_plan.apply(project, plan)
    if refs.outside:
        commits.drop_all(project)
    home_removal.remove_home(project, home)
    nothing = "kedge has not written anything here"
    return Reply(
        setup_view.data(plan, backups=saved),
        setup_view.text(plan, nothing=nothing, saved=saved),
        plan.warnings,
    )


def _describe_refs(project: Project) -> SetupPlan:
    """Say which refs go, with how to get back work of agents that they keep."""
    if project.repo is None:
        return SetupPlan()
    refs = commits.list_refs(project, "")
    if not refs:
        return SetupPlan()
    where = f"{commits.REFS}*"
    if home_removal.is_shared(project):
        return SetupPlan(notes=(f"{where} stay: other work trees share them",))
    notes = [
        f"{ref} keeps work of an agent: git branch NAME {commit[:12]} gets it back, "
        "until git removes old commits"
        for ref, commit in commits.list_saved_work(project)
    ]
    what = f"removed: {count_noun(len(refs), 'snapshot')}"
    return SetupPlan(notes=tuple(notes), outside=((where, what),))
