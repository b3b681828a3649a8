"""The course of a session: what moves it, what escalates, and what is told once."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.drift.course import (
    DRIFTED,
    FORCED,
    NORMAL,
    Course,
    Deliver,
    Due,
    Event,
    Force,
    Judged,
    Release,
    Spoke,
    data,
    level,
    parse,
    step,
)

judged = st.builds(
    Judged,
    action=st.uuids().map(str),
    score=st.integers(1, 10),
    soft=st.booleans(),
    changes=st.booleans(),
    returns=st.booleans(),
)
events = st.lists(st.one_of(judged, judged, judged, st.just(Spoke()), st.just(Due())), max_size=60)


def run(*given: Event) -> Course:
    course = Course()
    for event in given:
        course, _ = step(course, event)
    return course


def bad(score: int = 3, action: str = "a") -> Judged:
    return Judged(action, score)


@pytest.mark.parametrize(
    ("before", "event", "after"),
    [
        ((), bad(5), NORMAL),
        ((), bad(4), DRIFTED),
        ((bad(4),), Judged("b", 5), NORMAL),
        ((bad(4),), Judged("b", 10, changes=False), DRIFTED),
        ((bad(4),), bad(3), DRIFTED),
        ((bad(4), bad(3)), bad(3), FORCED),
        ((bad(), bad(), bad()), Judged("b", 10), FORCED),
        ((bad(), bad(), bad()), Judged("b", 10, changes=False, returns=True), NORMAL),
        ((bad(), bad(), bad()), Spoke(), NORMAL),
        ((bad(4),), Spoke(), NORMAL),
    ],
)
def test_edges(before: tuple[Event, ...], event: Event, after: str) -> None:
    course = run(*before)
    assert step(course, event)[0].state == after


def test_entering_and_leaving_forced_is_told() -> None:
    course = run(bad(), bad())
    course, commands = step(course, bad(action="third"))
    assert commands == (Force("third"),)
    assert step(course, Spoke())[1] == (Release(),)
    assert step(course, Judged("back", 9, returns=True))[1] == (Release(),)


def test_escalation_raises_the_level_of_the_next_drift() -> None:
    course = run(Judged("first", 6), Judged("second", 5), Judged("third", 4))
    assert [each.level for each in course.pending] == ["correct", "intervene", "halt"]


def test_words_alone_never_escalate() -> None:
    course = run(*(Judged(f"{n}", 6, soft=True) for n in range(10)))
    assert (course.state, course.escalation) == (NORMAL, 0)
    assert {each.level for each in course.pending} == {"correct"}


def test_a_nudge_stays_one() -> None:
    assert level(7, 5) == "nudge"


@given(st.integers(8, 10), st.integers(0, 9), st.booleans())
def test_eight_or_more_has_no_level(score: int, escalation: int, soft: bool) -> None:
    assert level(score, escalation, soft=soft) == "none"


@given(events)
def test_eight_or_more_is_never_corrected(given_: list[Event]) -> None:
    scores: dict[str, int] = {}
    course = Course()
    for event in [*given_, Due()]:
        if isinstance(event, Judged):
            scores[event.action] = event.score
        course, commands = step(course, event)
        for command in commands:
            if isinstance(command, Deliver):
                assert scores[command.action] < 8
                assert command.level != "none"


@given(events)
def test_a_correction_is_delivered_at_most_once(given_: list[Event]) -> None:
    delivered = []
    course = Course()
    for event in [*given_, Due(), Due()]:
        course, commands = step(course, event)
        delivered += [each.action for each in commands if isinstance(each, Deliver)]
    assert len(delivered) == len(set(delivered))


@given(events)
def test_no_more_than_a_few_corrections_for_one_message(given_: list[Event]) -> None:
    course, count = Course(), 0
    for event in given_:
        if isinstance(event, Spoke):
            count = 0
        course, commands = step(course, event)
        count += sum(isinstance(each, Deliver) for each in commands)
        assert count <= 3


@given(events, events)
def test_the_user_always_ends_forced(before: list[Event], after: list[Event]) -> None:
    course = run(*before, Spoke())
    assert course.state == NORMAL
    assert course.pending == ()
    assert course.given == course.escalation == 0
    seen = 0
    for event in after:
        seen = 0 if isinstance(event, Spoke) else seen + isinstance(event, Judged)
        course, _ = step(course, event)
        assert course.state != FORCED or seen >= 3


@given(events, judged)
def test_escalation_falls_on_recovery(before: list[Event], event: Judged) -> None:
    course = run(*before)
    good = event._replace(score=max(event.score, 8), changes=True)
    assert step(course, good)[0].escalation <= max(0, course.escalation - 1)


@given(events)
def test_what_only_reads_changes_nothing_but_the_way_back(given_: list[Event]) -> None:
    course = run(*given_)
    after, _ = step(course, Judged("look", 10, changes=False))
    assert (after.state, after.escalation, after.score) == (
        course.state, course.escalation, course.score,
    )  # fmt: skip


def test_a_correction_gets_stale() -> None:
    course = run(bad(6, "old"), *(Judged(f"{n}", 10) for n in range(8)))
    assert step(course, Due())[1] == ()
    course = run(bad(6, "young"), *(Judged(f"{n}", 10) for n in range(7)))
    assert step(course, Due())[1] == (Deliver("young", "correct"),)


@given(events)
def test_every_edge_is_one_of_the_picture(given_: list[Event]) -> None:
    course = Course()
    for event in given_:
        before = course.state
        course, _ = step(course, event)
        assert (before, course.state) in {
            (NORMAL, NORMAL), (NORMAL, DRIFTED), (DRIFTED, NORMAL), (DRIFTED, DRIFTED),
            (DRIFTED, FORCED), (FORCED, FORCED), (FORCED, NORMAL),
        }  # fmt: skip
        assert 1 <= course.score <= 10


@given(events)
def test_a_course_can_be_kept_as_json(given_: list[Event]) -> None:
    course = run(*given_)
    assert parse(json.loads(json.dumps(data(course)))) == course


@pytest.mark.parametrize("stored", [{}, {"state": "LOST"}, {**data(Course()), "pending": [1]}])
def test_other_data_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="course"):
        parse(stored)
