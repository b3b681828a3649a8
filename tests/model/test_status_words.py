"""The words for a status."""

from __future__ import annotations

import pytest

from kedge.model.status_words import is_synonym, status_of
from kedge.model.task import Status


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("open", Status.OPEN),
        ("To Do", Status.OPEN),
        ("backlog", Status.OPEN),
        ("in-progress", Status.IN_PROGRESS),
        ("In  Review", Status.IN_PROGRESS),
        ("wip", Status.IN_PROGRESS),
        ("on hold", Status.BLOCKED),
        ("deferred", Status.BLOCKED),
        ("cancelled", Status.FAILED),
        ("canceled", Status.FAILED),
        ("wontfix", Status.FAILED),
        (" Done ", Status.DONE),
        ("merged", Status.DONE),
        ("finally", None),
        ("", None),
    ],
)
def test_a_word_is_read_as_its_status(word: str, status: Status | None) -> None:
    assert status_of(word) is status


def test_every_status_is_a_word_for_itself() -> None:
    for status in Status:
        assert status_of(status.value) is status
        assert is_synonym(status.value)


@pytest.mark.parametrize(
    ("word", "plain"),
    [("To-Do", True), ("closed", True), ("review", False), ("cancelled", False), ("x", False)],
)
def test_a_word_that_says_more_than_its_status_is_not_written(word: str, plain: bool) -> None:
    assert is_synonym(word) is plain
