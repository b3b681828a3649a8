"""All that is known of some work when it is done, gathered for a retro."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Mapping, Sequence

from kedge.errors import KedgeError
from kedge.host import files
from kedge.host.record import NamedTuple
from kedge.knowledge import (
    anchors,
    commits,
    handoffs,
    implementation_log,
    observe,
    recall,
    relevance,
    reviews,
    topic,
)
from kedge.knowledge.bank import Bank
from kedge.knowledge.commits import Course
from kedge.knowledge.entries import Entry
from kedge.knowledge.handoffs import Check, rows
from kedge.knowledge.relevance import Asked
from kedge.knowledge.reviews import Review
from kedge.knowledge.topic import Topic
from kedge.knowledge.view import data
from kedge.knowledge.work import FEATURE, Work
from kedge.model.attempt import Attempt
from kedge.model.task import Task
from kedge.store import sessions
from kedge.store.sqlite import FILE, connect
from kedge.tasks.ledger import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

EVERY = 50  # entries; where there are more, those that have to do with the work are judged
_PATHS = 200  # of changed files that tell what the work was about

# The record of a handoff that has not ended, which another room keeps.
Live: TypeAlias = "Callable[[str], Mapping[str, Any] | None]"


class Trial(NamedTuple):
    """A task and what was tried at it."""

    task: Task
    attempts: tuple[Attempt, ...]


class Strayed(NamedTuple):
    """Something that went off course: in an attempt, in a session, or between two agents."""

    task: str
    where: str
    what: Mapping[str, Any]


class Aged(NamedTuple):
    """An entry that nobody has seen for long, or that what it is about has left."""

    entry: Entry
    state: str
    why: str


class Bundle(NamedTuple):
    work: Work
    trials: tuple[Trial, ...] = ()
    reviews: tuple[Review, ...] = ()
    log: str | None = None
    course: Course | None = None
    strayed: tuple[Strayed, ...] = ()
    checks: tuple[Check, ...] = ()
    entries: tuple[Entry, ...] = ()  # to be judged, those that matter most first
    passed_over: int = 0  # entries that have nothing to do with the work
    fresh: tuple[Entry, ...] = ()  # that were learned in it
    aged: tuple[Aged, ...] = ()
    warnings: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        return {
            "tasks": [
                {**one.task.data(), "attempts": [a.data() for a in one.attempts]}
                for one in self.trials
            ],
            "reviews": [one.data() for one in self.reviews],
            "log": self.log,
            "git": self.course.data() if self.course else None,
            "drift": [{**one._asdict(), "what": dict(one.what)} for one in self.strayed],
            "checks": [one._asdict() for one in self.checks],
            "knowledge": [data(one) for one in self.entries],
            "passed_over": self.passed_over,
            "learned_here": [data(one) for one in self.fresh],
            "stale": [{**data(one.entry), "state": one.state, "why": one.why} for one in self.aged],
        }


def gather(bank: Bank, work: Work, live: Live, since: str | None = None) -> Bundle:
    """What the ledger, reviews, the log, git, handoffs and the bank say of the work."""
    warnings: list[str] = []
    trials = []
    for task in work.tasks:
        attempts, more = Ledger(bank.project).read(task.id)
        warnings += more
        trials.append(Trial(task, tuple(attempts)))
    records: dict[str, list[Mapping[str, Any]]] = {
        task.id: _records(bank, task.id, live, warnings) for task in work.tasks
    }
    course = commits.course(
        bank.project,
        work,
        since=since,
        bases=[str(one["base"]) for found in records.values() for one in found if one.get("base")],
        began=_moments(trials),
    )
    found = [one.entry for one in bank.found() if not bank.is_orphaned(one.entry)]
    fresh = [entry for entry in found if work.first_saw(entry)]
    older = [entry for entry in found if entry not in fresh]
    entries = _relevant(older, trials, course)
    return Bundle(
        work,
        tuple(trials),
        tuple(_reviews(bank, work, warnings)),
        _log(bank, work, warnings),
        course,
        tuple(_strayed(bank, trials, records, warnings)),
        tuple(check for one in trials for check in _checks(one, records[one.task.id])),
        tuple(entries),
        len(older) - len(entries),
        tuple(fresh),
        tuple(_aged(bank)),
        (*warnings, *bank.warnings),
    )


def _reviews(bank: Bank, work: Work, warnings: list[str]) -> list[Review]:
    """Those of the work itself, then those of its tasks."""
    found: list[Review] = []
    for name in dict.fromkeys([work.id, *(task.id for task in work.tasks)]):
        made, more = reviews.read(bank.project, name)
        found += made
        warnings += more
    return found


def _log(bank: Bank, work: Work, warnings: list[str]) -> str | None:
    """What implementers reported: a feature's log, also when it is archived, or tasks' entries."""
    project = bank.project
    try:
        if work.kind != FEATURE:
            every = (implementation_log.read(project, _topic(work, task)) for task in work.tasks)
            return "\n".join(text for text in every if text) or None
        about = topic.of_feature(project, work.folder)
        text = implementation_log.read(project, about)
        if text is None and (archived := implementation_log.archived(project, about)):
            data = files.read_bytes(project.path(archived[-1])) or b""
            text = data.decode("utf-8", "replace")
        return text
    except KedgeError as error:
        warnings.append(f"the implementation log cannot be read: {error.message}")
        return None


def _topic(work: Work, task: Task) -> Topic:
    number = task.id.removeprefix(f"{task.epic}-") if work.folder else task.id
    return Topic(task.id, work.folder or None, task.id, number, task.title)


def _records(bank: Bank, task: str, live: Live, warnings: list[str]) -> list[Mapping[str, Any]]:
    """What handoffs of the task left, the one that has not ended last."""
    found, more = handoffs.archived(bank.project, task)
    warnings += more
    try:
        going = live(task)
    except KedgeError as error:
        warnings.append(f"the handoff of {task} cannot be read: {error.message}")
        going = None
    return [*found, *([going] if going is not None else [])]


def _moments(trials: Sequence[Trial]) -> list[str]:
    begun = [one.task.started_at for one in trials]
    begun += [attempt.started_at for one in trials for attempt in one.attempts]
    return [moment for moment in begun if moment]


def _checks(trial: Trial, records: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Of handoffs, which kedge ran itself; else those that attempts were judged by."""
    runs = [run for one in records for run in rows(one, "checks")]
    runs = runs or [run for attempt in trial.attempts for run in attempt.checks]
    return handoffs.summed(trial.task.id, runs)


