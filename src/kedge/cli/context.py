"""`kedge context`: hand a task from agent to agent, with nothing committed in between."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kedge import config
from kedge.cli import edge
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean, table
from kedge.errors import CheckFound, KedgeError, UsageError

if TYPE_CHECKING:
    from kedge.handoff.context import Context
    from kedge.handoff.desk import Desk
    from kedge.model.task import Task

_agent = click.option("--agent", required=True, help="The agent: implementer, reviewer, …")
_actor = click.option("--actor", help="Who does this; else the name that tasks are claimed by.")
_allow = click.option(
    "--allow-secret", "allow", multiple=True, metavar="ID", help="Let this finding through."
)


@edge.group("Hand a task from agent to agent, with nothing committed in between.")
def command() -> None:
    pass


@command.command(help="Freeze the task: what is asked, by which standards, how it is validated.")
@click.argument("task")
@click.option("--base-commit", help="What changes are counted from; else HEAD.")
@click.option("--export", is_flag=True, help="Write context-<role>.json for each role, too.")
@_actor
@_allow
@click.pass_obj
def init(
    here: Edge,
    task: str,
    base_commit: str | None,
    export: bool,
    actor: str | None,
    allow: tuple[str, ...],
) -> Reply:
    desk, found = _desk(here, task, actor)
    made, gathered = desk.init(
        _needed(found, task), _commands(desk), base=base_commit, allow=allow, export=export
    )
    origins = [{"field": field, "source": source} for field, source in gathered.origins]

    def text() -> str:
        return table(("field", "from"), gathered.origins)

    return Reply({**made.data(), "origins": origins}, text, desk.warnings)


@command.command(help="Show a context: all of it, or what a role needs.")
@click.argument("task")
@click.option("--role", help="What this role needs, as text for an agent.")
@click.pass_obj
def show(here: Edge, task: str, role: str | None) -> Reply:
    from kedge.cli.context_view import sheet
    from kedge.handoff import gather, steps, views

    desk, found = _desk(here, task, None)
    context = desk.read()
    sha = str(context.git.get("task_file_sha", ""))
    reasons = gather.stale(desk.project, found, context.immutable, sha)
    desk.warnings += [f"stale: {one}" for one in reasons]
    if role is not None:
        made = views.counted(views.view(context, steps.checked_name(role)))
        return Reply(made, made["text"], desk.warnings)
    changed = _evidence(desk, context)
    desk.warnings += [
        f"{one['id']} has changed since it was attached: {one['why']}" for one in changed
    ]
    data = {**context.data(), "stale": reasons, "changed_evidence": changed}
    return Reply(data, lambda: sheet(context), desk.warnings)


@command.command(help="Begin as an agent, on exactly what the one before left.")
@click.argument("task")
@_agent
@click.option("--session", help="The agent's own name for its session.")
@click.option("--accept-stale", is_flag=True, help="Begin although a source has changed.")
@_actor
@click.pass_obj
def begin(
    here: Edge,
    task: str,
    agent: str,
    session: str | None,
    accept_stale: bool,
    actor: str | None,
) -> Reply:
    desk, found = _desk(here, task, actor)
    try:
        made = desk.begin(_name(agent), found, accept_stale=accept_stale, session=session)
    except CheckFound as error:
        _tell_paths(here, error)
        raise
    return Reply(made.data(), f"{agent} is at work on {task}", desk.warnings)


@command.command(help="Record exactly what an agent leaves.")
@click.argument("task")
@_agent
@click.option("--at-work", is_flag=True, help="The agent goes on: it is not done.")
@_actor
@_allow
@click.pass_obj
def snapshot(
    here: Edge, task: str, agent: str, at_work: bool, actor: str | None, allow: tuple[str, ...]
) -> Reply:
    desk, _ = _desk(here, task, actor)
    made = desk.snapshot(_name(agent), done=not at_work, allow=allow)
    kept = made.agent(agent).snapshot
    assert kept is not None  # noqa: S101 - it was just taken
    for title, paths in (("out of scope", kept.outside), ("gone from the scope", kept.vanished)):
        desk.warnings += [f"{title}: {', '.join(paths[:10])}"] if paths else []
    many = "1 file" if kept.files == 1 else f"{kept.files} files"
    text = f"{agent} leaves {many}, +{kept.added} -{kept.deleted} (tree {kept.tree})"
    return Reply({"agent": agent, **made.data()["coordination"][agent]}, text, desk.warnings)


@command.command(help="Say where an agent stands.")
@click.argument("task")
@_agent
@click.option("--status", help="pending, in_progress, done or blocked.")
@click.option("--qa-log", help="The path of its log.")
@_actor
@_allow
@click.pass_obj
def update(
    here: Edge,
    task: str,
    agent: str,
    status: str | None,
    qa_log: str | None,
    actor: str | None,
    allow: tuple[str, ...],
) -> Reply:
    from kedge.handoff import steps
    from kedge.host import clock

    if status is None and qa_log is None:
        raise UsageError("there is nothing to update", hint="give --status or --qa-log")
    desk, found = _desk(here, task, actor)
    if qa_log is not None:
        desk.project.path(qa_log)
    name = _name(agent)
    if status == "in_progress":  # which is to begin, with all that is looked at then
        desk.begin(name, found, accept_stale=False, session=None)
        status = None
    if status is None and qa_log is None:
        return _agent_reply(desk.read(), name, desk)
    made = desk.change(
        lambda one: steps.updated(one, name, clock.now(), status=status, qa_log=qa_log),
        f"update {name}",
        allow,
    )
    return _agent_reply(made, name, desk)


@command.command(help="Say why an agent, and those after it, cannot go on.")
@click.argument("task")
@_agent
@click.option("--finding", required=True, help="What stands in the way.")
@_actor
@_allow
@click.pass_obj
def block(
    here: Edge, task: str, agent: str, finding: str, actor: str | None, allow: tuple[str, ...]
) -> Reply:
    from kedge.handoff import steps
    from kedge.host import clock

    desk, _ = _desk(here, task, actor)
    name = _name(agent)
    made = desk.change(
        lambda one: steps.blocked(one, name, finding, desk.actor, clock.now()),
        f"block {name}",
        allow,
    )
    return _agent_reply(made, name, desk)


@command.command(help="Say that what stood in the way is resolved.")
@click.argument("task")
@_agent
@click.option("--finding", help="The id of one finding; else all.")
@_actor
@click.pass_obj
def unblock(here: Edge, task: str, agent: str, finding: str | None, actor: str | None) -> Reply:
    from kedge.handoff import steps
    from kedge.host import clock

    desk, _ = _desk(here, task, actor)
    name = _name(agent)
    made = desk.change(
        lambda one: steps.unblocked(one, name, finding, clock.now()), f"unblock {name}"
    )
    return _agent_reply(made, name, desk)


@command.command(help="Compare the working tree with what an agent left; exit 4 when it differs.")
@click.argument("task")
@click.option("--expected-agent", help="Whose snapshot; else the last one.")
@_actor
@click.pass_obj
def verify(here: Edge, task: str, expected_agent: str | None, actor: str | None) -> Reply:
    desk, _ = _desk(here, task, actor)
    named = None if expected_agent is None else _name(expected_agent)
    try:
        same = desk.checked(named)
    except CheckFound as error:
        _tell_paths(here, error)
        raise
    data = {"state": "same", "since": same.since, "tree": same.now, "what": same.what, "drift": []}
    return Reply(data, f"the working tree is what {same.since} left ({same.what})", desk.warnings)


@command.command(help="Print what an agent changed, as a patch.")
@click.argument("task")
@_agent
@click.option(
    "--type",
    "kind",
    type=click.Choice(["from-base", "incremental"]),
    default="from-base",
    show_default=True,
    help="Since the start, or since the snapshot before.",
)
@click.option("--against", help="Since what this agent left.")
@click.pass_obj
def diff(here: Edge, task: str, agent: str, kind: str, against: str | None) -> Reply:
    desk, _ = _desk(here, task, None)
    other = None if against is None else _name(against)
    patch = desk.diff(_name(agent), kind=kind, against=other)
    text = patch.decode("utf-8", "replace")
    data = {"agent": agent, "type": kind, "diff": text}
    return Reply(data, clean(text) if sys.stdout.isatty() else patch, desk.warnings)


@command.command(
    name="record-qa",
    help="Run a check and keep how it ended; without one, all that the context names. Exit code 0 "
    "says that it was recorded, not that it passed.",
)
@click.argument("task")
@_agent
@click.option("--from", "log", type=click.Path(path_type=Path), help="A log instead of a run.")
@click.option("--exit-code", type=int, help="With --from: how the run of the log ended.")
@_actor
@_allow
@click.argument("check", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
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
    desk, _ = _desk(here, task, actor)
    name, watch = _name(agent), None if here.json or here.quiet else _echo
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


@command.command(help="Attach a file, or a part of one, by its hash.")
@click.argument("task")
@click.argument("path")
@click.option("--heading", help="The section of this heading.")
@click.option("--lines", help="Lines such as 10-20.")
@click.option("--agent", help="Who attaches it.")
@_actor
@_allow
@click.pass_obj
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

    desk, _ = _desk(here, task, actor)
    name = None if agent is None else _name(agent)
    made = attached(desk, path, heading=heading, lines=lines, agent=name, allow=allow)
    return Reply(made, f"{made['id']}: {path}", desk.warnings)


@command.command(help="Answer drift: take the tree as it is, or put back what was left.")
@click.argument("task")
@click.option("--accept", is_flag=True, help="Take the working tree for what was left.")
@click.option("--revert", is_flag=True, help="Put the working tree back; what it was is kept.")
@click.option("--note", required=True, help="What happened; it is kept.")
@_actor
@_allow
@click.pass_obj
def resolve(
    here: Edge,
    task: str,
    accept: bool,
    revert: bool,
    note: str,
    actor: str | None,
    allow: tuple[str, ...],
) -> Reply:
    if accept == revert:
        raise UsageError("give --accept or --revert", hint="one of them")
    desk, _ = _desk(here, task, actor)
    made = desk.resolve(note, accept=accept, allow=allow)
    done = "accepted" if accept else "reverted"
    return Reply(made.data(), f"the drift is {done}", desk.warnings)


@command.command(help="Read the sources again; checks, events and snapshots stay.")
@click.argument("task")
@_actor
@_allow
@click.pass_obj
def rebuild(here: Edge, task: str, actor: str | None, allow: tuple[str, ...]) -> Reply:
    from kedge.cli.context_view import difference

    desk, found = _desk(here, task, actor)
    made, before, after = desk.rebuild(_needed(found, task), _commands(desk), allow=allow)
    shown = difference(before, after)
    data = {**made.data(), "difference": shown}
    return Reply(data, shown or f"revision {made.revision}: as before", desk.warnings)


@command.command(name="list", help="List the contexts.")
@click.pass_obj
def list_(here: Edge) -> Reply:
    from kedge.handoff.store import Store

    store = Store(here.project())
    rows: list[dict[str, Any]] = []
    for name in store.tasks():
        try:
            one = store.read(name).context
        except KedgeError as error:
            here.warn(error.message)
            continue
        agents = {who: agent.status for who, agent in sorted(one.coordination.items())}
        rows.append(
            {
                "task": name,
                "revision": one.revision,
                "agents": agents,
                "open_drift": len(one.open_drift),
                "updated_at": str(one.audit.get("updated_at", "")),
            }
        )

    def text() -> str:
        cells = [
            (
                row["task"],
                ", ".join(f"{who} {state}" for who, state in row["agents"].items()),
                "drift" if row["open_drift"] else "",
                row["updated_at"],
            )
            for row in rows
        ]
        return table(("task", "agents", "", "updated"), cells, empty="no contexts\n")

    return Reply(rows, text)


@command.command(help="Delete a context with its snapshots.")
@click.argument("task")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.pass_obj
def purge(here: Edge, task: str, yes: bool) -> Reply:
    from kedge.handoff.lifecycle import purge as remove
    from kedge.handoff.store import Store

    project = here.project()
    if Store(project).exists(task) and not yes:
        if here.json or not sys.stdin.isatty():
            raise KedgeError(
                "purge asks before it deletes", hint=f"kedge context purge {task} --yes"
            )
        click.confirm(f"Delete the context of {task}?", abort=True, err=True)
    removed = remove(project, task)
    text = f"the context of {task} is gone" if removed else f"{task} has no context"
    return Reply({"task": task, "removed": removed}, text)


@command.command(help="Delete contexts whose task is gone or finished.")
@click.option("--ttl", default="7d", show_default=True, help="How long nobody wrote them.")
@click.option("--dry-run", is_flag=True, help="Say which, and delete none.")
@click.pass_obj
def sweep(here: Edge, ttl: str, dry_run: bool) -> Reply:
    from kedge.handoff import lifecycle

    project = here.project()
    tasks = _tasks(here, project)
    if here.warnings:
        raise KedgeError(
            "not all tasks could be read, so nobody knows which are gone", hint=here.warnings[0]
        )
    found = lifecycle.orphans(project, tasks, ttl)
    for orphan in [] if dry_run else found:
        here.warn(*lifecycle.archive(project, orphan.task))
    rows = [(one.task, one.why, one.updated_at) for one in found]
    data = [one._asdict() for one in found]
    return Reply(data, lambda: table(("task", "why", "updated"), rows, empty="no orphans\n"))


def _desk(here: Edge, task: str, actor: str | None) -> tuple[Desk, Task | None]:
    """The desk for a task, and the task itself where it can be read."""
    from kedge.handoff.desk import Desk
    from kedge.model.ids import TaskId, task_id

    project = here.project()
    settings = config.load(project).settings
    name = task_id(task)
    found = _tasks(here, project).get(TaskId(name))
    return Desk(project, settings, name, actor or _me(settings)), found


def _tasks(here: Edge, project: Any) -> Any:
    from kedge.tasks import choose
    from kedge.tasks.board import Board

    board = Board(choose.backend(project, config.load(project).settings.tasks))
    found = board.tasks()
    here.warn(*board.warnings)
    return found


def _needed(found: Task | None, task: str) -> Task:
    from kedge.errors import TaskNotFound

    if found is None:
        raise TaskNotFound(f"no task {task!r}", hint="kedge task list shows all ids")
    return found


def _commands(desk: Desk) -> Any:
    """The commands that the project's own configuration names, from the map's cache."""

    def found() -> Any:
        from kedge.context.workplace import Workplace

        return Workplace(desk.project, desk.settings).map_data["commands"]

    return found


def _me(settings: config.Settings) -> str:
    import getpass

    return settings.tasks.actor or getpass.getuser()


def _tell_paths(here: Edge, error: CheckFound) -> None:
    """Every path, what became of it, and whether it is in scope."""
    if here.json or not isinstance(error.data, dict):
        return
    rows = [
        (one["change"], one["scope"], one["path"], one.get("old_path", ""))
        for one in error.data["drift"]
    ]
    click.echo(table(("change", "scope", "path", "was"), rows), nl=False)


def _name(agent: str) -> str:
    from kedge.handoff.steps import checked_name

    return checked_name(agent)


def _agent_reply(made: Context, name: str, desk: Desk) -> Reply:
    agent = made.agent(name)
    text = f"{name} is {agent.status.replace('_', ' ')}"
    return Reply({"agent": name, **made.data()["coordination"][name]}, text, desk.warnings)


def _evidence(desk: Desk, context: Context) -> list[dict[str, str]]:
    from kedge.handoff.recording import changed_evidence

    return changed_evidence(desk.project, context)


def _echo(data: bytes) -> None:
    click.echo(clean(data.decode("utf-8", "replace").replace("\r\n", "\n")), nl=False, err=True)
