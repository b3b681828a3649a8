"""Gather all that is known about finished work, for a retro."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from kedge.errors import KedgeError
from kedge.host import files, json_lines
from kedge.knowledge import retro_records, topic
from kedge.knowledge.bank.bank import Bank
from kedge.knowledge.bank.check import AgingEntry, find_aging
from kedge.knowledge.bank.entries import Entry
from kedge.knowledge.bank.view import entry_data
from kedge.knowledge.log import implementation_log
from kedge.knowledge.recall.relevance import Query, rank_entries
from kedge.knowledge.recall.selection import query_for_task
from kedge.knowledge.retro.commits import CommitRange, collect_commits
from kedge.knowledge.retro.subject import FEATURE, Subject
from kedge.knowledge.reviews.records import Review, read_reviews
from kedge.knowledge.topic import Topic
from kedge.model.attempt import Attempt
from kedge.model.ids import is_id
from kedge.model.task import Task
from kedge.store import sessions
from kedge.store.sqlite import FILE, connect
from kedge.tasks.ledger import Ledger

MAX_ENTRIES = 50  # to judge; of a larger bank, the most relevant ones
_MAX_PATHS = 200  # of changed files, to find the relevant entries

# Returns the record of a task's open handoff; provided by the caller, as another room keeps it.
ReadHandoff: TypeAlias = "Callable[[str], Mapping[str, Any] | None]"


@dataclass(frozen=True, slots=True)
class TaskAttempts:
    """A task and the attempts at it."""

    task: Task
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """The runs of a check during a task: first and last exit code, and how often it failed."""

    task: str
    command: str
    first: int
    last: int
    runs: int
    failed: int


@dataclass(frozen=True, slots=True)
class DriftRecord:
    """Drift in an attempt, in a session, or in a handoff."""

    task: str
    where: str
    what: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bundle:
    subject: Subject
    tasks: tuple[TaskAttempts, ...] = ()
    reviews: tuple[Review, ...] = ()
    log: str | None = None
    commits: CommitRange | None = None
    drift: tuple[DriftRecord, ...] = ()
    checks: tuple[CheckSummary, ...] = ()
    entries: tuple[Entry, ...] = ()  # to judge, the most relevant first
    passed_over: int = 0  # entries that are not relevant for the work
    learned_here: tuple[Entry, ...] = ()
    aging: tuple[AgingEntry, ...] = ()
    warnings: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        return {
            "tasks": [
                {**one.task.data(), "attempts": [a.data() for a in one.attempts]}
                for one in self.tasks
            ],
            "reviews": [one.data() for one in self.reviews],
            "log": self.log,
            "git": self.commits.data() if self.commits else None,
            "drift": [{**asdict(one), "what": dict(one.what)} for one in self.drift],
            "checks": [asdict(one) for one in self.checks],
            "knowledge": [entry_data(one) for one in self.entries],
            "passed_over": self.passed_over,
            "learned_here": [entry_data(one) for one in self.learned_here],
            "stale": [
                {**entry_data(one.entry), "state": one.state, "why": one.why} for one in self.aging
            ],
        }


def gather_bundle(
    bank: Bank,
    subject: Subject,
    read_open: ReadHandoff,
    since: str | None = None,
    until: str | None = None,
) -> Bundle:
    """Gather what the ledger, reviews, log, git, handoffs and the bank say about the work."""
    warnings: list[str] = []
    tasks = []
    for task in subject.tasks:
        past, more = Ledger(bank.project).read(task.id)
        warnings += more
        tasks.append(TaskAttempts(task, tuple(past)))
    times = [one.started_at for one in subject.tasks]
    times += [attempt.started_at for one in tasks for attempt in one.attempts]
    records: dict[str, list[Mapping[str, Any]]] = {
        task.id: _read_handoffs(bank, task.id, read_open, warnings) for task in subject.tasks
    }
    commits = collect_commits(
        bank.project,
        subject,
        since=since,
        until=until,
        ended=_find_end(bank, subject),
        bases=[str(one["base"]) for past in records.values() for one in past if one.get("base")],
        began=[time for time in times if time],
    )
    live = [one.entry for one in bank.entries() if not bank.is_orphaned(one.entry)]
    learned_here = [entry for entry in live if subject.is_origin_of(entry)]
    older = [entry for entry in live if entry not in learned_here]
    entries = _relevant_entries(older, tasks, commits)
    return Bundle(
        subject,
        tuple(tasks),
        tuple(_read_reviews(bank, subject, warnings)),
        _read_log(bank, subject, warnings),
        commits,
        tuple(_collect_drift(bank, tasks, records, warnings)),
        tuple(check for one in tasks for check in _summarize_checks(one, records[one.task.id])),
        tuple(entries),
        len(older) - len(entries),
        tuple(learned_here),
        tuple(find_aging(bank, bank.stale_after)),
        (*warnings, *bank.warnings),
    )


def _find_end(bank: Bank, subject: Subject) -> str | None:
    """Return when the work was finished; None if it is not, or nothing says when."""
    if subject.kind == FEATURE:
        done = {one.id: one.when for one in bank.completions.features}
        return done.get(subject.id) or None
    if subject.open_tasks:
        return None
    return max((one.closed_at for one in subject.tasks if one.closed_at), default=None)


def _read_reviews(bank: Bank, subject: Subject, warnings: list[str]) -> list[Review]:
    """Return the reviews of the work itself, then those of its tasks."""
    reviews: list[Review] = []
    for name in dict.fromkeys([subject.id, *(task.id for task in subject.tasks)]):
        more, problems = read_reviews(bank.project, name)
        reviews += more
        warnings += problems
    return reviews


def _read_log(bank: Bank, subject: Subject, warnings: list[str]) -> str | None:
    """Return a feature's implementation logs, the archived ones first, or the tasks' entries."""
    project = bank.project
    try:
        if subject.kind != FEATURE:
            every = (
                implementation_log.read(project, _topic(subject, task)) for task in subject.tasks
            )
            return "\n".join(text for text in every if text) or None
        about = topic.find_feature(project, subject.folder)
        archived = [
            (files.read_bytes(project.path(path)) or b"").decode("utf-8", "replace")
            for path in implementation_log.list_archived(project, about)
        ]
        current = implementation_log.read(project, about)
        return "\n".join([*archived, *([current] if current else [])]) or None
    except KedgeError as error:
        warnings.append(f"the implementation log cannot be read: {error.message}")
        return None


def _topic(subject: Subject, task: Task) -> Topic:
    number = task.id.removeprefix(f"{task.epic}-") if subject.folder else task.id
    return Topic(task.id, subject.folder or None, task.id, number, task.title)


def _read_handoffs(
    bank: Bank, task: str, read_open: ReadHandoff, warnings: list[str]
) -> list[Mapping[str, Any]]:
    """Return the task's handoff records, an open handoff last."""
    found: list[Mapping[str, Any]] = []
    if is_id(task):
        path = bank.project.own("handoffs", f"{task}.jsonl")
        archived, more = json_lines.read(path, f".kedge/handoffs/{path.name}", dict)
        found += archived
        warnings += more
    try:
        open_ = read_open(task)
        found += [open_] if open_ is not None else []
    except KedgeError as error:
        warnings.append(f"the handoff of {task} cannot be read: {error.message}")
    return found


