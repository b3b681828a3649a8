"""`kedge run`: an agent works on tasks until they are shown to be done."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace

from kedge import config
from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply
from kedge.errors import KedgeError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.cli.run_view import View
    from kedge.host.project import Project
    from kedge.run.bench import Bench, Ending
    from kedge.run.journal import Journal
    from kedge.run.parallel import Fleet
    from kedge.run.wanted import Wanted
    from kedge.settings import Settings

AGENTS = ("claude", "codex", "gemini", "opencode", "command")


@syntax.command("Let an agent work on tasks until they are shown to be done.")
@syntax.option("--task", metavar="ID", help="Only this task.")
@syntax.option("--epic", metavar="ID", help="The tasks of an epic.")
@syntax.option("--feature", metavar="DIR", help="The tasks of a feature, in their order.")
@syntax.option("--label", metavar="L", help="The tasks with a label.")
@syntax.option("--once", is_flag=True, help="One task, and no more.")
@syntax.option("--agent", type=syntax.Choice(AGENTS), help="Who works.")
@syntax.option("--command", "program", metavar="PROG", help="The agent's program.")
@syntax.option("--model", metavar="M", help="The agent's model.")
@syntax.option("--roles", metavar="R,…", default="implementer", help="Who takes part.")
@syntax.option("--reanchor/--no-reanchor", default=True, help="Anchor each iteration.")
@syntax.option("--anchor-sources", metavar="A,B", help="What an anchor is made of.")
@syntax.option("--max-iterations", type=syntax.IntRange(1), metavar="N", help="Calls of agents.")
@syntax.option("--attempts", type=syntax.IntRange(1), metavar="N", help="Attempts at a task.")
@syntax.option("--budget", type=syntax.FloatAbove(0), metavar="USD", help="Money.")
@syntax.option("--budget-tokens", type=syntax.IntRange(1), metavar="N", help="Tokens.")
@syntax.option("--time", "limit", metavar="DURATION", help="Such as 90m or 8h.")
@syntax.option("--idle", metavar="DURATION", help="Silence after which an agent is ended.")
@syntax.option("--commit/--no-commit", default=True, help="Commit each task that is done.")
@syntax.option("--worktree", is_flag=True, help="Each task in a work tree of its own.")
@syntax.option("--parallel", type=syntax.IntRange(1, 16), metavar="N", help="Tasks at once.")
@syntax.option("--full-access", is_flag=True, help="Lift every limit on what the agent may do.")
@syntax.option("--dry-run", is_flag=True, help="Show what would be done.")
@syntax.option("--resume", is_flag=False, flag_value="", metavar="[RUN]", help="Go on with a run.")
def command(here: Edge, /, **given: Any) -> Reply:
    from kedge.run import commits, worktrees
    from kedge.run.journal import Journal

    project = here.project()
    settings = config.load(project).settings
    if given["feature"]:
        settings = _of_features(settings)
    resume = given.pop("resume")
    dry_run = given.pop("dry_run")
    if resume is not None:
        _refuse_with_resume(given, dry_run=dry_run)
        journal = Journal.resume(project, resume or None)
        wanted = _widened(journal.wanted, given)
        width = given["parallel"] or journal.state.wanted.get("parallel", 1)
    else:
        wanted = _wanted(project, settings, given, dry_run=dry_run)
        width = given["parallel"] or 1
        if wanted.worktree:
            worktrees.check(project)
        if dry_run:
            return _planned(here, project, settings, wanted)
        if wanted.commit:
            commits.check_identity(project)
        _say_unfinished(here, project)
        journal = Journal.begin(project, wanted)
    with journal.held():
        told = {**wanted.data(), "parallel": width}
        journal.change(wanted=told, spent=replace(journal.spent, failures=0))
        if wanted.worktree:
            return _run_apart(here, project, _anchored(settings, wanted), journal, width)
        return _run(here, project, _anchored(settings, wanted), journal)


def _wanted(
    project: Project, settings: Settings, given: dict[str, Any], *, dry_run: bool
) -> Wanted:
    from kedge.run import wanted as wanting
    from kedge.tasks import choose, rules
    from kedge.tasks.board import Board

    named = [one for one in ("task", "epic", "feature", "label") if given[one]]
    if len(named) > 1:
        raise UsageError(f"--{named[0]} or --{named[1]}, not both", hint="give one of them")
    if named[:1] in (["task"], ["epic"]):
        rules.find(Board(choose.backend(project, settings.tasks)).tasks(), given[named[0]])
    worktree = given["worktree"] or given["parallel"] is not None
    if worktree and not given["commit"]:
        raise UsageError(
            "work in work trees is kept as commits on their branches",
            hint="leave out --no-commit: your own branch gets none of them",
        )
    run = settings.run
    agent = given["agent"] or ("command" if given["program"] else run.agent)
    _refuse_budget(agent, given)
    limits = wanting.Limits(
        iterations=given["max_iterations"],
        attempts=given["attempts"] or run.attempts,
        rounds=run.rounds,
        failures=run.failures,
        money=given["budget"],
        tokens=given["budget_tokens"],
        seconds=wanting.duration(given["limit"]) if given["limit"] else None,
        idle=wanting.duration(given["idle"]) if given["idle"] else run.idle,
    )
    return wanting.Wanted(
        task=given["task"],
        epic=given["epic"],
        feature=_feature(project, settings, given["feature"]),
        label=given["label"],
        once=given["once"] or bool(given["task"]),
        agent=agent,
        program=() if dry_run else _program(agent, given["program"]),
        model=given["model"],
        roles=wanting.roles(given["roles"]),
        reanchor=given["reanchor"],
        sources=_sources(given["anchor_sources"]),
        commit=given["commit"],
        full_access=given["full_access"],
        worktree=worktree,
        limits=limits,
    )


def _refuse_budget(agent: str, given: dict[str, Any]) -> None:
    """A limit that nothing would ever reach is none."""
    if given["budget"] and agent not in _PRICED:
        raise UsageError(
            f"{agent} does not say what it costs, so --budget would never hold",
            hint="limit --budget-tokens, --time or --max-iterations",
        )
    if given["budget_tokens"] and agent == "command":
        raise UsageError(
            "a program does not say what it uses, so --budget-tokens would never hold",
            hint="limit --time or --max-iterations",
        )


_PRICED = ("claude", "opencode")


def _refuse_with_resume(given: dict[str, Any], *, dry_run: bool) -> None:
    """A run goes on as it was begun; only its limits may be given anew."""
    fixed = ("task", "epic", "feature", "label", "agent", "program", "model", "anchor_sources")
    named = [one for one in (*fixed, "once", "full_access", "worktree") if given[one]]
    if dry_run or named or not given["commit"] or not given["reanchor"]:
        raise UsageError(
            "a run goes on as it was begun: only limits can be given with --resume",
            hint="leave the rest out, or begin another run",
        )


def _widened(wanted: Wanted, given: dict[str, Any]) -> Wanted:
    """A run that is gone on with, with the limits that are given anew."""
    from kedge.run.wanted import duration

    named: dict[str, Any] = {
        "iterations": given["max_iterations"],
        "attempts": given["attempts"],
        "money": given["budget"],
        "tokens": given["budget_tokens"],
        "seconds": duration(given["limit"]) if given["limit"] else None,
        "idle": duration(given["idle"]) if given["idle"] else None,
    }
    new = {key: value for key, value in named.items() if value is not None}
    return replace(wanted, limits=replace(wanted.limits, **new))


def _feature(project: Project, settings: Settings, named: str | None) -> str | None:
    """The epic that a feature's folder stands for."""
    if named is None:
        return None
    from kedge.context.feature import folder
    from kedge.tasks import choose
    from kedge.tasks.board import Board

    name = folder.find(project, project.root, named).name
    tasks = Board(choose.backend(project, settings.tasks)).tasks()
    ids = [one for one in tasks if name == one or name.startswith(f"{one}-")]
    if not ids:
        raise UsageError(f"{name} has no tasks", hint=f"kedge feature tasks {named}")
    return max(ids, key=len)