def _strayed(
    bank: Bank,
    trials: Sequence[Trial],
    records: Mapping[str, Sequence[Mapping[str, Any]]],
    warnings: list[str],
) -> list[Strayed]:
    found = []
    watched = _sessions(bank, [one.task.id for one in trials], warnings)
    for task, attempts in trials:
        found += [
            Strayed(task.id, f"attempt {one.number}", one.drift) for one in attempts if one.drift
        ]
        for one in watched.get(task.id, ()):
            rest = {name: value for name, value in one.items() if name != "session"}
            found.append(Strayed(task.id, f"session {one['session']}", rest))
        for record in records[task.id]:
            found += [
                Strayed(
                    task.id, "handoff", {key: one.get(key) for key in ("since", "state", "note")}
                )
                for one in rows(record, "drift")
            ]
    return found


def _sessions(
    bank: Bank, tasks: Sequence[str], warnings: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """How the sessions that were bound to the tasks went; nothing is made where none was kept."""
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


def _relevant(entries: list[Entry], trials: Sequence[Trial], course: Course | None) -> list[Entry]:
    """Those to be judged: all of a small bank, else what matters for a task or for the change."""
    changed = tuple(one.path for one in course.files[:_PATHS]) if course else ()
    asked = [recall.asked(one.task) for one in trials] + [Asked(changed)]
    scores: dict[int, float] = {}
    places = {id(entry): at for at, entry in enumerate(entries)}
    for one in asked:
        for match in relevance.relevant(entries, **one._asdict(), budget=None):
            at = places[id(match.entry)]
            scores[at] = max(scores.get(at, 0.0), match.score)
    order = sorted(range(len(entries)), key=lambda at: (-scores.get(at, 0.0), at))
    small = len(entries) <= EVERY
    return [entries[at] for at in order if small or at in scores][:EVERY]


def _aged(bank: Bank) -> list[Aged]:
    found = []
    for entry in (one.entry for one in bank.found()):
        stand = observe.standing(entry, bank.clock, bank.stale_after)
        if stand.state == observe.STALE:
            found.append(Aged(entry, stand.state, stand.why))
        for anchor, state in bank.states(entry):
            if state == anchors.DRIFTED:
                found.append(Aged(entry, state, f"{anchor.place} has changed since"))
            elif state == anchors.ORPHANED:
                found.append(Aged(entry, state, f"{anchor.place} is gone"))
    return found
