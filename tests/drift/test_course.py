"""The course of a session: what moves it, what escalates, and what is delivered once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.drift.course import (
    DRIFTED,
    FORCED,
    NORMAL,
    ActionJudged,
    Course,
    Deliver,
    DeliveryDue,
    UserSpoke,
    choose_level,
    data,
    parse,
    step,
)
from kedge.host.record import NamedTuple

Event = ActionJudged | UserSpoke | DeliveryDue

judged = st.builds(
    ActionJudged,
    action=st.uuids().map(str),
    score=st.integers(1, 10),
    soft=st.booleans(),
    changes=st.booleans(),
    returns=st.booleans(),
    declared=st.booleans(),
)
events = st.lists(
    st.one_of(judged, judged, judged, st.just(UserSpoke()), st.just(DeliveryDue())), max_size=60
)


def run(*events: Event) -> Course:
    course = Course()
    for event in events:
        course, _ = step(course, event)
    return course


def bad(score: int = 3, action: str = "a") -> ActionJudged:
    return ActionJudged(action, score)


def breach(score: int = 5, action: str = "a") -> ActionJudged:
    return ActionJudged(action, score, declared=True)


def good(score: int = 10, action: str = "a") -> ActionJudged:
    return ActionJudged(action, score)


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        ((), bad(5), NORMAL),
        ((), bad(4), DRIFTED),
        ((bad(4),), bad(5), NORMAL),
        ((bad(4),), ActionJudged("b", 10, changes=False), DRIFTED),
        ((bad(4),), bad(3), DRIFTED),
        ((bad(6), bad(6)), bad(4), DRIFTED),
        ((bad(4), bad(3)), bad(3), FORCED),
        ((bad(4), bad(3)), ActionJudged("b", 3, soft=True), DRIFTED),
        ((bad(), bad(), bad()), good(), FORCED),
        ((bad(), bad(), bad()), ActionJudged("b", 7, returns=True), FORCED),
        ((bad(), bad(), bad()), ActionJudged("b", 8, changes=False, returns=True), NORMAL),
        ((bad(), bad(), bad()), UserSpoke(), NORMAL),
        ((bad(4),), UserSpoke(), NORMAL),
        ((bad(4),), DeliveryDue(), DRIFTED),
        ((breach(),), breach(), NORMAL),
        ((breach(), breach(6)), breach(), DRIFTED),
        ((breach(), breach()), bad(5), NORMAL),
        ((breach(), breach()), breach(7), NORMAL),
        ((breach(), good(), breach()), breach(), NORMAL),
        ((breach(), breach(), UserSpoke()), breach(), NORMAL),
        ((breach(), ActionJudged("b", 10, changes=False), breach()), breach(), DRIFTED),
        ((breach(), breach()), ActionJudged("b", 6, changes=False, declared=True), NORMAL),
        ((breach(), breach(), breach()), breach(), FORCED),
        ((breach(), breach(), breach()), good(8), NORMAL),
        ((breach(), breach(), breach()), bad(5), NORMAL),
    ],
)
def test_transitions(before: tuple[Event, ...], event: Event, after: str) -> None:
    course = run(*before)
    assert step(course, event)[0].state == after


def test_records_of_different_types_are_never_equal() -> None:
    class Silence(NamedTuple):
        """Another record without fields."""

    spoke: Any = UserSpoke()
    assert spoke == UserSpoke()
    assert spoke != Silence()
    assert spoke != ()
    assert Deliver("a", "nudge") != ("a", "nudge")


@pytest.mark.parametrize(
    ("score", "level"),
    [
        (10, "none"), (8, "none"), (7, "nudge"), (6, "correct"), (5, "correct"),
        (4, "intervene"), (3, "intervene"), (2, "halt"), (1, "halt"),
    ],
)  # fmt: skip
def test_level_of_a_score(score: int, level: str) -> None:
    assert choose_level(score) == level


def test_escalation_raises_the_level_of_the_next_drift() -> None:
    course = run(bad(6, "first"), bad(5, "second"), bad(4, "third"))
    assert [each.level for each in course.pending] == ["correct", "intervene", "halt"]
    assert course.escalation == 3
    assert choose_level(6, 1) == "intervene"


def test_words_alone_never_escalate() -> None:
    course = run(*(ActionJudged(f"{n}", 6, soft=True) for n in range(10)))
    assert (course.state, course.escalation) == (NORMAL, 0)
    assert {each.level for each in course.pending} == {"correct"}
    assert choose_level(6, 5, soft=True) == "correct"


def test_a_nudge_never_escalates() -> None:
    assert choose_level(7, 5) == "nudge"
    assert run(*(bad(7) for _ in range(10))).escalation == 0


def test_escalation_stops_at_five_and_falls_with_each_recovery() -> None:
    course = run(*(bad(6, f"{n}") for n in range(9)))
    assert course.escalation == 5
    fallen = []
    for _ in range(6):
        course, _commands = step(course, good(8))
        fallen.append(course.escalation)
    assert fallen == [4, 3, 2, 1, 0, 0]


def test_reading_the_goal_again_lowers_the_escalation() -> None:
    strayed = run(bad(6), bad(6))
    assert step(strayed, ActionJudged("b", 10, changes=False))[0].escalation == 2
    assert step(strayed, ActionJudged("b", 10, changes=False, returns=True))[0].escalation == 1


def test_leaving_forced_ends_the_escalation() -> None:
    forced = run(bad(), bad(), bad(), bad())
    assert (forced.state, forced.escalation) == (FORCED, 4)
    back, _ = step(forced, ActionJudged("b", 9, returns=True))
    assert (back.state, back.escalation) == (NORMAL, 0)


def test_the_score_falls_quickly_and_recovers_slowly() -> None:
    course = run(bad(3))
    assert course.score == 7.55  # 35 % of the way from 10 to 3
    course, _ = step(course, good(10))
    assert course.score == 7.795  # 10 % of the way back to 10
    course, _ = step(course, bad(7))
    assert course.score == 7.517
    course, _ = step(course, ActionJudged("look", 10, changes=False))
    assert course.score == 7.517
    course, _ = step(course, UserSpoke())
    assert course.score == 7.517


@given(st.integers(8, 10), st.integers(0, 9), st.booleans())
def test_eight_or_more_has_no_level(score: int, escalation: int, soft: bool) -> None:
    assert choose_level(score, escalation, soft=soft) == "none"


@given(events)
def test_eight_or_more_is_never_corrected(taken: list[Event]) -> None:
    scores: dict[str, int] = {}
    course = Course()
    for event in [*taken, DeliveryDue()]:
        if isinstance(event, ActionJudged):
            scores[event.action] = event.score
        course, commands = step(course, event)
        for command in commands:
            assert scores[command.action] < 8
            assert command.level != "none"


@given(events)
def test_a_correction_is_delivered_at_most_once(taken: list[Event]) -> None:
    delivered = []
    course = Course()
    for event in [*taken, DeliveryDue(), DeliveryDue()]:
        course, commands = step(course, event)
        delivered += [each.action for each in commands]
    assert len(delivered) == len(set(delivered))


def test_a_message_of_the_user_allows_three_more_corrections() -> None:
    actions = [bad(6, f"{n}") for n in range(5)]
    course = run(*actions)
    assert [each.action for each in step(course, DeliveryDue())[1]] == ["0", "1", "2"]
    course = run(*actions, UserSpoke(), *actions)
    assert [each.action for each in step(course, DeliveryDue())[1]] == ["0", "1", "2"]


def test_only_the_corrections_asked_for_are_delivered() -> None:
    course = run(bad(6, "mine"), bad(6, "theirs"))
    course, commands = step(course, DeliveryDue(("mine",)))
    assert commands == (Deliver("mine", "correct"),)
    assert step(course, DeliveryDue())[1] == (Deliver("theirs", "intervene"),)


@given(events)
def test_no_more_than_three_corrections_for_one_message(taken: list[Event]) -> None:
    course, count = Course(), 0
    for event in taken:
        if isinstance(event, UserSpoke):
            count = 0
        course, commands = step(course, event)
        count += len(commands)
        assert count <= 3


@given(events, events)
def test_the_user_always_ends_forced(before: list[Event], after: list[Event]) -> None:
    course = run(*before, UserSpoke())
    assert course.state == NORMAL
    assert course.pending == ()
    assert course.given == course.escalation == 0
    seen = 0
    for event in after:
        seen = 0 if isinstance(event, UserSpoke) else seen + isinstance(event, ActionJudged)
        course, _ = step(course, event)
        assert course.state != FORCED or seen >= 3


@given(events, judged)
def test_escalation_falls_on_recovery(before: list[Event], event: ActionJudged) -> None:
    course = run(*before)
    recovery = event._replace(score=max(event.score, 8), changes=True)
    assert step(course, recovery)[0].escalation <= max(0, course.escalation - 1)


@given(events, st.integers(8, 10))
def test_an_action_that_only_reads_leaves_the_course_as_it_is(
    taken: list[Event], score: int
) -> None:
    course = run(*taken)
    after, _ = step(course, ActionJudged("look", score, changes=False))
    assert (after.state, after.escalation, after.score) == (
        course.state, course.escalation, course.score,
    )  # fmt: skip


def test_a_correction_expires_after_eight_actions() -> None:
    course = run(bad(6, "old"), *(good(10, f"{n}") for n in range(8)))
    assert step(course, DeliveryDue())[1] == ()
    course = run(bad(6, "young"), *(good(10, f"{n}") for n in range(7)))
    assert step(course, DeliveryDue())[1] == (Deliver("young", "correct"),)


@given(events)
def test_every_transition_is_one_of_the_diagram(taken: list[Event]) -> None:
    course = Course()
    for event in taken:
        before = course.state
        course, _ = step(course, event)
        assert (before, course.state) in {
            (NORMAL, NORMAL), (NORMAL, DRIFTED), (DRIFTED, NORMAL), (DRIFTED, DRIFTED),
            (DRIFTED, FORCED), (FORCED, FORCED), (FORCED, NORMAL),
        }  # fmt: skip
        assert 1 <= course.score <= 10


@given(events)
def test_a_course_survives_json(taken: list[Event]) -> None:
    course = run(*taken)
    assert parse(json.loads(json.dumps(data(course)))) == course


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"state": "LOST"},
        {**data(Course()), "state": "LOST"},
        {**data(Course()), "pending": [1]},
        {**data(Course()), "run": "many"},
        {**data(Course()), "pending": [["a", "shout", 0]]},
    ],
)
def test_other_data_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="course"):
        parse(stored)
