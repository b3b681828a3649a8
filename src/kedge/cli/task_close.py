"""`kedge task close`: close a task once its checks are green."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kedge.cli import approval, task_options, task_view
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.cli.project_tasks import ProjectTasks, record_attempt
from kedge.cli.task_ids import complete_task
from kedge.errors import KedgeError, NotProven, TaskError, UsageError
from kedge.host.agent_session import is_user
from kedge.model.ids import task_id
from kedge.model.task import Task
from kedge.tasks import rules
from kedge.tasks.ledger import Ledger

if TYPE_CHECKING:
    from kedge.handoff.operations import HandoffOperations
    from kedge.handoff.proof import Check, CheckProof


@click.command(cls=KedgeCommand)
@click.argument("id_", metavar="ID", shell_complete=complete_task)
@click.option("--reason", help="What was done, or why it failed.")
@click.option(
    "--failed", is_flag=True, help="Give the task up; tasks that depend on it do not become ready."
)
@click.option(
    "--unproven",
    is_flag=True,
    help="Close without running the task's checks; needs --reason, and labels the task.",
)
@approval.trust_option
@task_options.lesson_options
def close(
    edge: Edge,
    id_: str,
    reason: str | None,
    failed: bool,
    unproven: bool,
    trust: bool,
    tried: tuple[str, ...],
    avoid: tuple[str, ...],
    allow_secret: tuple[str, ...],
) -> Reply:
    """Close a task as done or failed. An epic closes with its last task.

    A task with checks is done when they are green: they run first, unless its context has a green
    result for this very tree, and the task stays open while one is red.
    """
    if unproven and failed:
        raise UsageError(
            "--unproven cannot be combined with --failed", hint="leave out one of them"
        )
    if unproven and not (reason or "").strip():
        raise UsageError("--unproven needs a reason", hint="add --reason WHY")
    if unproven and not is_user(os.environ):
        raise TaskError(
            f"an agent cannot close {id_} without a proof",
            hint=f"make its checks pass, or let a person run: kedge task close {id_} --unproven",
        )
    if os.environ.get("KEDGE_RUN") and os.environ.get("KEDGE_TASK") == id_:
        raise TaskError(
            f"{id_} can only be closed by the run, when its checks pass",
            hint="end your turn and say what you did; kedge then runs the checks",
        )
    project_tasks = ProjectTasks(edge)
    tasks = project_tasks.board.tasks()
    task = rules.find(tasks, task_id(id_))
    if unproven and not task.checks:
        edge.warn(f"{id_} has no checks, so there is nothing to prove")
        unproven = False
    checks: tuple[Check, ...] = ()
    ended = task.finished and not Ledger(project_tasks.project).lacks(task)
    if task.checks and not ended and not failed and not unproven:
        rules.close(tasks, task, reason, "")  # refuses at once what no check can change
        checks = _prove(project_tasks, task, trust=trust)
    result = project_tasks.board.close(
        task_id(id_), reason, failed=failed, unproven=unproven, allow=allow_secret
    )
    record_attempt(project_tasks, result, tried, avoid, checks)
    _archive_context(project_tasks, result.task.id)
    text = f"{id_} is {task_view.describe_status(result.task)}"
    if checks:
        text += f": {', '.join(f'`{one}`' for one in task.checks)} green"
    return task_view.task_reply(result, text)


def _prove(project_tasks: ProjectTasks, task: Task, *, trust: bool) -> tuple[Check, ...]:
    """Run the checks of a task, and return what the ledger keeps of them; NotProven if one is red.

    With a context, the checks are those that were frozen there.
    """
    from kedge.handoff import proof
    from kedge.host.approvals import COMMAND, Item

    project, edge = project_tasks.project, project_tasks.edge
    if proof.is_inside_check(project.root):
        raise TaskError(
            f"a check of this project cannot close {task.id}",
            hint="remove `kedge task close` from the check",
        )
    handoff = _open_context(project_tasks, task)
    tree = proof.read_tree(project)
    fresh = {} if handoff is None else proof.find_fresh(handoff, tree)
    commands = _list_commands(handoff, task)
    items = [Item(COMMAND, one, f"task {task.id}") for one in commands if one not in fresh]
    approval.require(edge, project, items, trust=trust)
    timeout = project_tasks.all_settings.context.check_timeout

    def run(command: str) -> Check:
        edge.say(f"running `{command}` …")
        if handoff is None:
            return proof.run_unrecorded(project, task.id, command, timeout)
        return proof.run_recorded(handoff, "implementer", command)

    for command in commands:
        if command in fresh:
            edge.say(f"`{command}` is green on this tree already")
    done = proof.prove_checks(commands, tree, run, fresh=fresh)
    edge.warn(*(handoff.warnings if handoff else ()))
    if done.failed:
        _refuse(edge, task, done, handoff)
    return tuple(proof.summarise_check(one) for one in done.results)


def _open_context(project_tasks: ProjectTasks, task: Task) -> HandoffOperations | None:
    """Return the handoff of a task with a context that can be used; None if it has none."""
    from kedge.handoff.operations import HandoffOperations

    settings = project_tasks.all_settings
    handoff = HandoffOperations(project_tasks.project, settings, task.id, project_tasks.actor)
    try:
        if not handoff.store.exists(task.id) or handoff.store.read(task.id).edited:
            return None
    except KedgeError as error:
        project_tasks.edge.warn(error.message)
        return None
    return handoff


def _list_commands(handoff: HandoffOperations | None, task: Task) -> list[str]:
    frozen: Mapping[str, Any] = handoff.read().immutable if handoff is not None else {}
    return list(frozen.get("validation_baseline", {}).get("commands", ()) or task.checks)


def _refuse(edge: Edge, task: Task, done: CheckProof, handoff: HandoffOperations | None) -> None:
    from kedge.handoff import proof

    for one in done.failed:
        log = proof.explain_failure(one, done.tree, handoff)
        edge.say(f"`{one['command']}` ended with:\n{log}")
    names = ", ".join(f"`{one['command']}`" for one in done.failed)
    raise NotProven(
        f"{task.id} is not done: {names} failed",
        hint=f"fix it and close the task again, or `kedge task block {task.id}`; "
        "a person can close it with --unproven --reason WHY",
        data={"checks": [proof.summarise_check(one) for one in done.results]},
    )


def _archive_context(project_tasks: ProjectTasks, task: str) -> None:
    """Archive the task's handoff, if it has one. A failure is a warning: the task is closed."""
    if (project_tasks.project.root / ".kedge" / "context" / task).is_dir():
        from kedge.handoff.lifecycle import archive

        project_tasks.edge.warn(*archive(project_tasks.project, task))
