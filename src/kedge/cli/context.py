"""`kedge context`: hand a task from agent to agent, with nothing committed in between."""

from __future__ import annotations

import sys

from kedge.cli import context_desk as at
from kedge.cli import context_records, context_upkeep, syntax
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean, table
from kedge.errors import CheckFound, UsageError
from kedge.handoff.steps import checked_name

command = syntax.group("Hand a task from agent to agent, with nothing committed in between.")


command.add(context_records.record_qa)
command.add(context_records.attach)
command.add(context_upkeep.list_)
command.add(context_upkeep.purge)
command.add(context_upkeep.sweep)


@command.command("Freeze the task: what is asked, by which standards, how it is validated.")
@syntax.argument("task")
@syntax.option("--base-commit", help="What changes are counted from; else HEAD.")
@syntax.option("--export", is_flag=True, help="Write context-<role>.json for each role, too.")
@at.actor
@at.allow
def init(
    here: Edge,
    task: str,
    base_commit: str | None,
    export: bool,
    actor: str | None,
    allow: tuple[str, ...],
) -> Reply:
    from kedge.cli.context_view import frozen

    place = at.At(here, task, actor)
    desk = place.desk
    made, gathered = desk.init(
        place.needed(), place.commands, base=base_commit, allow=allow, export=export
    )
    origins = [{"field": field, "source": source} for field, source in gathered.origins]

    def text() -> str:
        return frozen(made) + table(("field", "from"), gathered.origins)

    return Reply({**made.data(), "origins": origins}, text, desk.warnings)


@command.command("Show where a context stands (--json: all of it), or what a role needs.")
@syntax.argument("task")
@syntax.option("--role", help="What this role needs, as text for an agent.")
def show(here: Edge, task: str, role: str | None) -> Reply:
    from kedge.cli.context_lessons import lessons
    from kedge.cli.context_view import sheet
    from kedge.handoff import gather, views
    from kedge.handoff.recording import changed_evidence

    place = at.At(here, task)
    desk = place.desk
    context = desk.read()
    sha = str(context.git.get("task_file_sha", ""))
    reasons = gather.stale(desk.project, place.task(), context.immutable, sha)
    desk.warnings += [f"stale: {one}" for one in reasons]
    if role is not None:
        name = checked_name(role)
        made = views.counted(views.view(context, name, lessons(desk, context, name)))
        return Reply(made, made["text"], desk.warnings)
    changed = changed_evidence(desk.project, context)
    desk.warnings += [
        f"{one['id']} has changed since it was attached: {one['why']}" for one in changed
    ]
    data = {**context.data(), "stale": reasons, "changed_evidence": changed}
    return Reply(data, lambda: sheet(context), desk.warnings)


@command.command("Begin as an agent, on exactly what the one before left.")
@syntax.argument("task")
@at.agent
@syntax.option("--session", help="The agent's own name for its session.")
@syntax.option("--accept-stale", is_flag=True, help="Begin although a source has changed.")
@at.actor
def begin(
    here: Edge,
    task: str,
    agent: str,
    session: str | None,
    accept_stale: bool,
    actor: str | None,
) -> Reply:
    place = at.At(here, task, actor)
    desk = place.desk
    try:
        made = desk.begin(
            checked_name(agent), place.task(), accept_stale=accept_stale, session=session
        )
    except CheckFound as error:
        at.tell_paths(here, error)
        raise
    return Reply(made.data(), f"{agent} is at work on {task}", desk.warnings)


@command.command("Record exactly what an agent leaves.")
@syntax.argument("task")
@at.agent
@syntax.option("--at-work", is_flag=True, help="The agent goes on: it is not done.")
@at.actor
@at.allow
def snapshot(
    here: Edge, task: str, agent: str, at_work: bool, actor: str | None, allow: tuple[str, ...]
) -> Reply:
    desk = at.At(here, task, actor).desk
    made = desk.snapshot(checked_name(agent), done=not at_work, allow=allow)
    kept = made.agent(agent).snapshot
    assert kept is not None  # noqa: S101 - it was just taken
    for title, paths in (("out of scope", kept.outside), ("gone from the scope", kept.vanished)):
        desk.warnings += [f"{title}: {', '.join(paths[:10])}"] if paths else []
    many = "1 file" if kept.files == 1 else f"{kept.files} files"
    text = f"{agent} leaves {many}, +{kept.added} -{kept.deleted} (tree {kept.tree})"
    return Reply({"agent": agent, **made.data()["coordination"][agent]}, text, desk.warnings)


