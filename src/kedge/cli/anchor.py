"""`kedge anchor`: what matters for a task, read from its sources each time."""

from __future__ import annotations

import os

import click

from kedge import config
from kedge.cli.budget_view import explain_budget
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.cli.task_ids import complete_task
from kedge.context import anchor
from kedge.context.workspace import Workspace
from kedge.errors import UsageError
from kedge.knowledge.recall.reminder import recall_for_task
from kedge.settings import ANCHOR_SOURCES, MAX_TOKENS, MIN_TOKENS

# Variables in which agents pass their session's id to commands.
_SESSIONS = ("KEDGE_SESSION", "CLAUDE_CODE_SESSION_ID")


@click.command(cls=KedgeCommand)
@click.argument("task", required=False, shell_complete=complete_task)
@click.option(
    "--sources", metavar="A,B,…", help="What to include: " + ", ".join(ANCHOR_SOURCES) + "."
)
@click.option("--tokens", type=click.IntRange(MIN_TOKENS, MAX_TOKENS), help="The token budget.")
@click.option(
    "--mode",
    type=click.Choice(["full", "delta", "small"]),
    help="Everything, the changes since the last anchor, or a few lines for after a compaction.",
)
@click.option(
    "--form",
    type=click.Choice(["full", "compressed"]),
    help="Full text, or the first sentences of what people wrote.",
)
@click.option("--session", help="The session whose last anchor a delta follows; agents set it.")
@click.option("--iteration", type=click.IntRange(1), help="Print only if anchor.frequency is due.")
@click.option("--explain", is_flag=True, help="Show tokens by source, what was cut and why.")
def command(
    edge: Edge,
    task: str | None,
    sources: str | None,
    tokens: int | None,
    mode: str | None,
    form: str | None,
    session: str | None,
    iteration: int | None,
    explain: bool,
) -> Reply:
    """Print what matters for a task, within a token budget."""
    if mode == "small" and (sources or tokens):
        raise UsageError(
            "--mode small cannot be combined with --sources or --tokens",
            hint="leave out --sources and --tokens",
        )
    project = edge.project()
    named = (
        None if sources is None else [word.strip() for word in sources.split(",") if word.strip()]
    )
    flags = {
        "anchor.sources": named,
        "anchor.include_epic": None if named is None else "epic" in named,
        "anchor.tokens": tokens,
        "anchor.mode": None if mode == "small" else mode,
        "anchor.form": form,
    }
    loaded = config.load(project, flags)
    edge.warn(*loaded.warnings)
    alone = iteration is not None or "prompt" in (named or ())
    place = Workspace(project, loaded.settings, task, alone=alone, recall=recall_for_task)
    who = session or next((os.environ[name] for name in _SESSIONS if name in os.environ), "")
    if iteration is not None and not anchor.is_due(place, iteration, who):
        return Reply({"text": "", "tokens": 0, "sections": [], "due": False})
    if mode == "small":
        result = anchor.make_small(place)
    elif loaded.settings.anchor.mode == "delta":
        result = anchor.make_delta(place, who)
    else:
        result = anchor.make_full(place, who)

    def why() -> str:
        return explain_budget(result.parts, result.tokens, result.budget, result.unchanged)

    return Reply(result.data(), why if explain else result.text, result.warnings)
