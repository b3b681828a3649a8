"""What the commands of `kedge context` share: options, the task's handoff, and replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from kedge import config
from kedge.cli.edge import Edge, Reply, write
from kedge.cli.plain import table
from kedge.errors import CheckFound, TaskNotFound
from kedge.handoff.operations import HandoffOperations
from kedge.handoff.task_context import TaskContext
from kedge.host import user
from kedge.host.project import Project
from kedge.model.ids import TaskId, task_id
from kedge.model.task import Task
from kedge.tasks import choose, rules
from kedge.tasks.board import Board

_AGENT = ("--agent", "--expected-agent", "agent")  # both names in every command
agent_option = click.option(*_AGENT, required=True, help="The agent: implementer, reviewer, …")
expected_option = click.option(*_AGENT, help="Compare with this agent's snapshot; last by default.")
attached_by_option = click.option(*_AGENT, help="Who attaches it.")
actor_option = click.option(
    "--actor", help="Who runs this command; by default the name that claims tasks."
)


class ContextTask:
    """The handoff of one task. The task itself is read only when a command needs it."""

    def __init__(self, edge: Edge, task: str, actor: str | None = None) -> None:
        project = edge.project()
        settings = config.load(project).settings
        self.edge = edge
        self.id = task_id(task)
        name = actor or settings.tasks.actor or user.user_name()
        self.handoff = HandoffOperations(project, settings, self.id, name)

    def find_task(self) -> Task | None:
        return read_tasks(self.edge, self.handoff.project).get(TaskId(self.id))

    def require_task(self) -> Task:
        task = self.find_task()
        if task is None:
            raise TaskNotFound(f"no task {self.id!r}", hint="kedge task list shows all ids")
        return task

    def check_claim(self, task: Task) -> None:
        """Raise what a claim of the task would raise."""
        tasks = read_tasks(self.edge, self.handoff.project)
        rules.claim(tasks, task, self.handoff.actor, "", again=True)

    def claim(self) -> None:
        from kedge.tasks import binding

        settings = self.handoff.settings.tasks
        board = Board(choose.open_backend(self.handoff.project, settings))
        result = board.claim(self.id, self.handoff.actor)
        self.edge.warn(*binding.record_claim(self.handoff.project, result.task))

    def list_commands(self) -> Sequence[Mapping[str, Any]]:
        """Return the commands that the map detected in the project's configuration."""
        from kedge.context.workspace import Workspace  # heavy, and most commands do without

        commands: Sequence[Mapping[str, Any]]
        commands = Workspace(self.handoff.project, self.handoff.settings).map_data["commands"]
        return commands


def read_tasks(edge: Edge, project: Project) -> dict[TaskId, Task]:
    """Return all tasks, and warn about those that cannot be read."""
    board = Board(choose.open_backend(project, config.load(project).settings.tasks))
    tasks = board.tasks()
    edge.warn(*board.warnings)
    return tasks


def agent_reply(context: TaskContext, name: str, handoff: HandoffOperations) -> Reply:
    text = f"{name} is {context.agent(name).status.replace('_', ' ')}"
    return Reply({"agent": name, **context.data()["coordination"][name]}, text, handoff.warnings)


@contextmanager
def print_drift(edge: Edge) -> Iterator[None]:
    """If drift is found, print every path: how it changed, and whether it is in scope."""
    try:
        yield
    except CheckFound as error:
        if not edge.json and isinstance(error.data, dict):
            rows = [_describe_change(one) for one in error.data["drift"]]
            write(table(("change", "path", ""), rows))
        raise


_SCOPES = {"in": "in scope", "out": "out of scope"}


def _describe_change(one: Mapping[str, str]) -> tuple[str, ...]:
    """Return a changed path as cells that explain themselves, also in a pipe."""
    old = f"was {one['old_path']}" if "old_path" in one else ""
    more = ", ".join(part for part in (_SCOPES.get(one["scope"], ""), old) if part)
    return one["change"], one["path"], more or "no scope"
