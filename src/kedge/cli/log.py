"""`kedge log`: what was tried at a task, how it ended, and what implementers report."""

from __future__ import annotations

import sys

from kedge import config
from kedge.cli import syntax
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean
from kedge.errors import KedgeError, UsageError
from kedge.model.attempt import Attempt
from kedge.tasks import choose
from kedge.tasks.board import Board
from kedge.tasks.ledger import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kedge.host.project import Project
    from kedge.knowledge.implementation_log import Logged
    from kedge.knowledge.report_check import Changed
    from kedge.knowledge.topic import Topic


command = syntax.group("Show what was tried; keep what implementers report.")


@command.command("Show the attempts at a task, oldest first.")
@syntax.argument("task")
@syntax.option("--last", type=syntax.IntRange(1), help="Only the last attempts, this many.")
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


@command.command("Add an implementer's report to the implementation log.")
@syntax.argument("task")
@syntax.option(
    "--report", "file", metavar="FILE", default="-", help="The report; - or none: stdin."
)
@syntax.option(
    "--feature", metavar="DIR", help="The feature's folder; TASK may be its number there."
)
@syntax.option("--attempt", type=syntax.IntRange(1), help="The attempt; else by the ledger.")
def append(here: Edge, task: str, file: str, feature: str | None, attempt: int | None) -> Reply:
    from kedge.cli import task_input
    from kedge.knowledge import implementation_log, topic

    if file == "-" and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError("there is no report", hint="--report FILE, or pipe it in")
    project = here.project()
    settings = config.load(project).settings.tasks
    found = topic.find(project, task, feature=feature, settings=settings, here=here.directory)
    _, text = task_input.read(file, here.directory)
    done = implementation_log.append(
        project,
        found,
        text,
        attempt=attempt or _attempt(project, found),
        changed=_changed(here, project, found),
        lock_timeout=settings.lock_timeout,
    )
    return Reply(_data(found, done), lambda: _told(done), [*found.warnings, *done.warnings])


@command.command("Print the implementation log of a feature, or a task's part of it.")
@syntax.argument("subject", metavar="FEATURE|TASK")
def read(here: Edge, subject: str) -> Reply:
    from kedge.knowledge import implementation_log, topic

    project = here.project()
    found = topic.find(project, subject, here=here.directory)
    text = implementation_log.read(project, found)
    old = implementation_log.archived(project, found)
    none = f"no implementation log for {found.name}" + (
        f"; archived: {', '.join(old)}" if old else ""
    )
    data = {"subject": found.name, "text": text, "archived": old}
    return Reply(data, clean(none if text is None else text), found.warnings)


@command.command("Move a finished feature's implementation log to the archive.")
@syntax.argument("feature", metavar="FEATURE")
def archive(here: Edge, feature: str) -> Reply:
    from kedge.knowledge import implementation_log, topic

    project = here.project()
    timeout = config.load(project).settings.tasks.lock_timeout
    found = topic.of_feature(project, feature, here.directory)
    place = implementation_log.archive(project, found, lock_timeout=timeout)
    said = f"archived: {place}" if place else f"no implementation log for {found.name}"
    return Reply({"subject": found.name, "archived": place}, clean(said))


def _attempt(project: Project, topic: Topic) -> int:
    """The attempt that a report is about: the one under way, or the last where that has ended."""
    past, _ = Ledger(project).read(topic.key)
    last = max((one.number for one in past), default=0)
    return max(1, last if topic.ended else last + 1)


def _changed(here: Edge, project: Project, topic: Topic) -> Changed | None:
    """What really differs: between the snapshots of the task's context, else by git."""
    from kedge.handoff import snapshots
    from kedge.handoff.steps import ROLES, role_of
    from kedge.handoff.store import Store
    from kedge.handoff.verified import shown
    from kedge.knowledge.report_check import Changed, by_git

    try:
        store = Store(project)
        if project.repo is None or not store.exists(topic.key):
            return by_git(project, topic.started_at)
        context = store.read(topic.key).context
        left = [kept.tree for name, kept in context.snapshots if role_of(name) == ROLES[0]]
        tree = left[-1] if left else snapshots.look(project)
        since = f"the start, as {'the implementer left it' if left else 'the working tree is'}"
        found = snapshots.compare(project, str(context.git["base_tree"]), tree)
        pairs = [(shown(one.path), one.old_path and shown(one.old_path)) for one in found]
        return Changed(tuple(pairs), since)
    except (KedgeError, KeyError) as error:
        here.warn(f"the files of the report are not checked: {error}")
        return None


def _data(topic: Topic, done: Logged) -> dict[str, Any]:
    report = done.report
    return {
        "task": topic.task,
        "attempt": done.attempt,
        "added": done.added,
        "log": done.log,
        "report": done.kept,
        "partial": report.partial,
        "missing": list(report.missing),
        "implemented": report.implemented,
        "tested": report.tested,
        "files": list(report.files),
        "self_review": report.self_review,
        "decisions": report.decisions,
        "deviations": report.deviations,
        "concerns": report.concerns,
        "check": done.check._asdict() if done.check else None,
    }


def _told(done: Logged) -> str:
    from kedge.knowledge import log_entry

    if not done.added:
        return f"the report is there already: {done.log}, attempt {done.attempt}"
    lines = [f"logged: {done.log}"]
    if done.report.missing:
        lines.append(f"not reported: {', '.join(done.report.missing).replace('_', '-')}")
    if done.check is not None and done.check.differs:
        lines.append(f"{log_entry.difference(done.check)} (since {done.check.since})")
    return clean("\n".join(lines))


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