def _program(agent: str, named: str | None) -> tuple[str, ...]:
    """The agent's program: one that the user names, or the one on PATH."""
    import shlex
    import shutil

    from kedge.agents.run import adapter, choose

    if named is not None:
        try:
            words = shlex.split(named)
        except ValueError as error:
            raise UsageError(f"--command: {error}", hint="quote it as for a shell") from error
        if words and shutil.which(words[0]) is None:
            raise UsageError(f"no program {words[0]!r}", hint="name one on PATH, or its path")
        if words:
            return tuple(words)
    if agent == "command":
        raise UsageError("which program?", hint="kedge run --command PROG")
    return adapter.located(choose.adapter(agent))


def _sources(text: str | None) -> tuple[str, ...]:
    from kedge.settings import SOURCES

    named = tuple(one.strip() for one in (text or "").split(",") if one.strip())
    for one in named:
        if one not in SOURCES:
            raise UsageError(f"no source {one!r}", hint=f"one of {', '.join(SOURCES)}")
    return named


def _of_features(settings: Settings) -> Settings:
    """A feature's tasks are those of its document, wherever else there are tasks."""
    return settings._replace(tasks=settings.tasks._replace(backend="feature_docs"))


def _anchored(settings: Settings, wanted: Wanted) -> Settings:
    if wanted.feature is not None:
        settings = _of_features(settings)
    if not wanted.sources:
        return settings
    return settings._replace(anchor=settings.anchor._replace(sources=wanted.sources))


def _say_unfinished(here: Edge, project: Project) -> None:
    from kedge.run.journal import unfinished

    for state in unfinished(project)[-1:]:
        here.warn(f"run {state.id} did not come to its end: kedge run --resume goes on with it")


