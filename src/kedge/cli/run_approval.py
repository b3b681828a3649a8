"""What a run may run: its checks, the commands that its agent may use, and the user's approval."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kedge.agents.launch import adapter, registry
from kedge.cli import approval as asking
from kedge.cli.edge import Edge
from kedge.context.workspace import Workspace
from kedge.errors import KedgeError, NotApproved
from kedge.handoff import approval
from kedge.host.agent_session import is_user
from kedge.host.approvals import COMMAND, Approvals, Item
from kedge.host.project import Project
from kedge.model.task import Task
from kedge.run import task_choice
from kedge.run.options import RunOptions
from kedge.settings import Settings
from kedge.tasks import choose, rules
from kedge.tasks.board import Board


@dataclass(frozen=True, slots=True)
class RunCommands:
    """The checks that kedge runs, and the commands that its agent may use without asking."""

    checks: tuple[str, ...]
    allowed: tuple[str, ...]


def approve(
    edge: Edge, project: Project, settings: Settings, wanted: RunOptions, *, trust: bool
) -> RunCommands:
    """Have the user approve what the run runs, and return it.

    A run without its checks proves nothing, so it is refused. Commands that only the agent would
    use are left out where nobody can be asked.
    """
    commands = _find_commands(project, settings)
    checks = approval.list_checks(
        project, settings, _list_tasks(project, settings, wanted), commands
    )
    allowed: list[Item] = []
    if not wanted.full_access and wanted.agent != "command":
        try:
            allowed = approval.list_allowed(commands)
        except KedgeError as error:
            edge.warn(f"the project's commands could not be detected: {error.message}")
    can_approve = is_user(os.environ) and (trust or edge.can_ask)
    try:
        asking.require(edge, project, [*checks, *(allowed if can_approve else ())], trust=trust)
    except NotApproved:
        if approval.find_missing(project, checks):
            raise
    missing = approval.find_missing(project, allowed)
    if missing:
        names = ", ".join(map(approval.describe, missing))
        edge.warn(f"the agent may not run {names}: you have not approved it (kedge trust)")
    left_out = {one.command for one in missing}
    names_allowed = [one.text for one in allowed if one.text not in left_out]
    return RunCommands(
        tuple(dict.fromkeys(one.text for one in checks)), tuple(dict.fromkeys(names_allowed))
    )


def approve_program(edge: Edge, project: Project, wanted: RunOptions, *, typed: bool) -> None:
    """Approve an agent's program that the user typed, so that `--resume` may start it again.

    Raises NotApproved for one that comes from the journal alone: others can write there.
    """
    if not wanted.program or wanted.program == _find_usual_program(wanted.agent):
        return
    item = Item(COMMAND, shlex.join(wanted.program), "kedge run --command")
    if not typed:
        asking.require(edge, project, [item], trust=False)
    elif is_user(os.environ):
        with contextlib.suppress(KedgeError):  # `--resume` asks, where it could not be kept
            Approvals(project).approve([item])


def _find_usual_program(agent: str) -> tuple[str, ...]:
    try:
        return adapter.locate_program(registry.find_adapter(agent))
    except KedgeError:
        return ()


def _find_commands(
    project: Project, settings: Settings
) -> Callable[[], Sequence[Mapping[str, Any]]]:
    @cache
    def read() -> Sequence[Mapping[str, Any]]:
        detected: Sequence[Mapping[str, Any]] = Workspace(project, settings).map_data["commands"]
        return detected

    return read


def _list_tasks(project: Project, settings: Settings, wanted: RunOptions) -> list[Task]:
    tasks = Board(choose.open_backend(project, settings.tasks)).tasks()
    return [
        one
        for one in tasks.values()
        if not one.finished
        and one.type != rules.EPIC
        and task_choice.is_selected(tasks, wanted, one)
    ]
