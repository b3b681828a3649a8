"""`kedge context`: hand a task from agent to agent without commits in between."""

from __future__ import annotations

import sys

import click

from kedge.cli import context_records, context_upkeep, options
from kedge.cli.commands import Group
from kedge.cli.context_task import (
    ContextTask,
    actor_option,
    agent_option,
    agent_reply,
    expected_option,
    print_drift,
)
from kedge.cli.context_view import (
    describe_context,
    describe_frozen,
    describe_moved_head,
    diff_immutable,
)
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean, table
from kedge.cli.task_ids import complete_task
from kedge.errors import FileError, UsageError
from kedge.handoff import immutable_block, role_views, transitions
from kedge.handoff.evidence_records import find_changed_evidence
from kedge.handoff.transitions import check_agent_name
from kedge.host import clock
from kedge.host.text import count_noun
from kedge.model.task import Status


class DiffKind(click.Choice[str]):
    """A choice that is also accepted with underscores: `from_base`."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(str(value).replace("_", "-"), param, ctx)


command = Group(help="Hand a task from agent to agent without commits in between.")
command.add_command(context_records.record_qa)
command.add_command(context_records.attach)
command.add_command(context_upkeep.list_)
command.add_command(context_upkeep.purge)
command.add_command(context_upkeep.sweep)


@command.command()
@click.argument("task", shell_complete=complete_task)
@click.option("--base-commit", help="The commit to diff against; HEAD by default.")
@click.option("--export", is_flag=True, help="Also write context-<role>.json for each role.")
@click.option("--claim", is_flag=True, help="Claim the task, too.")
@actor_option
@options.allow_secret
def init(
    edge: Edge,
    task: str,
    base_commit: str | None,
    export: bool,
    claim: bool,
    actor: str | None,
    allow: tuple[str, ...],
) -> Reply:
    """Freeze the task: what is asked, its standards and its checks."""
    target = ContextTask(edge, task, actor)
    handoff = target.handoff
    asked = target.require_task()
    if claim:
        target.check_claim(asked)
    context, gathered = handoff.init(
        asked,
        target.list_commands,
        base=base_commit,
        allow=allow,
        export=export,
        claim=target.claim if claim else None,
    )
    if not claim and asked.status is not Status.IN_PROGRESS:
        act = "claim" if asked.status is Status.OPEN else "reopen"
        handoff.warnings.append(
            f"{task} is {asked.status.value}, not in progress: `kedge task {act} {task}`"
        )
    origins = [{"field": field, "source": source} for field, source in gathered.origins]

    def text() -> str:
        rows = [
            (field, source if source == "none" else f"from {source}")
            for field, source in gathered.origins
        ]
        return describe_frozen(context) + table(("field", "source"), rows)

    return Reply({**context.data(), "origins": origins}, text, handoff.warnings)


@command.command()
@click.argument("task", shell_complete=complete_task)
@click.option("--role", help="Print what this role needs, as text for an agent.")
def show(edge: Edge, task: str, role: str | None) -> Reply:
    """Show the state of a context (--json prints all of it), or what a role needs."""
    target = ContextTask(edge, task)
    handoff = target.handoff
    context = handoff.read()
    sha = str(context.git.get("task_file_sha", ""))
    reasons = immutable_block.find_stale_sources(
        handoff.project, target.find_task(), context.immutable, sha
    )
    handoff.warnings += [f"stale: {one}" for one in reasons]
    moved = describe_moved_head(context, handoff.project)
    handoff.warnings += [moved] if moved else []
    if role is not None:
        from kedge.cli.context_lessons import select_lessons  # heavy, and only roles need it

        name = check_agent_name(role)
        view = role_views.add_text(
            role_views.make_view(context, name, select_lessons(handoff, context, name))
        )
        return Reply(view, view["text"], handoff.warnings)
    changed = find_changed_evidence(handoff.project, context)
    handoff.warnings += [
        f"{one['id']} has changed since it was attached: {one['why']}" for one in changed
    ]
    data = {**context.data(), "stale": reasons, "head_moved": moved, "changed_evidence": changed}
    return Reply(data, lambda: describe_context(context), handoff.warnings)


@command.command()
@click.argument("task", shell_complete=complete_task)
@agent_option
@click.option("--session", help="The agent's session id.")
@click.option("--accept-stale", is_flag=True, help="Begin even if a source has changed.")
@actor_option
def begin(
    edge: Edge,
    task: str,
    agent: str,
    session: str | None,
    accept_stale: bool,
    actor: str | None,
) -> Reply:
    """Begin as an agent, if the working tree is what the previous agent left."""
    target = ContextTask(edge, task, actor)
    handoff = target.handoff
    with print_drift(edge):
        context = handoff.begin(
            check_agent_name(agent), target.find_task(), accept_stale=accept_stale, session=session
        )
    return Reply(context.data(), f"{agent} has started on {task}", handoff.warnings)


@command.command()
@click.argument("task", shell_complete=complete_task)
@agent_option
@click.option("--at-work", is_flag=True, help="The agent is not done yet.")
@actor_option
@options.allow_secret
def snapshot(
    edge: Edge, task: str, agent: str, at_work: bool, actor: str | None, allow: tuple[str, ...]
) -> Reply:
    """Record the working tree that an agent leaves."""
    handoff = ContextTask(edge, task, actor).handoff
    context = handoff.snapshot(check_agent_name(agent), done=not at_work, allow=allow)
    kept = context.agent(agent).snapshot
    assert kept is not None  # noqa: S101 - it was just taken
    for title, paths in (("out of scope", kept.outside), ("deleted in scope", kept.vanished)):
        handoff.warnings += [f"{title}: {', '.join(paths[:10])}"] if paths else []
    files = count_noun(kept.files, "file")
    text = f"recorded what {agent} left: {files}, +{kept.added} -{kept.deleted} (tree {kept.tree})"
    return Reply({"agent": agent, **context.data()["coordination"][agent]}, text, handoff.warnings)


@command.command()
@click.argument("task", shell_complete=complete_task)
@agent_option
@click.option("--status", help="pending, in_progress, done or blocked.")
@click.option("--qa-log", help="The path of the agent's QA log.")
@actor_option
@options.allow_secret
def update(
    edge: Edge,
    task: str,
    agent: str,
    status: str | None,
    qa_log: str | None,
    actor: str | None,
    allow: tuple[str, ...],
) -> Reply:
    """Set an agent's status or QA log."""
    if status is None and qa_log is None:
        raise UsageError("nothing to update", hint="give --status or --qa-log")
    target = ContextTask(edge, task, actor)
    handoff = target.handoff
    if qa_log is not None and not handoff.project.path(qa_log).is_file():
        raise FileError(f"there is no file {qa_log!r}", hint="give a path from the project's root")
    name = check_agent_name(agent)
    if status == "in_progress":  # the same as `context begin`, with all of its checks
        handoff.begin(name, target.find_task(), accept_stale=False, session=None)
        status = None
    if status is None and qa_log is None:
        return agent_reply(handoff.read(), name, handoff)
    context = handoff.change(
        lambda one: transitions.update(one, name, clock.now(), status=status, qa_log=qa_log),
        f"update {name}",
        allow,
    )
    return agent_reply(context, name, handoff)


