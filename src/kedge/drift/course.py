"""The course of a session: a pure state machine that takes events and returns what to deliver.

    NORMAL ── score below 5 ──► DRIFTED ── escalation 3 ──► FORCED
      ▲                           │                           │
      └─ 5 or more, on the way back ─┘                        │
      └──── the forced action is done, or the user speaks ────┘

The way back is the session's recovery plan: its files, and the commands that read the goal again. A
step that breaks no rule elsewhere does not bring a session back. What FORCED waits for is named in
its correction: the plan's command, or work of 9 or more on the plan's files.

Changes against the declared scope or a limit that each score 5 or 6 are drift from the third in a
row on, although one of them is not.

A correction is queued when an action is judged, delivered once when text can next be given to the
agent, dropped when it is too old, and forgotten when the user speaks. A score of 8 or more is never
corrected. An action that only reads is neither drift nor recovery.
"""

from __future__ import annotations

from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal, TypeAlias

    Level: TypeAlias = Literal["none", "nudge", "correct", "intervene", "halt"]
    Event: TypeAlias = "ActionJudged | UserSpoke | DeliveryDue"

NORMAL, DRIFTED, FORCED = "NORMAL", "DRIFTED", "FORCED"
LEVELS: tuple[Level, ...] = ("none", "nudge", "correct", "intervene", "halt")
ON_COURSE = 8  # lowest score of a step that did not stray
MOST_CORRECTIONS = 3  # per message of the user
EXPIRES = 8  # actions after which an undelivered correction is dropped
_FORCED_AT = 3  # escalation
_RUN = 3  # declared breaches in a row that are drift
_BREACH = 6  # highest score of a step in such a run
_MOST_ESCALATION = 5
_FALL, _RISE = 0.35, 0.1  # how far one action pulls the course's score towards its own


class PendingCorrection(NamedTuple):
    """A correction that waits to be delivered; `age` counts the actions since."""

    action: str
    level: str
    age: int = 0


class Course(NamedTuple):
    """`given` counts the corrections since the user last spoke, `run` the changes in a row that
    broke a declared scope or limit."""

    state: str = NORMAL
    escalation: int = 0
    score: float = 10.0
    pending: tuple[PendingCorrection, ...] = ()
    given: int = 0
    run: int = 0


class ActionJudged(NamedTuple):
    """An action got its verdict.

    A `soft` verdict rests on words alone: it is corrected, but never escalates. `changes` is true
    if the action does more than read; `returns` if it takes up the goal again, by reading it or by
    working on it; `declared` if the verdict rests on the declared scope or a limit; `recovers` if
    it keeps to the recovery plan, or there is none.
    """

    action: str
    score: int
    soft: bool = False
    changes: bool = True
    returns: bool = False
    declared: bool = False
    recovers: bool = True


class UserSpoke(NamedTuple):
    """The user sent a message."""


class DeliveryDue(NamedTuple):
    """Text can be given to the agent now: about these actions, or about any."""

    actions: tuple[str, ...] | None = None


class Deliver(NamedTuple):
    """A command: give the agent the correction of this action, at this level."""

    action: str
    level: str


def choose_level(score: int, escalation: int = 0, *, soft: bool = False) -> Level:
    """Return the level for a score, raised by one for each drift before it."""
    if score >= 8:
        return "none"
    base = 1 if score == 7 else 2 if score >= 5 else 3 if score >= 3 else 4
    if soft or base == 1:
        return LEVELS[base]
    return LEVELS[min(base + escalation, 4)]


def step(course: Course, event: Event) -> tuple[Course, tuple[Deliver, ...]]:
    """Return the course after an event, and the corrections to deliver."""
    if isinstance(event, ActionJudged):
        return _judge_action(course, event), ()
    if isinstance(event, UserSpoke):
        return Course(score=course.score), ()
    wanted = event.actions
    due = [each for each in course.pending if wanted is None or each.action in wanted]
    left = tuple(each for each in course.pending if each not in due)
    return course._replace(pending=left), tuple(Deliver(each.action, each.level) for each in due)


def _judge_action(course: Course, event: ActionJudged) -> Course:
    pending = course.pending and tuple(
        each._replace(age=each.age + 1) for each in course.pending if each.age + 1 < EXPIRES
    )
    given = course.given
    if event.score < 8 and given < MOST_CORRECTIONS:
        level = choose_level(event.score, course.escalation, soft=event.soft)
        pending = (*pending, PendingCorrection(event.action, level))
        given += 1
    score = course.score
    if event.changes or event.score < 8:
        pull = _FALL if event.score < score else _RISE
        score = round(score + pull * (event.score - score), 3)
    run = _count_run(course, event)
    state = _choose_state(course, event, run)
    if state == NORMAL and course.state == FORCED:
        escalation = 0
    else:
        escalation = _escalate(course.escalation, event)
    return Course(state, escalation, score, pending, given, run)


def _count_run(course: Course, event: ActionJudged) -> int:
    """Return how many changes in a row broke what was declared; reading does not end the run."""
    if not event.changes:
        return course.run
    return course.run + 1 if event.declared and event.score <= _BREACH else 0


def _choose_state(course: Course, event: ActionJudged, run: int) -> str:
    if course.state == FORCED:
        return NORMAL if event.returns and event.score >= 8 else FORCED
    if event.score >= 5 and not (event.changes and run >= _RUN):
        back = event.returns or (event.changes and event.recovers)
        return NORMAL if back else course.state
    if course.state == DRIFTED and _escalate(course.escalation, event) >= _FORCED_AT:
        return FORCED
    return DRIFTED


def _escalate(before: int, event: ActionJudged) -> int:
    """Return the escalation after an action: higher after drift, lower after recovery."""
    if event.score >= 8:
        return max(0, before - 1) if event.changes or event.returns else before
    if event.soft or event.score == 7:
        return before
    return min(before + 1, _MOST_ESCALATION)


def data(course: Course) -> dict[str, Any]:
    """Return the course as JSON values."""
    return {**course._asdict(), "pending": [list(each) for each in course.pending]}


def parse(stored: Mapping[str, Any]) -> Course:
    """Read a course from the output of `data`. Raise ValueError if it is not one."""
    try:
        state, escalation = str(stored["state"]), int(stored["escalation"])
        score, given = float(stored["score"]), int(stored["given"])
        run = int(stored.get("run", 0))
        pending = tuple(
            PendingCorrection(str(action), str(level), int(age))
            for action, level, age in stored["pending"]
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError("not the course of a session") from error
    if state not in (NORMAL, DRIFTED, FORCED) or any(each.level not in LEVELS for each in pending):
        raise ValueError("not the course of a session")
    return Course(state, escalation, score, pending, given, run)
