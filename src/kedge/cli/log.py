"""`kedge log`: attempts at a task, and the implementation log."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import click

from kedge import config
from kedge.cli import text_input
from kedge.cli.commands import Group
from kedge.cli.edge import Edge, Reply
from kedge.cli.plain import clean
from kedge.cli.task_ids import complete_task
from kedge.errors import KedgeError, UsageError
from kedge.handoff.context_store import ContextStore
from kedge.handoff.snapshot import snapshots
from kedge.handoff.transitions import ROLES, find_role
from kedge.handoff.verification import escape_path
from kedge.host.project import Project
from kedge.host.text import count_noun
from kedge.knowledge.log import implementation_log, log_entry
from kedge.knowledge.log.file_check import ChangedFiles, find_changed_files
from kedge.knowledge.log.implementation_log import LoggedReport
from kedge.knowledge.topic import Topic, find_feature, find_topic
from kedge.model.attempt import Attempt
from kedge.tasks import choose
from kedge.tasks.board import Board
from kedge.tasks.ledger import Ledger

command = Group(help="Show past attempts and record implementers' reports.")


@command.command()
@click.argument("task", shell_complete=complete_task)
@click.option("--last", type=click.IntRange(1), help="Only the last N attempts.")
def show(edge: Edge, task: str, last: int | None) -> Reply:
    """Show the attempts at a task, oldest first."""
    project = edge.project()
    settings = config.load(project).settings.tasks
    attempts, warnings = Ledger(project).read(task)
    if not attempts and not warnings:
        Board(choose.open_backend(project, settings)).get(task)  # raises if there is no such task
    if last is not None:
        attempts = attempts[-last:]
    return Reply(
        [attempt.data() for attempt in attempts],
        lambda: (
            "\n\n".join(map(_describe_attempt, attempts)) or f"no attempts at {task} are recorded"
        ),
        warnings,
    )


@command.command()
@click.argument("task", shell_complete=complete_task)
@click.option(
    "--report", "file", metavar="FILE", default="-", help="The report; standard input by default."
)
@click.option("--feature", metavar="DIR", help="The feature's folder; TASK may be a number in it.")
@click.option(
    "--attempt", type=click.IntRange(1), help="The attempt's number; by default from the ledger."
)
def append(edge: Edge, task: str, file: str, feature: str | None, attempt: int | None) -> Reply:
    """Add an implementer's report to the implementation log."""
    if file == "-" and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError("no report given", hint="use --report FILE, or pipe the report in")
    project = edge.project()
    settings = config.load(project).settings.tasks
    topic = find_topic(project, task, feature=feature, settings=settings, here=edge.directory)
    _, text = text_input.read_file(file, edge.directory)
    logged = implementation_log.append(
        project,
        topic,
        text,
        attempt=attempt or _guess_attempt(project, topic),
        changed=_find_changed_files(edge, project, topic),
        lock_timeout=settings.lock_timeout,
    )
    return Reply(
        _report_data(topic, logged),
        lambda: _describe_report(logged),
        [*topic.warnings, *logged.warnings],
    )


@command.command()
@click.argument("subject", metavar="FEATURE|TASK")
def read(edge: Edge, subject: str) -> Reply:
    """Print the implementation log of a feature or of one task."""
    project = edge.project()
    topic = find_topic(project, subject, here=edge.directory)
    text = implementation_log.read(project, topic)
    old = implementation_log.list_archived(project, topic)
    none = f"no implementation log for {topic.name}" + (
        f"; archived: {', '.join(old)}" if old else ""
    )
    data = {"subject": topic.name, "text": text, "archived": old}
    return Reply(data, clean(none if text is None else text), topic.warnings)


@command.command()
@click.argument("feature", metavar="FEATURE")
def archive(edge: Edge, feature: str) -> Reply:
    """Move a finished feature's implementation log to the archive."""
    project = edge.project()
    timeout = config.load(project).settings.tasks.lock_timeout
    topic = find_feature(project, feature, edge.directory)
    path = implementation_log.archive(project, topic, lock_timeout=timeout)
    text = f"archived: {path}" if path else f"no implementation log for {topic.name}"
    return Reply({"subject": topic.name, "archived": path}, clean(text))


def _guess_attempt(project: Project, topic: Topic) -> int:
    """Return the number of the attempt under way, or of the last one if the task has ended."""
    past, _ = Ledger(project).read(topic.key)
    last = max((one.number for one in past), default=0)
    return max(1, last if topic.ended else last + 1)


def _find_changed_files(edge: Edge, project: Project, topic: Topic) -> ChangedFiles | None:
    """Return the files that changed, according to the task's snapshots or else to git."""
    try:
        store = ContextStore(project)
        if project.repo is None or not store.exists(topic.key):
            return find_changed_files(project, topic.started_at)
        context = store.read(topic.key).context
        left = [kept.tree for name, kept in context.snapshots if find_role(name) == ROLES[0]]
        tree = left[-1] if left else snapshots.read_tree(project)
        since = f"the start, as {'the implementer left it' if left else 'the working tree is'}"
        changes = snapshots.compare(project, str(context.git["base_tree"]), tree)
        pairs = [
            (escape_path(one.path), one.old_path and escape_path(one.old_path)) for one in changes
        ]
        return ChangedFiles(tuple(pairs), since)
    except (KedgeError, KeyError) as error:
        edge.warn(f"the report's files were not checked: {error}")
        return None


def _report_data(topic: Topic, logged: LoggedReport) -> dict[str, Any]:
    report = asdict(logged.report)
    del report["text"]
    return {
        "task": topic.task,
        "attempt": logged.attempt,
        "added": logged.added,
        "log": logged.log,
        "report": logged.kept,
        "partial": logged.report.partial,
        **report,
        "check": asdict(logged.check) if logged.check else None,
    }


def _describe_report(logged: LoggedReport) -> str:
    if not logged.added:
        return f"already logged: {logged.log}, attempt {logged.attempt}"
    lines = [f"logged: {logged.log}"]
    if logged.report.missing:
        lines.append(f"not reported: {', '.join(logged.report.missing).replace('_', '-')}")
    if logged.check is not None and logged.check.differs:
        lines.append(f"{log_entry.describe_difference(logged.check)} (since {logged.check.since})")
    return clean("\n".join(lines))


def _describe_attempt(attempt: Attempt) -> str:
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
        lines.append(f"    drift: {_describe_drift(attempt.drift)}")
    return clean("\n".join(lines))


def _describe_drift(drift: Mapping[str, Any]) -> str:
    """Describe how often an attempt strayed, how badly, and why somebody should review it."""
    parts = [count_noun(int(drift.get("alarms") or 0), "step") + " strayed"]
    if drift.get("worst"):
        parts.append(f"at worst {drift['worst']}")
    if drift.get("needs_review"):
        why = "; ".join(map(str, drift.get("why") or ()))
        parts.append(f"needs review: {why}" if why else "needs review")
    return ", ".join(parts)