@command.command()
@click.argument("task", shell_complete=complete_task)
@agent_option
@click.option("--finding", required=True, help="What blocks the agent.")
@actor_option
@options.allow_secret
def block(
    edge: Edge, task: str, agent: str, finding: str, actor: str | None, allow: tuple[str, ...]
) -> Reply:
    """Block an agent and those after it, with the reason."""
    handoff = ContextTask(edge, task, actor).handoff
    name = check_agent_name(agent)
    context = handoff.change(
        lambda one: transitions.block(one, name, finding, handoff.actor, clock.now()),
        f"block {name}",
        allow,
    )
    return agent_reply(context, name, handoff)


@command.command()
@click.argument("task", shell_complete=complete_task)
@agent_option
@click.option("--finding", help="The id of one finding; all by default.")
@actor_option
def unblock(edge: Edge, task: str, agent: str, finding: str | None, actor: str | None) -> Reply:
    """Mark an agent's blocking findings as resolved."""
    handoff = ContextTask(edge, task, actor).handoff
    name = check_agent_name(agent)
    context = handoff.change(
        lambda one: transitions.unblock(one, name, finding, clock.now()), f"unblock {name}"
    )
    return agent_reply(context, name, handoff)


@command.command()
@click.argument("task", shell_complete=complete_task)
@expected_option
@actor_option
def verify(edge: Edge, task: str, agent: str | None, actor: str | None) -> Reply:
    """Compare the working tree with what an agent left; exit with 4 if it differs."""
    handoff = ContextTask(edge, task, actor).handoff
    named = None if agent is None else check_agent_name(agent)
    with print_drift(edge):
        same = handoff.require_unchanged(named)
    data = {"state": "same", "since": same.since, "tree": same.now, "what": same.what, "drift": []}
    return Reply(
        data, f"the working tree is what {same.since} left ({same.what})", handoff.warnings
    )


