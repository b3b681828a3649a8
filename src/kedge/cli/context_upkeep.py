"""`kedge context list`, `purge` and `sweep`: list contexts and delete them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from kedge.cli.commands import KedgeCommand
from kedge.cli.context_task import read_tasks
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import table
from kedge.cli.task_ids import complete_task
from kedge.errors import KedgeError
from kedge.handoff import lifecycle
from kedge.handoff.context_store import ContextStore
from kedge.run import worktrees


@click.command("list", cls=KedgeCommand)
def list_(edge: Edge) -> Reply:
    """List all contexts."""
    store = ContextStore(edge.project())
    rows: list[dict[str, Any]] = []
    for name in store.tasks():
        try:
            one = store.read(name).context
        except KedgeError as error:
            edge.warn(error.message)
            continue
        agents = {who: agent.status for who, agent in sorted(one.coordination.items())}
        rows.append(
            {
                "task": name,
                "revision": one.revision,
                "agents": agents,
                "open_drift": len(one.open_drift),
                "updated_at": str(one.audit.get("updated_at", "")),
            }
        )

    def text() -> str:
        cells = [
            (
                row["task"],
                ", ".join(f"{who} {state}" for who, state in row["agents"].items()),
                "drift" if row["open_drift"] else "",
                row["updated_at"],
            )
            for row in rows
        ]
        return table(("task", "agents", "", "updated"), cells, empty="no contexts\n")

    return Reply(rows, text)


@click.command(cls=KedgeCommand)
@click.argument("task", shell_complete=complete_task)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def purge(edge: Edge, task: str, yes: bool) -> Reply:
    """Delete a context and its snapshots."""
    project = edge.project()
    if ContextStore(project).exists(task) and not yes:
        hint = f"kedge context purge {task} --yes"
        refusal = "purge needs confirmation, and there is no terminal to ask on"
        if not edge.confirm(f"Delete the context of {task}?", refusal, hint):
            return Reply({"task": task, "removed": False}, "nothing was deleted")
    removed = lifecycle.purge(project, task)
    text = f"deleted the context of {task}" if removed else f"{task} has no context"
    return Reply({"task": task, "removed": removed}, text)


@click.command(cls=KedgeCommand)
@click.option(
    "--ttl",
    default="7d",
    show_default=True,
    help="Only contexts that were not written for this long.",
)
@click.option("--dry-run", is_flag=True, help="List them and delete nothing.")
def sweep(edge: Edge, ttl: str, dry_run: bool) -> Reply:
    """Delete old contexts whose task is finished or no longer exists.

    The contexts of work trees that `kedge run` has left are among them, and snapshots that killed
    runs and deleted work trees have left.
    """
    project = edge.project()
    tasks = read_tasks(edge, project)
    if edge.warnings:
        raise KedgeError(
            "cannot tell which tasks are gone: not all tasks could be read", hint=edge.warnings[0]
        )
    orphans = []
    for place in (project, *worktrees.list_own(project)):
        for find in (lifecycle.find_orphans, lifecycle.find_orphaned_refs):
            found = find(place, tasks, ttl)
            for orphan in [] if dry_run else found:
                edge.warn(*lifecycle.delete(place, orphan))
            orphans += [one for one in found if one not in orphans]
    rows = [(one.task, one.why, one.updated_at) for one in orphans]
    data = [asdict(one) for one in orphans]
    return Reply(data, lambda: table(("task", "why", "updated"), rows, empty="nothing to delete\n"))
