"""`kedge context list`, `purge` and `sweep`: the contexts that there are, and their end."""

from __future__ import annotations

from kedge.cli import context_desk as at
from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import table
from kedge.errors import KedgeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@syntax.command("List the contexts.")
def list_(here: Edge) -> Reply:
    from kedge.handoff.store import Store

    store = Store(here.project())
    rows: list[dict[str, Any]] = []
    for name in store.tasks():
        try:
            one = store.read(name).context
        except KedgeError as error:
            here.warn(error.message)
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


@syntax.command("Delete a context with its snapshots.")
@syntax.argument("task")
@syntax.option("--yes", is_flag=True, help="Do it without asking.")
def purge(here: Edge, task: str, yes: bool) -> Reply:
    from kedge.handoff.lifecycle import purge as remove
    from kedge.handoff.store import Store

    project = here.project()
    if Store(project).exists(task) and not yes:
        hint = f"kedge context purge {task} --yes"
        if not here.agreed(f"Delete the context of {task}?", "purge asks before it deletes", hint):
            return Reply({"task": task, "removed": False}, "nothing was deleted")
    removed = remove(project, task)
    text = f"the context of {task} is gone" if removed else f"{task} has no context"
    return Reply({"task": task, "removed": removed}, text)


@syntax.command("Delete contexts whose task is gone or finished.")
@syntax.option("--ttl", default="7d", show_default=True, help="How long nobody wrote them.")
@syntax.option("--dry-run", is_flag=True, help="Say which, and delete none.")
def sweep(here: Edge, ttl: str, dry_run: bool) -> Reply:
    from kedge.handoff import lifecycle

    project = here.project()
    tasks = at.tasks(here, project)
    if here.warnings:
        raise KedgeError(
            "not all tasks could be read, so nobody knows which are gone", hint=here.warnings[0]
        )
    found = lifecycle.orphans(project, tasks, ttl)
    for orphan in [] if dry_run else found:
        here.warn(*lifecycle.archive(project, orphan.task))
    rows = [(one.task, one.why, one.updated_at) for one in found]
    data = [one._asdict() for one in found]
    return Reply(data, lambda: table(("task", "why", "updated"), rows, empty="no orphans\n"))