@command.command()
@click.argument("task", shell_complete=complete_task)
@agent_option
@click.option(
    "--type",
    "kind",
    type=DiffKind(["from-base", "incremental"]),
    default="from-base",
    show_default=True,
    help="Since the base commit, or since the previous snapshot.",
)
@click.option("--against", help="Since this agent's snapshot.")
def diff(edge: Edge, task: str, agent: str, kind: str, against: str | None) -> Reply:
    """Print an agent's changes as a patch."""
    handoff = ContextTask(edge, task).handoff
    other = None if against is None else check_agent_name(against)
    patch = handoff.diff(check_agent_name(agent), kind=kind, against=other)
    text = patch.decode("utf-8", "replace")
    data = {"agent": agent, "type": kind, "diff": text}
    return Reply(data, clean(text) if sys.stdout.isatty() else patch, handoff.warnings)


@command.command()
@click.argument("task", shell_complete=complete_task)
@click.option("--accept", is_flag=True, help="Accept the working tree as it is.")
@click.option("--revert", is_flag=True, help="Restore the snapshot; the current tree is saved.")
@click.option("--note", required=True, help="What happened, for the record.")
@actor_option
@options.allow_secret
def resolve(
    edge: Edge,
    task: str,
    accept: bool,
    revert: bool,
    note: str,
    actor: str | None,
    allow: tuple[str, ...],
) -> Reply:
    """Resolve drift: accept the working tree, or restore the snapshot."""
    if accept == revert:
        raise UsageError("give either --accept or --revert", hint="kedge context resolve --help")
    handoff = ContextTask(edge, task, actor).handoff
    context = handoff.resolve(note, accept=accept, allow=allow)
    done = "accepted" if accept else "reverted"
    return Reply(context.data(), f"the drift is {done}", handoff.warnings)


@command.command()
@click.argument("task", shell_complete=complete_task)
@actor_option
@options.allow_secret
def rebuild(edge: Edge, task: str, actor: str | None, allow: tuple[str, ...]) -> Reply:
    """Read the sources again; keep checks, events and snapshots."""
    target = ContextTask(edge, task, actor)
    handoff = target.handoff
    context, before, after = handoff.rebuild(
        target.require_task(), target.list_commands, allow=allow
    )
    patch = diff_immutable(before, after)
    data = {**context.data(), "difference": patch}
    return Reply(data, patch or f"revision {context.revision}: nothing changed", handoff.warnings)