def _planned(here: Edge, project: Project, settings: Settings, wanted: Wanted) -> Reply:
    """What a run would do, from the tasks as they are."""
    from kedge.run import choosing
    from kedge.tasks import choose, rules
    from kedge.tasks.board import Board

    board = Board(choose.backend(project, settings.tasks))
    tasks = board.tasks()
    here.warn(*board.warnings)
    ready = [one for one in rules.ready(tasks) if choosing.is_meant(tasks, wanted, one)]
    waiting = [
        {"task": task.id, "title": task.title, "why": why}
        for task, why in choosing.left(tasks, wanted)
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
    lines += [f"  {one['task']}  {one['title']}  ({one['why']})" for one in waiting]
    return Reply(data, "\n".join(lines))


def _run(here: Edge, project: Project, settings: Settings, journal: Journal) -> Reply:
    from kedge.agents.run import choose
    from kedge.cli.run_view import View, summary
    from kedge.run import loop, recovery
    from kedge.run.bench import Bench

    view = View(here)
    bench = Bench(project, settings, journal, choose.adapter(journal.wanted.agent), view.tell)
    view.opening(journal.state.id, journal.wanted, project.root)
    with contextlib.closing(view), _interruptible(bench), _shared(bench):
        try:
            recovery.recover(bench)
            ending = loop.run(bench)
        except BaseException:
            recovery.abandon(bench)
            raise
    _teach(view, project, settings, journal.wanted, ending)
    return _told(view, summary(journal.state.id, ending), ending)


def _run_apart(
    here: Edge, project: Project, settings: Settings, journal: Journal, width: int
) -> Reply:
    """Each task in a work tree of its own."""
    from kedge.cli.run_view import View, summary
    from kedge.run.parallel import Fleet

    view = View(here, many=width > 1)
    fleet = Fleet(project, settings, journal, width, view.tell)
    view.opening(journal.state.id, journal.wanted, project.root)
    with contextlib.closing(view), _interruptible(fleet):
        try:
            ending = fleet.run()
        except BaseException:
            fleet.abandon()
            raise
    _teach(view, project, settings, journal.wanted, ending)
    return _told(view, summary(journal.state.id, ending), ending)


def _teach(
    view: View, project: Project, settings: Settings, wanted: Wanted, ending: Ending
) -> None:
    """Gather what a feature teaches that is done, for an agent to answer."""
    if wanted.feature is None or ending.left or not ending.results:
        return
    from kedge.cli import retro
    from kedge.host import files
    from kedge.host.redact import redact
    from kedge.knowledge import work as works
    from kedge.knowledge.bank import Bank

    try:
        bank = Bank(project, settings)
        work = works.find(bank, wanted.feature)
        text = redact(str(retro.printed(bank, work).text))
        files.write_atomic(project.own("context", f"retro-{work.id}.md"), text.encode())
    except KedgeError as error:
        view.tell("warning", {"text": f"what it teaches is not gathered: {error.message}"})
        return
    view.tell("retro", {"path": f".kedge/context/retro-{work.id}.md"})


def _told(view: View, found: dict[str, Any], ending: Ending) -> Reply:
    data = {"event": "summary", **found}
    view.ended(data)
    if ending.why == "interrupted":
        raise KeyboardInterrupt
    if any(one["state"] != "done" for one in ending.results) or _cut_short(ending):
        raise KedgeError(_verdict(ending), hint=view.hint(ending), data=data)
    return Reply(data)


def _cut_short(ending: Ending) -> bool:
    return ending.why in ("budget", "time", "iterations", "failures", "agent-error")


def _verdict(ending: Ending) -> str:
    counts = {state: sum(one["state"] == state for one in ending.results) for state in _STATES}
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return f"{told or 'nothing was done'}; {ending.said}"


_STATES = ("done", "failed", "blocked", "left")


@contextlib.contextmanager
def _interruptible(work: Bench | Fleet) -> Iterator[None]:
    """The first signal ends the agent, and the record is finished; a second ends all at once."""

    def asked(*_: object) -> None:
        work.interrupt()

    with _handled(asked, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        yield


@contextlib.contextmanager
def _shared(bench: Bench) -> Iterator[None]:
    """What is told to a run that is one of several, by the run that began them."""
    from kedge.run.parallel import AT_ONCE, NO_FURTHER

    def asked(number: int, *_: object) -> None:
        bench.halt(at_once=number == AT_ONCE)

    with _handled(asked, AT_ONCE, NO_FURTHER):
        yield


@contextlib.contextmanager
def _handled(handler: Callable[..., None], *numbers: signal.Signals) -> Iterator[None]:
    old = {one: signal.signal(one, handler) for one in numbers}
    try:
        yield
    finally:
        for one, before in old.items():
            signal.signal(one, before)
