"""Completion of task ids on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_task(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 - click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """Return the tasks whose id begins with what was typed, unfinished ones first."""
    from click.shell_completion import CompletionItem

    from kedge.cli.project_tasks import ProjectTasks
    from kedge.model.task import Status

    tasks = ProjectTasks(ctx.obj).board.tasks().values()
    matching = [task for task in tasks if task.id.startswith(incomplete)]
    matching.sort(key=lambda task: task.status is Status.DONE)
    return [CompletionItem(task.id, help=" ".join(task.title.split())) for task in matching]
