"""`kedge update`: bring sections, map and hooks up to date."""

from __future__ import annotations

import contextlib

from kedge.cli import setup_view, syntax
from kedge.cli.edge import Edge, Reply
from kedge.errors import CheckFound, UsageError


@syntax.command("Refresh the managed sections, the map and the hooks.")
@syntax.option("--check", is_flag=True, help="Change nothing; exit 4 when something is stale.")
@syntax.option("--dry-run", is_flag=True, help="Print the changes as a patch, and make none.")
@syntax.option("--repair", is_flag=True, help="Mend markers that do not make one section.")
@syntax.option(
    "--defaults",
    type=syntax.Choice(["keep", "take"]),
    help="Where a default that you edited has changed: keep yours, or take the new one.",
)
def command(here: Edge, check: bool, dry_run: bool, repair: bool, defaults: str | None) -> Reply:
    from kedge import config
    from kedge.context import installed, setup

    if check and (repair or defaults):
        raise UsageError("--check changes nothing", hint="give it alone")
    project = here.project()
    settings = config.load(project).settings
    installed.require(project)
    plan = installed.stale(project, settings, repair=repair)
    offers = setup.offered(project)
    if offers and defaults:
        plan += setup.decided(project, offers, take=defaults == "take")
    elif offers:
        plan += installed.offers(project, offers)
    look = check or dry_run
    saved = [] if look else setup.apply(project, plan)
    if installed.full(project) and installed.keeps_map(project, settings):
        with contextlib.closing(here.progress("reading the code")) as progress:
            plan += installed.refreshed_map(project, settings, progress, write=not look)
    if check and plan.changes:
        names = ", ".join(change.path for change in plan.changes)
        raise CheckFound(f"stale: {names}", hint="kedge update", data=setup_view.data(plan))
    if dry_run:
        patch = setup_view.diff(plan)
        return Reply(setup_view.data(plan, diff=patch), patch)
    return Reply(
        setup_view.data(plan, backups=saved),
        setup_view.text(plan, nothing="all is up to date", saved=saved),
    )
