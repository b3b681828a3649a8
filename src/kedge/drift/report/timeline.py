"""A session as a sequence of marks: messages, steps that strayed, and groups of steps in between.

A page has room for a limited number of marks; the gravest steps and the latest messages get one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import merge
from typing import TYPE_CHECKING

from kedge.drift.course import LEVELS, NORMAL, ON_COURSE
from kedge.drift.report.account import CharterRevision

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kedge.drift.report.account import Account, DriftEpisode, RecordedStep


@dataclass(frozen=True, slots=True)
class MessageMark:
    """A message of the user; `state` is the state of the course after it."""

    revision: CharterRevision
    state: str = NORMAL


@dataclass(frozen=True, slots=True)
class StrayMark:
    """A step that strayed, with its event."""

    step: RecordedStep
    event: DriftEpisode | None
    state: str = NORMAL

    @property
    def level(self) -> str:
        return self.event.level if self.event else self.step.level


@dataclass(frozen=True, slots=True)
class StepGroup:
    """Consecutive steps without marks of their own."""

    steps: list[RecordedStep]
    state: str = NORMAL

    @property
    def level(self) -> str:
        return find_worst(step.level for step in self.steps)

    @property
    def quiet(self) -> bool:
        return self.level == LEVELS[0]


Mark = MessageMark | StrayMark | StepGroup


def find_worst(levels: Iterable[str]) -> str:
    """Return the gravest of the levels."""
    return max(levels, key=LEVELS.index, default=LEVELS[0])


def build_marks(account: Account, strays: int, messages: int) -> list[Mark]:
    """Return the marks of a session in order, at most this many for steps and for messages."""
    events = {event.position: event for event in account.events}
    own = _choose_steps(account.steps, events, strays)
    revisions = account.revisions
    if len(revisions) > messages:  # keep the first goal as history
        revisions = (*revisions[:1], *revisions[len(revisions) - messages + 1 :])
    marks: list[Mark] = []
    moments: tuple[Sequence[CharterRevision | RecordedStep], ...] = revisions, account.steps
    for each in merge(*moments, key=lambda each: each.at):
        if isinstance(each, CharterRevision):
            marks.append(MessageMark(each))
        elif each.position in own:
            marks.append(StrayMark(each, events.get(each.position)))
        elif marks and isinstance(marks[-1], StepGroup):
            marks[-1].steps.append(each)
        else:
            marks.append(StepGroup([each]))
    return list(_add_states(marks, account))


def _choose_steps(
    steps: Sequence[RecordedStep], events: Mapping[int | None, DriftEpisode], most: int
) -> set[int]:
    """Return the positions of the steps that get a mark: the gravest, and of these the latest."""

    def gravity(step: RecordedStep) -> int:
        event = events.get(step.position)
        return LEVELS.index(event.level if event else step.level)

    strayed = [step for step in steps if gravity(step) or step.correction]
    strayed.sort(key=lambda step: (-gravity(step), -step.position))
    return {step.position for step in strayed[:most]}


def _add_states(marks: Sequence[Mark], account: Account) -> Iterator[Mark]:
    """Add the state of the course to each mark.

    An event gives the state until the session recovers; the next event gives the one before it.
    """
    state = NORMAL
    events = list(account.events)
    place = 0
    for mark in marks:
        back = isinstance(mark, MessageMark)
        if not isinstance(mark, MessageMark):
            steps = mark.steps if isinstance(mark, StepGroup) else [mark.step]
            while place < len(events) and (events[place].position or 0) <= steps[-1].position:
                state = events[place].after
                place += 1
            back = any(step.changes and step.score >= ON_COURSE for step in steps)
        if back:
            state = events[place].before if place < len(events) else account.session.course
        yield replace(mark, state=state)
