"""`kedge context record-qa` and `attach`: checks and evidence."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from kedge.cli import approval, options
from kedge.cli.commands import KedgeCommand
from kedge.cli.context_task import (
    ContextTask,
    actor_option,
    agent_option,
    attached_by_option,
)
from kedge.cli.context_view import describe_check
from kedge.cli.edge import Edge, Reply, tell
from kedge.cli.plain import clean
from kedge.cli.task_ids import complete_task
from kedge.errors import UsageError
from kedge.handoff.evidence_records import attach_evidence, record_check, record_log
from kedge.handoff.transitions import check_agent_name
from kedge.host.agent_session import is_user
from kedge.host.approvals import COMMAND, Item


@click.command(cls=KedgeCommand)
@click.argument("task", shell_complete=complete_task)
@agent_option
@click.option(
    "--from", "log", type=click.Path(path_type=Path), help="Import this log instead of running."
)
@click.option("--command", "named", help="With --from: the command that wrote the log.")
@click.option("--exit-code", type=int, help="With --from: the exit code of the run.")
@actor_option
@options.allow_secret
@approval.trust_option
@click.argument("check", nargs=-1)
def record_qa(
    edge: Edge,
    task: str,
    agent: str,
    log: Path | None,
    named: str | None,
    exit_code: int | None,
    actor: str | None,
    allow: tuple[str, ...],
    trust: bool,
    check: tuple[str, ...],
) -> Reply:
    """Run a check and record its result. Without CHECK, run all checks of the context. Exit code 0
    means that the result was recorded, not that the check passed."""
    if log is not None and check:
        raise UsageError(
            "CHECK cannot be combined with --from", hint="give a command or a log, not both"
        )
    if log is None and named is not None:
        raise UsageError("--command needs --from", hint="to run a command: … record-qa … -- CMD")
    handoff = ContextTask(edge, task, actor).handoff
    name, watch = check_agent_name(agent), None if edge.json or edge.quiet else _echo
    if log is not None:
        records = [record_log(handoff, name, edge.directory / log, exit_code, allow, named)]
    elif check:
        if is_user(os.environ):
            typed = check[0] if len(check) == 1 else shlex.join(check)
            approval.approve_typed(edge, handoff.project, [typed], f"task {handoff.task}")
        records = [record_check(handoff, name, list(check), allow, watch)]
    else:
        frozen = handoff.read().immutable["validation_baseline"]["commands"]
        items = [Item(COMMAND, one, f"task {handoff.task}") for one in frozen]
        approval.require(edge, handoff.project, items, trust=trust)
        records = [record_check(handoff, name, [one], allow, watch) for one in frozen]
    if not records:
        raise UsageError(
            f"the context of {task} has no checks", hint="name one: … record-qa … -- make test"
        )
    data = records[0] if len(records) == 1 else records
    return Reply(data, lambda: "\n".join(map(describe_check, records)), handoff.warnings)


@click.command(cls=KedgeCommand)
@click.argument("task", shell_complete=complete_task)
@click.argument("path")
@click.option("--heading", help="Only the section with this heading.")
@click.option("--lines", help="Only these lines, such as 10-20.")
@attached_by_option
@actor_option
@options.allow_secret
def attach(
    edge: Edge,
    task: str,
    path: str,
    heading: str | None,
    lines: str | None,
    agent: str | None,
    actor: str | None,
    allow: tuple[str, ...],
) -> Reply:
    """Attach a file, or a part of it, as evidence."""
    handoff = ContextTask(edge, task, actor).handoff
    name = None if agent is None else check_agent_name(agent)
    record = attach_evidence(handoff, path, heading=heading, lines=lines, agent=name, allow=allow)
    return Reply(record, f"{record['id']}: {path}", handoff.warnings)


def _echo(data: bytes) -> None:
    tell(clean(data.decode("utf-8", "replace").replace("\r\n", "\n")))
