"""Options that commands of `kedge task` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from kedge.cli.task_ids import complete_task
from kedge.cli.text_input import read_value
from kedge.model.ids import task_id
from kedge.model.task import Task, unique

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
PRIORITY = click.Choice(["P0", "P1", "P2", "P3", "P4"], case_sensitive=False)

allow_option = click.option(
    "--allow-secret",
    multiple=True,
    metavar="FINDING",
    help="Accept this secret finding; repeatable.",
)
_FIELDS = (
    click.option("--type", "type_", help="task, bug, feature, chore, epic …"),
    click.option("--priority", type=PRIORITY, help="P0 (most urgent) to P4."),
    click.option("--description", help="What to do; - reads standard input."),
    click.option("--accept", multiple=True, help="An acceptance criterion; repeatable."),
    click.option("--epic", shell_complete=complete_task, help="The epic that the task belongs to."),
    click.option(
        "--depends",
        multiple=True,
        shell_complete=complete_task,
        help="A task that must be done first; repeatable.",
    ),
    click.option("--scope", multiple=True, help="A path that may change; repeatable."),
    click.option("--out-of-scope", multiple=True, help="A path that must not change; repeatable."),
    click.option("--check", multiple=True, help="A command that proves the task; repeatable."),
    click.option("--label", multiple=True, help="A label; repeatable."),
    click.option("--area", help="A part of the product."),
    allow_option,
)
_LESSONS = (
    click.option("--tried", multiple=True, help="What was tried; repeatable."),
    click.option("--avoid", multiple=True, help="What the next attempt should avoid; repeatable."),
    allow_option,
)


def _declare(options: Sequence[Decorator]) -> Decorator:
    """Return a decorator that declares all of the options."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


field_options = _declare(_FIELDS)  # they set a task's fields
lesson_options = _declare(_LESSONS)  # they tell the next attempt what was learned


def set_fields(task: Task, given: dict[str, Any]) -> Task:
    """Return the task with the fields that the field options set."""
    values: dict[str, Any] = {
        "type": given["type_"],
        "priority": given["priority"],
        "description": read_description(given["description"]),
        "acceptance": given["accept"],
        "epic": given["epic"] and task_id(given["epic"]),
        "depends_on": tuple(task_id(one) for one in unique(given["depends"])),
        "scope_in": unique(given["scope"]),
        "scope_out": unique(given["out_of_scope"]),
        "checks": given["check"],
        "labels": unique(given["label"]),
        "area": given["area"],
    }
    return replace(
        task, **{name: value for name, value in values.items() if value not in (None, ())}
    )


def read_description(value: str | None) -> str | None:
    return None if value is None else read_value(value)
