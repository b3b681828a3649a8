"""`kedge uninstall`: put every byte back as it was."""

from __future__ import annotations

from kedge.cli import setup_view, syntax
from kedge.cli.edge import Edge, Reply


@syntax.command("Take out what kedge wrote, and leave what is yours.")
@syntax.option("--yes", is_flag=True, help="Do it without asking.")
@syntax.option("--dry-run", is_flag=True, help="Print the changes as a patch, and make none.")
def command(here: Edge, yes: bool, dry_run: bool) -> Reply:
    from kedge.context import installed, setup

    project = here.project()
    plan = installed.removal(project)
    if dry_run:
        patch = setup_view.diff(plan)
        return Reply(setup_view.data(plan, diff=patch), patch)
    if plan.changes and not yes:
        asks, shown = "uninstall asks before it removes things", setup_view.text(plan, nothing="")
        if not here.agreed("Remove all this?", asks, "kedge uninstall --yes", shown):
            return Reply(setup_view.data(setup.Plan()), "nothing was removed")
        plan = installed.removal(project)  # as things are after the answer
    saved = setup.apply(project, plan)
    plan += installed.removed_home(project)
    nothing = "kedge has written nothing here"
    return Reply(
        setup_view.data(plan, backups=saved), setup_view.text(plan, nothing=nothing, saved=saved)
    )
