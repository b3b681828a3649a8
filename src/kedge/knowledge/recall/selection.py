"""Select the lessons that matter for a task or a change, within a token budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kedge.host import tokens
from kedge.host.redact import redact
from kedge.knowledge.bank import anchors
from kedge.knowledge.bank.bank import Bank
from kedge.knowledge.bank.entries import Entry
from kedge.knowledge.bank.view import format_entry, locations, printable
from kedge.knowledge.recall import relevance
from kedge.knowledge.recall.relevance import Query
from kedge.model.task import Task

_MAX_LESSONS = 5


@dataclass(frozen=True, slots=True)
class Lesson:
    """An entry as text for an agent, and why it was selected.

    `drifted` says that the code it is about has changed, `cut` that the text was shortened.
    """

    entry: Entry
    text: str
    why: str
    drifted: bool
    cut: bool = False

    def data(self) -> dict[str, Any]:
        return {
            "name": printable(self.entry.name),
            "type": self.entry.type,
            "place": locations(self.entry)[0],
            "text": self.text,
            "why": self.why,
            "drifted": self.drifted,
        }


@dataclass(frozen=True, slots=True)
class LessonSelection:
    lessons: tuple[Lesson, ...] = ()
    left_out: int = 0  # relevant lessons for which there was no room
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(one.text for one in self.lessons)

    @property
    def whole(self) -> bool:
        """False if a relevant lesson was cut or left out."""
        return not self.left_out and not any(one.cut for one in self.lessons)


def query_for_task(task: Task, paths: Iterable[str] = ()) -> Query:
    """Build a query for a task; its title counts twice."""
    words = (task.title, task.title, task.description, *task.acceptance, *task.labels)
    return relevance.query_from_text("\n".join(words), (*task.scope_in, *paths))


def select_lessons(bank: Bank, query: Query, budget: int) -> LessonSelection:
    """Select the most relevant lessons. Orphaned entries are left out."""
    entries = [one.entry for one in bank.entries()]
    if not entries:
        return LessonSelection(warnings=tuple(bank.warnings))
    lessons = []
    for match in relevance.rank_entries(entries, query):
        changed = _find_drifted(bank, match.entry)
        if changed is not None:
            text = redact(printable(_mark_drift(format_entry(match.entry), changed)))
            lessons.append(Lesson(match.entry, text, match.why, bool(changed)))
    fitting = _fit_budget(lessons[:_MAX_LESSONS], budget)
    return LessonSelection(tuple(fitting), len(lessons) - len(fitting), tuple(bank.warnings))


def _find_drifted(bank: Bank, entry: Entry) -> list[str] | None:
    """Return the entry's anchors that have changed; None if all its anchors are gone."""
    states = bank.anchor_states(entry)
    if states and all(state == anchors.ORPHANED for _, state in states):
        return None
    return [anchor.place for anchor, state in states if state == anchors.DRIFTED]


def _mark_drift(text: str, changed: Sequence[str]) -> str:
    if not changed:
        return text
    head, _, body = text.partition("\n")
    mark = f"{head} — may no longer hold: {', '.join(changed)} has changed since"
    return f"{mark}\n{body}" if body else mark


def _fit_budget(lessons: Sequence[Lesson], budget: int) -> list[Lesson]:
    """Return the lessons that fit, in order. One longer than half the budget is cut to that."""
    fitting: list[Lesson] = []
    left = budget
    for one in lessons:
        text = one.text
        if tokens.count(text + "\n") > budget // 2:
            text = f"{tokens.cut(text, budget // 2 - 3).rstrip()} …"
        size = tokens.count(text + "\n")
        if size <= left:
            fitting.append(replace(one, text=text, cut=text != one.text))
            left -= size
    return fitting