def _summarize_checks(
    task: TaskAttempts, records: Sequence[Mapping[str, Any]]
) -> list[CheckSummary]:
    """Summarize the checks of handoffs, which kedge ran itself; without any, those of attempts."""
    runs = [run for one in records for run in retro_records.object_list(one, "checks")]
    codes: dict[str, list[int]] = {}
    for one in runs or [run for attempt in task.attempts for run in attempt.checks]:
        command, code = one.get("command"), one.get("exit_code")
        if isinstance(command, str) and type(code) is int:
            codes.setdefault(command, []).append(code)
    return [
        CheckSummary(task.task.id, command, run[0], run[-1], len(run), sum(c != 0 for c in run))
        for command, run in codes.items()
    ]


def _collect_drift(
    bank: Bank,
    tasks: Sequence[TaskAttempts],
    records: Mapping[str, Sequence[Mapping[str, Any]]],
    warnings: list[str],
) -> list[DriftRecord]:
    drift = []
    watched = _read_sessions(bank, [one.task.id for one in tasks], warnings)
    for one in tasks:
        task = one.task.id
        found = [(f"attempt {tried.number}", tried.drift) for tried in one.attempts if tried.drift]
        found += [(f"session {row.pop('session')}", row) for row in watched.get(task, ())]
        events = (e for record in records[task] for e in retro_records.object_list(record, "drift"))
        keys = ("since", "state", "note")
        found += [("handoff", {key: event.get(key) for key in keys}) for event in events]
        drift += [DriftRecord(task, where, what) for where, what in found]
    return drift


def _read_sessions(
    bank: Bank, tasks: Sequence[str], warnings: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """Return summaries of the tasks' sessions; a missing database is not created."""
    try:
        home = bank.project.home()
        if not (home / FILE).exists():
            return {}
        db, more = connect(home)
        warnings += more
        with contextlib.closing(db):
            return {task: sessions.summaries(db, task=task) for task in tasks}
    except (KedgeError, sqlite3.Error, OSError, ValueError) as error:
        warnings.append(f"sessions cannot be read: {error}")
        return {}


def _relevant_entries(
    entries: list[Entry], tasks: Sequence[TaskAttempts], commits: CommitRange | None
) -> list[Entry]:
    """Return the entries to judge: all of a small bank, else those relevant for the work."""
    changed = tuple(one.path for one in commits.files[:_MAX_PATHS]) if commits else ()
    queries = [query_for_task(one.task) for one in tasks] + [Query(changed)]
    scores: dict[int, float] = {}
    for query in queries:
        for match in rank_entries(entries, query):
            scores[id(match.entry)] = max(scores.get(id(match.entry), 0.0), match.score)
    small = len(entries) <= MAX_ENTRIES
    wanted = [entry for entry in entries if small or id(entry) in scores]
    return sorted(wanted, key=lambda entry: -scores.get(id(entry), 0.0))[:MAX_ENTRIES]
