"""A session as a row of marks: what the user said, steps that strayed, runs of others between them.

A page has room for so many marks; the gravest steps and the latest messages keep their own.
"""

from __future__ import annotations

from itertools import groupby

from kedge.drift.account import ON_COURSE
from kedge.drift.course import LEVELS, NORMAL
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kedge.drift.account import Account, Event, Revision, Step


class Said(NamedTuple):
    """A message of the user; `state` is the course after it."""

    revision: Revision
    state: str = NORMAL


class Stray(NamedTuple):
    """A step that strayed, with its event."""

    step: Step
    event: Event | None
    state: str = NORMAL

    @property
    def level(self) -> str:
        return self.event.level if self.event else self.step.level


class Run(NamedTuple):
    """Steps in a row that have no marks of their own."""

    steps: tuple[Step, ...]
    state: str = NORMAL

    @property
    def level(self) -> str:
        return worst(step.level for step in self.steps)

    @property
    def quiet(self) -> bool:
        return self.level == LEVELS[0]


Mark = Said | Stray | Run


def worst(levels: Iterable[str]) -> str:
    """The gravest of the levels."""
    return max(levels, key=LEVELS.index, default=LEVELS[0])


def marks(account: Account, strays: int, messages: int) -> list[Mark]:
    """The session's marks in their order, with at most so many for steps and for messages."""
    events = {event.position: event for event in account.events}
    own = _own(account.steps, events, strays)
    said = account.revisions
    if len(said) > messages:  # the first goal stays as history
        said = (*said[:1], *said[len(said) - messages + 1 :])
    moments = _moments(account.steps, said)
    found: list[Mark] = []
    for alone, group in groupby(moments, key=lambda each: _alone(each, own)):
        if not alone:
            found.append(Run(tuple(each for each in group if not isinstance(each, _Message))))
            continue
        for each in group:
            if isinstance(each, _Message):
                found.append(Said(each.revision))
            else:
                found.append(Stray(each, events.get(each.position)))
    return list(_on_course(found, account))


class _Message(NamedTuple):
    revision: Revision


def _own(steps: Sequence[Step], events: Mapping[int | None, Event], most: int) -> set[int]:
    """The positions of the steps with marks of their own: the gravest, of these the latest."""

    def gravity(step: Step) -> int:
        event = events.get(step.position)
        return LEVELS.index(event.level if event else step.level)

    strayed = [step for step in steps if gravity(step) or step.correction]
    strayed.sort(key=lambda step: (-gravity(step), -step.position))
    return {step.position for step in strayed[:most]}


def _moments(steps: Sequence[Step], said: Sequence[Revision]) -> Iterator[Step | _Message]:
    waiting = list(reversed(said))
    for step in steps:
        while waiting and waiting[-1].at <= step.at:
            yield _Message(waiting.pop())
        yield step
    yield from (_Message(each) for each in reversed(waiting))


def _alone(each: Step | _Message, own: set[int]) -> bool:
    return isinstance(each, _Message) or each.position in own


def _on_course(found: Sequence[Mark], account: Account) -> Iterator[Mark]:
    """The marks with the course at each: an event says what it is until the session comes back,
    the next event what it was before."""
    state = NORMAL
    events = list(account.events)
    place = 0
    for mark in found:
        back = isinstance(mark, Said)
        if not isinstance(mark, Said):
            steps = mark.steps if isinstance(mark, Run) else (mark.step,)
            while place < len(events) and (events[place].position or 0) <= steps[-1].position:
                state = events[place].after
                place += 1
            back = any(step.changes and step.score >= ON_COURSE for step in steps)
        if back:
            state = events[place].before if place < len(events) else account.session.course
        yield mark._replace(state=state)
