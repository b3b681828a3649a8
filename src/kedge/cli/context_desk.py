"""What the commands of `kedge context` share: their options, the desk, how an agent is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedge import config
from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply, write
from kedge.cli.plain import table
from kedge.errors import CheckFound, TaskNotFound
from kedge.handoff.context import Context
from kedge.handoff.desk import Desk
from kedge.host import who
from kedge.host.project import Project
from kedge.model.ids import TaskId, task_id
from kedge.model.task import Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

agent = syntax.option("--agent", required=True, help="The agent: implementer, reviewer, …")
actor = syntax.option("--actor", help="Who does this; else the name that tasks are claimed by.")
allow = syntax.option(
    "--allow-secret", "allow", multiple=True, metavar="ID", help="Let this finding through."
)


class At:
    """The desk of one task. The task itself is read only by what needs it."""

    def __init__(self, here: Edge, task: str, actor: str | None = None) -> None:
        project = here.project()
        settings = config.load(project).settings
        self.here = here
        self.id = task_id(task)
        name = actor or settings.tasks.actor or who.user()
        self.desk = Desk(project, settings, self.id, name)

    def task(self) -> Task | None:
        return tasks(self.here, self.desk.project).get(TaskId(self.id))

    def needed(self) -> Task:
        found = self.task()
        if found is None:
            raise TaskNotFound(f"no task {self.id!r}", hint="kedge task list shows all ids")
        return found

    def commands(self) -> Sequence[Mapping[str, Any]]:
        """The commands that the project's own configuration names, from the map's cache."""
        from kedge.context.workplace import Workplace

        found: Sequence[Mapping[str, Any]]
        found = Workplace(self.desk.project, self.desk.settings).map_data["commands"]
        return found


def tasks(here: Edge, project: Project) -> dict[TaskId, Task]:
    """All tasks; what could not be read is among the warnings."""
    from kedge.tasks import choose
    from kedge.tasks.board import Board

    board = Board(choose.backend(project, config.load(project).settings.tasks))
    found = board.tasks()
    here.warn(*board.warnings)
    return found


def agent_reply(made: Context, name: str, desk: Desk) -> Reply:
    text = f"{name} is {made.agent(name).status.replace('_', ' ')}"
    return Reply({"agent": name, **made.data()["coordination"][name]}, text, desk.warnings)


def tell_paths(here: Edge, error: CheckFound) -> None:
    """Every path that drifted, what became of it, and whether it is in scope."""
    if here.json or not isinstance(error.data, dict):
        return
    rows = [
        (one["change"], one["scope"], one["path"], one.get("old_path", ""))
        for one in error.data["drift"]
    ]
    write(table(("change", "scope", "path", "was"), rows))
