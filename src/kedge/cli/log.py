"""`kedge log`: what was tried at a task, and how it ended."""

from __future__ import annotations

import click

from kedge import config
from kedge.cli import edge
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean
from kedge.model.attempt import Attempt
from kedge.tasks import choose
from kedge.tasks.board import Board
from kedge.tasks.ledger import Ledger


@edge.group("Show what was tried, and how it ended.")
def command() -> None:
    pass


@command.command(help="Show the attempts at a task, oldest first.")
@click.argument("task")
@click.option("--last", type=click.IntRange(1), help="Only the last attempts, this many.")
@click.pass_obj
def show(here: Edge, task: str, last: int | None) -> Reply:
    project = here.project()
    settings = config.load(project).settings.tasks
    attempts, warnings = Ledger(project).read(task)
    if not attempts and not warnings:
        Board(choose.backend(project, settings)).get(task)  # says so when there is no such task
    if last is not None:
        attempts = attempts[-last:]
    return Reply(
        [attempt.data() for attempt in attempts],
        lambda: "\n\n".join(map(_entry, attempts)) or f"no attempts at {task} are recorded",
        warnings,
    )


def _entry(attempt: Attempt) -> str:
    who = f"{attempt.role} {attempt.agent}" + (f" ({attempt.model})" if attempt.model else "")
    lines = [f"#{attempt.number}  {attempt.outcome.value}  {attempt.ended_at}  {who}"]
    if attempt.reason:
        lines.append(f"    {attempt.reason}")
    lines += [f"    tried: {one}" for one in attempt.tried]
    lines += [f"    avoid: {one}" for one in attempt.avoid]
    if attempt.files:
        lines.append("    files: " + ", ".join(attempt.files))
    lines += [
        f"    check: {check.get('command')} (exit {check.get('exit_code')})"
        for check in attempt.checks
    ]
    if attempt.tokens_in is not None or attempt.tokens_out is not None:
        cost = f", {attempt.cost_usd:.2f} USD" if attempt.cost_usd is not None else ""
        lines.append(
            f"    tokens: {attempt.tokens_in or 0} in, {attempt.tokens_out or 0} out{cost}"
        )
    if attempt.drift:
        lines.append(f"    drift: {dict(attempt.drift)}")
    return clean("\n".join(lines))
