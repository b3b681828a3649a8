"""`kedge run`: run an agent on tasks until each is proven done."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import click

from kedge import config
from kedge.agents.launch import registry
from kedge.cli import approval, retro, run_approval, run_options
from kedge.cli.commands import KedgeCommand
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean
from kedge.cli.run_approval import RunCommands
from kedge.cli.run_view import RESUME, View, summarise
from kedge.cli.task_ids import complete_task
from kedge.errors import Interrupted, KedgeError
from kedge.host import files
from kedge.host.project import Project
from kedge.host.redact import redact
from kedge.knowledge.bank.bank import Bank
from kedge.knowledge.retro import subject as works
from kedge.run import agent_setup, commits, loop, recovery, task_choice, turn_guard, worktrees
from kedge.run.journal import Journal, list_interrupted
from kedge.run.options import RunOptions
from kedge.run.outcomes import RunEnd, TaskOutcome
from kedge.run.parallel import START_NOTHING_MORE, STOP_AT_ONCE, ParallelRun
from kedge.run.run_state import RunState
from kedge.settings import Settings
from kedge.tasks import choose, rules
from kedge.tasks.board import Board

_CUT_SHORT = ("budget", "time", "iterations", "failures", "agent-error", "error")
AGENTS = tuple(registry.ADAPTERS)


@click.command(
    cls=KedgeCommand,
    epilog="What is proven is committed on the current branch, one commit for each task. "
    "--no-commit leaves it in the working tree; --worktree commits on a branch of its own.",
)
@click.option("--task", metavar="ID", shell_complete=complete_task, help="Only this task.")
@click.option("--epic", metavar="ID", shell_complete=complete_task, help="Only tasks of this epic.")
@click.option("--feature", metavar="DIR", help="Only tasks of this feature, in their order.")
@click.option("--label", metavar="L", help="Only tasks with this label.")
@click.option("--once", is_flag=True, help="Stop after one task.")
@click.option("--agent", type=click.Choice(AGENTS), help="The agent; run.agent by default.")
@click.option(
    "--command", "program", metavar="PROG", help="The agent's program; by default the one on PATH."
)
@click.option("--model", metavar="M", help="The agent's model.")
@click.option(
    "--roles", metavar="R,…", default="implementer", help="The roles; implementer by default."
)
@click.option("--reanchor/--no-reanchor", default=True, help="Anchor the agent in each iteration.")
@click.option("--anchor-sources", metavar="A,B", help="What an anchor contains.")
@click.option(
    "--max-iterations", type=click.IntRange(1), metavar="N", help="The most calls of an agent."
)
@click.option(
    "--attempts", type=click.IntRange(1), metavar="N", help="The most attempts at a task."
)
@click.option(
    "--budget", type=click.FloatRange(0, min_open=True), metavar="USD", help="The most to spend."
)
@click.option(
    "--budget-tokens", type=click.IntRange(1), metavar="N", help="The most tokens to use."
)
@click.option("--time", "limit", metavar="DURATION", help="The longest time, such as 90m or 8h.")
@click.option("--idle", metavar="DURATION", help="Stop an agent that is silent for this long.")
@click.option("--commit/--no-commit", default=True, help="Commit each task on the current branch.")
@click.option("--worktree", is_flag=True, help="Run each task in its own work tree.")
@click.option(
    "--parallel", type=click.IntRange(1, 16), metavar="N", help="Run this many tasks at once."
)
@click.option("--full-access", is_flag=True, help="Let the agent do anything that you can do.")
@approval.trust_option
@click.option("--dry-run", is_flag=True, help="Show what the run would do.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[RUN]",
    help="Resume a run; the latest by default.",
)
def command(edge: Edge, /, **given: Any) -> Reply:
    """Run an agent on tasks until each is proven done."""
    project = edge.project()
    settings = config.load(project).settings
    if given["feature"]:
        settings = run_options.use_documents(project, settings, given["feature"])
    resume = given.pop("resume")
    dry_run, trust = given.pop("dry_run"), given.pop("trust")
    if resume is not None:
        run_options.check_resume(given, dry_run=dry_run)
        journal = Journal.resume(project, resume or None)
        wanted = run_options.change_limits(journal.options, given)
        run_approval.approve_program(edge, project, wanted, typed=False)
        width = given["parallel"] or journal.record.wanted.get("parallel", 1)
    else:
        wanted = run_options.make_options(project, settings, given, dry_run=dry_run)
        width = given["parallel"] or 1
        if wanted.worktree:
            worktrees.check(project)
        if dry_run:
            return _plan_reply(edge, project, settings, wanted)
        if wanted.commit:
            commits.check_identity(project)
        run_approval.approve_program(edge, project, wanted, typed=True)
    applied = run_options.apply_options(project, settings, wanted)
    commands = run_approval.approve(edge, project, applied, wanted, trust=trust)
    if unwatched := agent_setup.explain_unwatched(project, wanted.agent):
        edge.warn(unwatched)
    if resume is None:
        _warn_of_interrupted(edge, project)
        journal = Journal.begin(project, wanted)
    with journal.hold_lock():
        journal.change(wanted={**wanted.data(), "parallel": width})
        journal.save_usage(replace(journal.usage, failures=0))
        if wanted.worktree:
            return _run_in_worktrees(edge, project, applied, journal, width, commands)
        return _run(edge, project, applied, journal, commands)


def _warn_of_interrupted(edge: Edge, project: Project) -> None:
    for state in list_interrupted(project)[-1:]:
        edge.warn(f"run {state.id} was interrupted: {RESUME}")


def _plan_reply(edge: Edge, project: Project, settings: Settings, wanted: RunOptions) -> Reply:
    """Return what a run would do with the current tasks."""
    board = Board(choose.open_backend(project, settings.tasks))
    tasks = board.tasks()
    edge.warn(*board.warnings)
    ready = [one for one in rules.ready(tasks) if task_choice.is_selected(tasks, wanted, one)]
    waiting = [
        {"task": task.id, "title": task.title, "why": why}
        for task, why in task_choice.list_unfinished(tasks, wanted)
        if task not in ready
    ]
    data = {
        "wanted": wanted.data(),
        "ready": [
            {"task": one.id, "title": one.title, "checks": list(one.checks)} for one in ready
        ],
        "waiting": waiting,
    }
    lines = [f"would run {wanted.agent} as {', '.join(wanted.roles)} on:"]
    lines += [f"  {one.id}  {one.title}" for one in ready] or ["  nothing: no task is ready"]
    lines += ["not ready:"] if waiting else []
    lines += [f"  {one['task']}  {one['title']}  ({one['why']})" for one in waiting]
    return Reply(data, clean("\n".join(lines)))


def _run(
    edge: Edge, project: Project, settings: Settings, journal: Journal, commands: RunCommands
) -> Reply:
    view = View(edge)
    state = RunState(
        project, settings, journal, registry.find_adapter(journal.options.agent), view.tell
    )
    view.show_start(journal.record.id, journal.options, project.root, commands)
    with contextlib.closing(view), _on_interrupt(state), _on_parent_signals(state):
        state.baseline = turn_guard.open_baseline(project, journal)
        try:
            recovery.recover(state)
            end = loop.run(state)
        except KedgeError as error:
            end = recovery.end_after(state, error)
        except BrokenPipeError:
            recovery.leave(state)
            raise
        except BaseException:
            recovery.abandon(state)
            raise
    _write_retro(view, project, settings, journal.options, end)
    return _end_reply(view, journal.record.id, end)


def _run_in_worktrees(
    edge: Edge,
    project: Project,
    settings: Settings,
    journal: Journal,
    width: int,
    commands: RunCommands,
) -> Reply:
    """Run each task in its own work tree."""
    view = View(edge, many=width > 1)
    parallel = ParallelRun(project, settings, journal, width, view.tell)
    view.show_start(journal.record.id, journal.options, project.root, commands)
    with contextlib.closing(view), _on_interrupt(parallel):
        try:
            end = parallel.run()
        except KedgeError as error:
            end = parallel.end_after(error)
        except BaseException:
            parallel.abandon()
            raise
    _write_retro(view, project, settings, journal.options, end)
    return _end_reply(view, journal.record.id, end)


def _write_retro(
    view: View, project: Project, settings: Settings, wanted: RunOptions, end: RunEnd
) -> None:
    """Write the retro of a finished feature, for an agent to answer."""
    if wanted.feature is None or end.remaining or not end.results:
        return
    try:
        bank = Bank(project, settings)
        work = works.find_subject(bank, wanted.feature)
        text = redact(str(retro.bundle_reply(bank, work).text))
        files.write_atomic(project.own("context", f"retro-{work.id}.md"), text.encode())
    except KedgeError as error:
        view.tell("warning", {"text": f"cannot write the retro: {error.message}"})
        return
    view.tell("retro", {"path": f".kedge/context/retro-{work.id}.md"})


def _end_reply(view: View, run: str, end: RunEnd) -> Reply:
    data = {"event": "summary", **summarise(run, end)}
    view.show_end(data)
    if end.stop.code == "interrupted":
        raise Interrupted("interrupted", hint=RESUME, data=data)
    if end.stop.code in _CUT_SHORT or any(one["state"] != "done" for one in end.results):
        counts = ", ".join(f"{data[state]} {state}" for state in TaskOutcome if data[state])
        verdict = f"{counts or 'nothing was done'}; {end.stop.text}"
        raise KedgeError(verdict, hint=view.hint(end), data=data)
    return Reply(data)


@contextlib.contextmanager
def _on_interrupt(work: RunState | ParallelRun) -> Iterator[None]:
    """On the first signal, stop the agent and finish the record; on a second, stop at once."""

    def stop(*_: object) -> None:
        work.interrupt()

    with _handle_signals(stop, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        yield


@contextlib.contextmanager
def _on_parent_signals(state: RunState) -> Iterator[None]:
    """Obey the signals of the parallel run that started this one."""

    def stop(number: int, *_: object) -> None:
        state.halt(at_once=number == STOP_AT_ONCE)

    with _handle_signals(stop, STOP_AT_ONCE, START_NOTHING_MORE):
        yield


@contextlib.contextmanager
def _handle_signals(handler: Callable[..., None], *numbers: signal.Signals) -> Iterator[None]:
    old = {one: signal.signal(one, handler) for one in numbers}
    try:
        yield
    finally:
        for one, before in old.items():
            signal.signal(one, before)
