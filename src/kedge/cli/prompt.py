"""`kedge prompt`: the prompt for a task or for a role."""

from __future__ import annotations

import click

from kedge import config
from kedge.cli.budget_view import explain_budget
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.cli.task_ids import complete_task
from kedge.errors import UsageError
from kedge.settings import MAX_TOKENS, MIN_PROMPT_TOKENS


@click.command(cls=KedgeCommand)
@click.argument("task", required=False, shell_complete=complete_task)
@click.option(
    "--role", metavar="NAME", help="Print a plugin role's prompt instead; TASK may be a feature."
)
@click.option(
    "--phase", metavar="PHASE", help="With --role: the phase under review; by default the latest."
)
@click.option(
    "--tokens", type=click.IntRange(MIN_PROMPT_TOKENS, MAX_TOKENS), help="The token budget."
)
@click.option("--explain", is_flag=True, help="Show tokens by section, what was cut and why.")
def command(
    edge: Edge,
    task: str | None,
    role: str | None,
    phase: str | None,
    tokens: int | None,
    explain: bool,
) -> Reply:
    """Print the prompt that an agent gets for a task."""
    if role is not None:
        if tokens or explain:
            raise UsageError(
                "--role cannot be combined with --tokens or --explain",
                hint="a role's prompt is always printed in full",
            )
        return _print_role(edge, role, task, phase)
    if phase is not None:
        raise UsageError("--phase needs --role", hint="kedge prompt SUBJECT --role NAME --phase P")
    if task is None:
        raise UsageError(
            "no task and no role given", hint="kedge prompt TASK, or kedge prompt --role NAME"
        )
    from kedge.context import prompt
    from kedge.context.workspace import Workspace
    from kedge.tasks import rules

    project = edge.project()
    loaded = config.load(project, {"prompt.tokens": tokens})
    edge.warn(*loaded.warnings)
    place = Workspace(project, loaded.settings, task)
    result = prompt.make(place, rules.find(place.tasks, task))

    def why() -> str:
        return explain_budget(result.parts, result.tokens, result.budget)

    return Reply(result.data(), why if explain else result.text, result.warnings)


def _print_role(edge: Edge, name: str, subject: str | None, phase: str | None) -> Reply:
    from kedge.cli.plain import clean
    from kedge.cli.role_subject import render_subject
    from kedge.host import tokens
    from kedge.knowledge.reviews.records import PHASES
    from kedge.plugin import roles

    role = roles.find_role(name)
    text = clean(roles.render_prompt(role, subject))
    if phase is not None and phase not in PHASES:
        raise UsageError(f"no phase {phase!r}", hint=f"one of {', '.join(PHASES)}")
    if subject is not None and role.kind == "agent":
        project = edge.project()
        settings = config.load(project).settings
        text += clean(render_subject(edge, project, settings, name, subject, phase))
    count = tokens.count(text)
    part = {"source": role.kind, "tokens": count, "cut": 0}
    return Reply({"role": name, "text": text, "tokens": count, "sections": [part]}, text)
