"""What a session is for: goals and their history, limits over time, what is named."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.drift.charter import (
    MOST_PROMPTS,
    Charter,
    charter_for_task,
    find_names,
    open_charter,
    parse,
    revise,
)
from kedge.model.ids import TaskId
from kedge.model.task import Task


def session(*texts: str) -> Charter:
    charter = Charter()
    for text in texts:
        charter = revise(charter, text)
    return charter


def kinds(charter: Charter) -> list[str]:
    return [each.kind for each in charter.limits]


def test_the_first_message_is_the_goal() -> None:
    charter = open_charter("Add retries to `HttpClient` in src/net/client.py")
    assert charter.goal == "Add retries to `HttpClient` in src/net/client.py"
    assert charter.revision == 1
    assert charter.named == ("HttpClient", "src/net/client.py")
    assert dict(charter.words)["retries"] == 1
    assert charter.specific


@pytest.mark.parametrize("text", ["yes", "ok continue", "push", "/compact", "why is that?"])
def test_messages_without_a_goal_keep_the_goal(text: str) -> None:
    charter = session("Add retries to src/net/client.py", text)
    assert charter.goal == "Add retries to src/net/client.py"
    assert charter.revision == 2
    assert charter.prompts[-1] == text


def test_a_question_with_a_subject_of_its_own_is_the_goal() -> None:
    charter = session("Add retries to the uploader", "how does `Cache.flush` handle timeouts?")
    assert charter.goal == "how does `Cache.flush` handle timeouts?"


def test_machine_text_is_no_revision() -> None:
    charter = open_charter("Add retries")
    assert revise(charter, "<system-reminder>stop</system-reminder>") == charter
    assert revise(charter, "[Request interrupted by user]") == charter


def test_the_latest_goal_counts_and_the_first_stays_as_history() -> None:
    charter = session("Add retries to the uploader", "Rename the billing exporter to invoices")
    assert charter.goal == "Rename the billing exporter to invoices"
    assert charter.prompts[0] == "Add retries to the uploader"
    words = dict(charter.words)
    assert words["billing"] == 1
    assert 0 < words["uploader"] < 1


def test_a_vague_goal_is_not_specific() -> None:
    assert not open_charter("fix it").specific
    assert not open_charter("yes").specific
    assert open_charter("fix the crash in a.py").specific


def test_only_standing_limits_outlive_their_request() -> None:
    other = "Next: the checkout returns 500 for empty carts, fix that"
    assert kinds(session("Don't touch package.json. Upgrade the parser.", other)) == ["no_touch"]
    assert kinds(session("Only edit src/ui/Card.tsx: rounder corners.", other)) == []
    assert kinds(session("Only edit src/ui/Card.tsx: rounder corners.", "also the shadow")) == [
        "only_under"
    ]
    assert kinds(session("Never edit anything but src/ui/Card.tsx.", other)) == ["only_under"]


def test_limits_are_lifted() -> None:
    charter = session("Fix the cart. Don't touch the tests and don't commit.", "continue")
    assert kinds(charter) == ["no_touch", "no_commit"]
    assert kinds(revise(charter, "You may change the tests now.")) == ["no_commit"]
    assert kinds(session("Make a plan, no code yet", "sounds good, go ahead")) == []


def test_the_charter_of_a_task() -> None:
    task = Task(
        TaskId("T-1"),
        "Add retries",
        description="The uploader gives up too early. No new dependencies.",
        acceptance=("three attempts",),
        scope_in=("src/net",),
        scope_out=("src/ui", "docs/*.md"),
    )
    charter = charter_for_task(task)
    assert charter.task == "T-1"
    assert charter.scope == ("/src/net",)
    assert kinds(charter) == ["no_new_dependencies", "no_touch"]
    assert charter.limits[1].subject == ("/src/ui", "/docs/*.md")
    assert {"retries", "uploader", "attempts"} <= dict(charter.words).keys()
    assert "src/net" in charter.named
    assert kinds(revise(charter, "you can edit src/ui")) == ["no_new_dependencies", "no_touch"]
    assert charter_for_task(SimpleNamespace(title="x")).task is None


def test_names_in_a_text() -> None:
    text = "rename `parse_url` and fooBar() in src/a.py, see README.md; not e.g. this or 1.5"
    assert find_names(text) == ("parse_url", "fooBar", "src/a.py", "README.md")


def test_history_is_bounded() -> None:
    charter = session(*(f"Add feature number {number} to module{number}" for number in range(80)))
    assert len(charter.prompts) == MOST_PROMPTS
    assert charter.prompts[0] == "Add feature number 0 to module0"
    assert charter.prompts[-1] == "Add feature number 79 to module79"
    assert charter.revision == 80


@given(st.lists(st.text() | st.sampled_from(["yes", "don't commit", "Fix a.py", "commit"])))
def test_any_charter_survives_json(texts: list[str]) -> None:
    charter = session(*texts)
    assert parse(json.loads(json.dumps(charter.data()))) == charter


def test_other_data_is_not_a_charter() -> None:
    good = open_charter("Fix a.py. Don't commit.").data()
    for wrong in (
        {},
        {**good, "revision": "1"},
        {**good, "limits": [{}]},
        {**good, "goal": None},
    ):
        with pytest.raises(ValueError, match="not a"):
            parse(wrong)
