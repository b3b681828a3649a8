"""`kedge prompt`: what an agent is given to do a task."""

from __future__ import annotations

import click

from kedge import config
from kedge.cli import edge
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import table
from kedge.context.prompt import Prompt


@edge.command("Print the prompt that an agent gets for a task.")
@click.argument("task")
@click.option("--tokens", type=click.IntRange(config.LEAST_PROMPT, config.MOST), help="The budget.")
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
    return Reply(made.data(), (lambda: _explained(made)) if explain else made.text, made.warnings)


def _explained(made: Prompt) -> str:
    rows = [(one.part.source, str(one.tokens), str(one.cut or ""), one.why) for one in made.parts]
    rows.append(("all", str(made.tokens), "", f"of {made.budget}"))
    return table(("section", "tokens", "cut", "why"), rows)