@command.command("Say where an agent stands.")
@syntax.argument("task")
@at.agent
@syntax.option("--status", help="pending, in_progress, done or blocked.")
@syntax.option("--qa-log", help="The path of its log.")
@at.actor
@at.allow
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
    place = at.At(here, task, actor)
    desk = place.desk
    if qa_log is not None:
        desk.project.path(qa_log)
    name = checked_name(agent)
    if status == "in_progress":  # which is to begin, with all that is looked at then
        desk.begin(name, place.task(), accept_stale=False, session=None)
        status = None
    if status is None and qa_log is None:
        return at.agent_reply(desk.read(), name, desk)
    made = desk.change(
        lambda one: steps.updated(one, name, clock.now(), status=status, qa_log=qa_log),
        f"update {name}",
        allow,
    )
    return at.agent_reply(made, name, desk)


@command.command("Say why an agent, and those after it, cannot go on.")
@syntax.argument("task")
@at.agent
@syntax.option("--finding", required=True, help="What stands in the way.")
@at.actor
@at.allow
def block(
    here: Edge, task: str, agent: str, finding: str, actor: str | None, allow: tuple[str, ...]
) -> Reply:
    from kedge.handoff import steps
    from kedge.host import clock

    desk = at.At(here, task, actor).desk
    name = checked_name(agent)
    made = desk.change(
        lambda one: steps.blocked(one, name, finding, desk.actor, clock.now()),
        f"block {name}",
        allow,
    )
    return at.agent_reply(made, name, desk)


@command.command("Say that what stood in the way is resolved.")
@syntax.argument("task")
@at.agent
@syntax.option("--finding", help="The id of one finding; else all.")
@at.actor
def unblock(here: Edge, task: str, agent: str, finding: str | None, actor: str | None) -> Reply:
    from kedge.handoff import steps
    from kedge.host import clock

    desk = at.At(here, task, actor).desk
    name = checked_name(agent)
    made = desk.change(
        lambda one: steps.unblocked(one, name, finding, clock.now()), f"unblock {name}"
    )
    return at.agent_reply(made, name, desk)


@command.command("Compare the working tree with what an agent left; exit 4 when it differs.")
@syntax.argument("task")
@syntax.option("--expected-agent", help="Whose snapshot; else the last one.")
@at.actor
def verify(here: Edge, task: str, expected_agent: str | None, actor: str | None) -> Reply:
    desk = at.At(here, task, actor).desk
    named = None if expected_agent is None else checked_name(expected_agent)
    try:
        same = desk.checked(named)
    except CheckFound as error:
        at.tell_paths(here, error)
        raise
    data = {"state": "same", "since": same.since, "tree": same.now, "what": same.what, "drift": []}
    return Reply(data, f"the working tree is what {same.since} left ({same.what})", desk.warnings)


@command.command("Print what an agent changed, as a patch.")
@syntax.argument("task")
@at.agent
@syntax.option(
    "--type",
    "kind",
    type=syntax.Choice(["from-base", "incremental"]),
    default="from-base",
    show_default=True,
    help="Since the start, or since the snapshot before.",
)
@syntax.option("--against", help="Since what this agent left.")
def diff(here: Edge, task: str, agent: str, kind: str, against: str | None) -> Reply:
    desk = at.At(here, task).desk
    other = None if against is None else checked_name(against)
    patch = desk.diff(checked_name(agent), kind=kind, against=other)
    text = patch.decode("utf-8", "replace")
    data = {"agent": agent, "type": kind, "diff": text}
    return Reply(data, clean(text) if sys.stdout.isatty() else patch, desk.warnings)


@command.command("Answer drift: take the tree as it is, or put back what was left.")
@syntax.argument("task")
@syntax.option("--accept", is_flag=True, help="Take the working tree for what was left.")
@syntax.option("--revert", is_flag=True, help="Put the working tree back; what it was is kept.")
@syntax.option("--note", required=True, help="What happened; it is kept.")
@at.actor
@at.allow
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
    desk = at.At(here, task, actor).desk
    made = desk.resolve(note, accept=accept, allow=allow)
    done = "accepted" if accept else "reverted"
    return Reply(made.data(), f"the drift is {done}", desk.warnings)


@command.command("Read the sources again; checks, events and snapshots stay.")
@syntax.argument("task")
@at.actor
@at.allow
def rebuild(here: Edge, task: str, actor: str | None, allow: tuple[str, ...]) -> Reply:
    from kedge.cli.context_view import difference

    place = at.At(here, task, actor)
    desk = place.desk
    made, before, after = desk.rebuild(place.needed(), place.commands, allow=allow)
    shown = difference(before, after)
    data = {**made.data(), "difference": shown}
    return Reply(data, shown or f"revision {made.revision}: as before", desk.warnings)
