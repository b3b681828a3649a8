"""What a session is for: goals and their history, constraints over time, what is named."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.drift.charter import MOST_PROMPTS, Charter, bound, names, opened, parse, revised
from kedge.model.ids import TaskId
from kedge.model.task import Task


def session(*texts: str) -> Charter:
    charter = Charter()
    for text in texts:
        charter = revised(charter, text)
    return charter


def kinds(charter: Charter) -> list[str]:
    return [each.kind for each in charter.constraints]


def test_the_first_message_is_the_goal() -> None:
    charter = opened("Add retries to `HttpClient` in src/net/client.py")
    assert charter.goal == "Add retries to `HttpClient` in src/net/client.py"
    assert charter.revision == 1
    assert charter.named == ("HttpClient", "src/net/client.py")
    assert dict(charter.words)["retries"] == 1
    assert charter.specific


@pytest.mark.parametrize("text", ["yes", "ok continue", "push", "/compact", "why is that?"])
def test_what_only_goes_on_keeps_the_goal(text: str) -> None:
    charter = session("Add retries to src/net/client.py", text)
    assert charter.goal == "Add retries to src/net/client.py"
    assert charter.revision == 2
    assert charter.prompts[-1] == text


def test_a_question_with_a_subject_of_its_own_is_the_goal() -> None:
    charter = session("Add retries to the uploader", "how does `Cache.flush` handle timeouts?")
    assert charter.goal == "how does `Cache.flush` handle timeouts?"


def test_machine_text_is_no_revision() -> None:
    charter = opened("Add retries")
    assert revised(charter, "<system-reminder>stop</system-reminder>") == charter
    assert revised(charter, "[Request interrupted by user]") == charter


def test_the_latest_goal_counts_and_the_first_stays_as_history() -> None:
    charter = session("Add retries to the uploader", "Rename the billing exporter to invoices")
    assert charter.goal == "Rename the billing exporter to invoices"
    assert charter.prompts[0] == "Add retries to the uploader"
    words = dict(charter.words)
    assert words["billing"] == 1
    assert 0 < words["uploader"] < 1


def test_a_goal_that_says_little_is_not_judged_by() -> None:
    assert not opened("fix it").specific
    assert not opened("yes").specific
    assert opened("fix the crash in a.py").specific


def test_constraints_outlive_the_request_unless_they_were_for_it() -> None:
    other = "Next: the checkout returns 500 for empty carts, fix that"
    assert kinds(session("Don't touch package.json. Upgrade the parser.", other)) == ["no_touch"]
    assert kinds(session("Only edit src/ui/Card.tsx: rounder corners.", other)) == []
    assert kinds(session("Only edit src/ui/Card.tsx: rounder corners.", "also the shadow")) == [
        "only_under"
    ]
    assert kinds(session("Never edit anything but src/ui/Card.tsx.", other)) == ["only_under"]


def test_constraints_are_lifted() -> None:
    charter = session("Fix the cart. Don't touch the tests and don't commit.", "continue")
    assert kinds(charter) == ["no_touch", "no_commit"]
    assert kinds(revised(charter, "You may change the tests now.")) == ["no_commit"]
    assert kinds(session("Make a plan, no code yet", "sounds good, go ahead")) == []


def test_a_task_binds() -> None:
    task = Task(
        TaskId("T-1"),
        "Add retries",
        description="The uploader gives up too early. No new dependencies.",
        acceptance=("three attempts",),
        scope_in=("src/net",),
        scope_out=("src/ui", "docs/*.md"),
    )
    charter = bound(task)
    assert charter.task == "T-1"
    assert charter.scope == ("/src/net",)
    assert kinds(charter) == ["no_new_dependencies", "no_touch"]
    assert charter.constraints[1].subject == ("/src/ui", "/docs/*.md")
    assert {"retries", "uploader", "attempts"} <= dict(charter.words).keys()
    assert "src/net" in charter.named
    assert kinds(revised(charter, "you can edit src/ui")) == ["no_new_dependencies", "no_touch"]
    assert bound(SimpleNamespace(title="x")).task is None


def test_names() -> None:
    text = "rename `parse_url` and fooBar() in src/a.py, see README.md; not e.g. this or 1.5"
    assert names(text) == ("parse_url", "fooBar", "src/a.py", "README.md")


def test_history_is_bounded() -> None:
    charter = session(*(f"Add feature number {number} to module{number}" for number in range(80)))
    assert len(charter.prompts) == MOST_PROMPTS
    assert charter.prompts[0] == "Add feature number 0 to module0"
    assert charter.prompts[-1] == "Add feature number 79 to module79"
    assert charter.revision == 80


@given(st.lists(st.text() | st.sampled_from(["yes", "don't commit", "Fix a.py", "commit"])))
def test_any_session_is_kept_as_plain_values(texts: list[str]) -> None:
    charter = session(*texts)
    assert parse(json.loads(json.dumps(charter.data()))) == charter


def test_what_is_no_charter_is_refused() -> None:
    good = opened("Fix a.py. Don't commit.").data()
    for wrong in (
        {},
        {**good, "revision": "1"},
        {**good, "constraints": [{}]},
        {**good, "goal": None},
    ):
        with pytest.raises(ValueError, match="not a"):
            parse(wrong)
