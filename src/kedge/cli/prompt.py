"""`kedge prompt`: what an agent is given to do a task."""

from __future__ import annotations

import click

from kedge import config
from kedge.cli import edge
from kedge.cli.edge import Edge, Reply
from kedge.cli.parts_view import explained
from kedge.settings import LEAST_PROMPT, MOST


@edge.command("Print the prompt that an agent gets for a task.")
@click.argument("task")
@click.option("--tokens", type=click.IntRange(LEAST_PROMPT, MOST), help="The budget.")
@click.option("--explain", is_flag=True, help="Show tokens by section, what was cut and why.")
@click.pass_obj
def command(here: Edge, task: str, tokens: int | None, explain: bool) -> Reply:
    from kedge.context import prompt
    from kedge.context.workplace import Workplace
    from kedge.tasks import rules

    project = here.project()
    loaded = config.load(project, {"prompt.tokens": tokens})
    here.warn(*loaded.warnings)
    place = Workplace(project, loaded.settings, task)
    made = prompt.make(place, rules.find(place.tasks, task))

    def why() -> str:
        return explained(made.parts, made.tokens, made.budget)

    return Reply(made.data(), why if explain else made.text, made.warnings)
