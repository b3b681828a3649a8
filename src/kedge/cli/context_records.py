"""`kedge context record-qa` and `attach`: checks and evidence."""

from __future__ import annotations

from pathlib import Path

from kedge.cli import context_desk as at
from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply, tell
from kedge.cli.plain import clean
from kedge.errors import UsageError
from kedge.handoff.steps import checked_name


@syntax.command(
    "Run a check and keep how it ended; without one, all that the context names. Exit code 0 "
    "says that it was recorded, not that it passed."
)
@syntax.argument("task")
@at.agent
@syntax.option("--from", "log", type=syntax.Path(), help="A log instead of a run.")
@syntax.option("--exit-code", type=int, help="With --from: how the run of the log ended.")
@at.actor
@at.allow
@syntax.argument("check", nargs=-1)
def record_qa(
    here: Edge,
    task: str,
    agent: str,
    log: Path | None,
    exit_code: int | None,
    actor: str | None,
    allow: tuple[str, ...],
    check: tuple[str, ...],
) -> Reply:
    from kedge.cli.context_view import recorded
    from kedge.handoff.recording import imported, run

    if log is not None and check:
        raise UsageError("a command or --from LOG, not both", hint="give one of them")
    desk = at.At(here, task, actor).desk
    name, watch = checked_name(agent), None if here.json or here.quiet else _echo
    if log is not None:
        made = [imported(desk, name, here.directory / log, exit_code, allow)]
    elif check:
        made = [run(desk, name, list(check), allow, watch)]
    else:
        frozen = desk.read().immutable["validation_baseline"]["commands"]
        made = [run(desk, name, [one], allow, watch) for one in frozen]
    if not made:
        raise UsageError(f"the context of {task} names no checks", hint="give one: … -- make test")
    data = made[0] if len(made) == 1 else made
    return Reply(data, lambda: "\n".join(map(recorded, made)), desk.warnings)


@syntax.command("Attach a file, or a part of one, by its hash.")
@syntax.argument("task")
@syntax.argument("path")
@syntax.option("--heading", help="The section of this heading.")
@syntax.option("--lines", help="Lines such as 10-20.")
@syntax.option("--agent", help="Who attaches it.")
@at.actor
@at.allow
def attach(
    here: Edge,
    task: str,
    path: str,
    heading: str | None,
    lines: str | None,
    agent: str | None,
    actor: str | None,
    allow: tuple[str, ...],
) -> Reply:
    from kedge.handoff.recording import attached

    desk = at.At(here, task, actor).desk
    name = None if agent is None else checked_name(agent)
    made = attached(desk, path, heading=heading, lines=lines, agent=name, allow=allow)
    return Reply(made, f"{made['id']}: {path}", desk.warnings)


def _echo(data: bytes) -> None:
    tell(clean(data.decode("utf-8", "replace").replace("\r\n", "\n")))
