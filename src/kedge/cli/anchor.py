"""`kedge anchor`: what matters for the task, read again from where it is true."""

from __future__ import annotations

import os

from kedge import config
from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply
from kedge.cli.parts_view import explained
from kedge.errors import UsageError
from kedge.settings import LEAST, MOST, SOURCES

# What agents call the session in the environment of their commands.
_SESSIONS = ("KEDGE_SESSION", "CLAUDE_CODE_SESSION_ID")


@syntax.command("Print what matters for a task, within a budget of tokens.")
@syntax.argument("task", required=False)
@syntax.option("--sources", metavar="A,B,…", help="What to say: " + ", ".join(SOURCES) + ".")
@syntax.option("--tokens", type=syntax.IntRange(LEAST, MOST), help="The budget.")
@syntax.option(
    "--mode",
    type=syntax.Choice(["full", "delta", "small"]),
    help="All of it, what has changed since the last one, or the few lines for after a compaction.",
)
@syntax.option(
    "--form", type=syntax.Choice(["full", "compressed"]), help="As it is, or in fewer tokens."
)
@syntax.option("--session", help="Whose last anchor a delta follows; known by itself in an agent.")
@syntax.option(
    "--iteration", type=syntax.IntRange(1), help="Print only when anchor.frequency says so."
)
@syntax.option("--explain", is_flag=True, help="Show tokens by source, what was cut and why.")
def command(
    here: Edge,
    task: str | None,
    sources: str | None,
    tokens: int | None,
    mode: str | None,
    form: str | None,
    session: str | None,
    iteration: int | None,
    explain: bool,
) -> Reply:
    from kedge.context import anchor
    from kedge.context.workplace import Workplace
    from kedge.knowledge.remind import for_task

    if mode == "small" and (sources or tokens):
        raise UsageError("--mode small is what it is", hint="leave out --sources and --tokens")
    project = here.project()
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
    here.warn(*loaded.warnings)
    alone = iteration is not None or "prompt" in (named or ())
    place = Workplace(project, loaded.settings, task, alone=alone, recall=for_task)
    if iteration is not None and not anchor.is_due(place, iteration):
        return Reply({"text": "", "tokens": 0, "sections": [], "due": False})
    who = session or next((os.environ[name] for name in _SESSIONS if name in os.environ), "")
    if mode == "small":
        made = anchor.small(place)
    elif loaded.settings.anchor.mode == "delta":
        made = anchor.delta(place, who)
    else:
        made = anchor.full(place, who)

    def why() -> str:
        return explained(made.parts, made.tokens, made.budget, made.unchanged)

    return Reply(made.data(), why if explain else made.text, made.warnings)
