"""The course of a session: events in, commands out, nothing else.

    NORMAL ── score below 5 ──► DRIFTED ── escalation 3 ──► FORCED
      ▲                           │                           │
      └──── score 5 or more ──────┘                           │
      └──── the forced action is done, or the user speaks ────┘

A correction is queued when an action is judged, delivered once at the next place where text can be
given, dropped when it is too old, and forgotten when the user speaks. 8 or more is never corrected.
What only reads is neither drift nor recovery.
"""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

NORMAL, DRIFTED, FORCED = "NORMAL", "DRIFTED", "FORCED"
LEVELS = ("none", "nudge", "correct", "intervene", "halt")
MOST = 3  # corrections for one message of the user
EXPIRES = 8  # actions after which an undelivered correction is stale
_FORCES = 3  # escalation
_MOST_ESCALATION = 5
_FALLS, _RISES = 0.35, 0.1  # how far one action draws the score of the course to its own


class Pending(NamedTuple):
    """A correction that waits for a place to be given."""

    action: str
    level: str
    age: int = 0


class Course(NamedTuple):
    """`given` counts the corrections since the user spoke."""

    state: str = NORMAL
    escalation: int = 0
    score: float = 10.0
    pending: tuple[Pending, ...] = ()
    given: int = 0


class Judged(NamedTuple):
    """An action got its verdict.

    `soft` verdicts rest on words alone: they are told, and never escalate. `changes` says that the
    action does more than read; `returns` that it is the way back: the goal was read again, or
    worked on.
    """

    action: str
    score: int
    soft: bool = False
    changes: bool = True
    returns: bool = False


class Spoke(NamedTuple):
    """The user sent a message."""


class Due(NamedTuple):
    """Text can be given to the agent here: about these actions, or about all."""

    actions: tuple[str, ...] | None = None


class Deliver(NamedTuple):
    """Give the agent the correction of this action, on this level."""

    action: str
    level: str


class Force(NamedTuple):
    """From here on only the way back is let through."""

    action: str


class Release(NamedTuple):
    """The way back was taken, or the user spoke."""


Event: TypeAlias = "Judged | Spoke | Due"
Command: TypeAlias = "Deliver | Force | Release"


def level(score: int, escalation: int = 0, *, soft: bool = False) -> str:
    """The level of a correction: by its score, one higher for each drift before it."""
    if score >= 8:
        return "none"
    base = 1 if score == 7 else 2 if score >= 5 else 3 if score >= 3 else 4
    if soft or base == 1:
        return LEVELS[base]
    return LEVELS[min(base + escalation, 4)]


def step(course: Course, event: Event) -> tuple[Course, tuple[Command, ...]]:
    """The course after an event, and what is to be done."""
    if isinstance(event, Judged):
        return _judged(course, event)
    if isinstance(event, Spoke):
        released: tuple[Command, ...] = (Release(),) if course.state == FORCED else ()
        return Course(score=course.score), released
    asked = event.actions
    now = [each for each in course.pending if asked is None or each.action in asked]
    left = tuple(each for each in course.pending if each not in now)
    return course._replace(pending=left), tuple(Deliver(each.action, each.level) for each in now)


def _judged(course: Course, event: Judged) -> tuple[Course, tuple[Command, ...]]:
    pending = course.pending and tuple(
        each._replace(age=each.age + 1) for each in course.pending if each.age + 1 < EXPIRES
    )
    given = course.given
    if event.score < 8 and given < MOST:
        said = level(event.score, course.escalation, soft=event.soft)
        pending = (*pending, Pending(event.action, said))
        given += 1
    score = course.score
    if event.changes or event.score < 8:
        pull = _FALLS if event.score < score else _RISES
        score = round(score + pull * (event.score - score), 3)
    state, commands = _next(course, event)
    if state == NORMAL and course.state == FORCED:
        escalation = 0
    else:
        escalation = _escalation(course.escalation, event)
    return Course(state, escalation, score, pending, given), commands


def _next(course: Course, event: Judged) -> tuple[str, tuple[Command, ...]]:
    if course.state == FORCED:
        return (NORMAL, (Release(),)) if event.returns and event.score >= 8 else (FORCED, ())
    if event.score >= 5:
        return (NORMAL if event.changes else course.state), ()
    if course.state == DRIFTED and _escalation(course.escalation, event) >= _FORCES:
        return FORCED, (Force(event.action),)
    return DRIFTED, ()


def _escalation(before: int, event: Judged) -> int:
    if event.score >= 8:
        return max(0, before - 1) if event.changes or event.returns else before
    if event.soft or event.score == 7:
        return before
    return min(before + 1, _MOST_ESCALATION)


def data(course: Course) -> dict[str, Any]:
    """The course as JSON values."""
    return {**course._asdict(), "pending": [list(each) for each in course.pending]}


def parse(stored: Mapping[str, Any]) -> Course:
    """The course that `data` was made of. Raises ValueError for anything else."""
    try:
        state, escalation = str(stored["state"]), int(stored["escalation"])
        score, given = float(stored["score"]), int(stored["given"])
        pending = tuple(
            Pending(str(action), str(said), int(age)) for action, said, age in stored["pending"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("not the course of a session") from error
    if state not in (NORMAL, DRIFTED, FORCED) or any(each.level not in LEVELS for each in pending):
        raise ValueError("not the course of a session")
    return Course(state, escalation, score, pending, given)
