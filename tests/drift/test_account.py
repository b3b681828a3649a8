"""What the record of a session comes to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from drift.recorded import EVIDENCE, FIRST, GOAL, QUOTE, TOLD, Recorded
from hypothesis import given
from hypothesis import strategies as st

from kedge.drift import account
from kedge.drift.account import Account
from kedge.store import sessions

KEY = "sk-ant-api03-" + "x1Y2z3W4" * 6


@pytest.fixture
def record(repo: Path) -> Iterator[Recorded]:
    with closing(Recorded(repo)) as made:
        yield made


def told(record: Recorded, name: str = FIRST, since: str = "2026-01-01") -> Account:
    row = sessions.get(record.db, name)
    assert row is not None
    return account.account(
        account.standing(row, since),
        row,
        sessions.charters(record.db, name),
        sessions.steps(record.db, name),
        sessions.events(record.db, name),
    )


def test_a_straying_has_its_evidence_what_was_told_and_the_way_back(record: Recorded) -> None:
    at = record.strayed()
    found = told(record)
    (event,) = found.events
    assert (event.position, event.score, event.level) == (at, 3, "intervene")
    assert (event.before, event.after) == ("NORMAL", "DRIFTED")
    assert event.evidence == (account.Rule("constraint", EVIDENCE, 7),)
    assert (event.decision, event.correction) == ("ask", TOLD)
    assert event.what == "edit src/grammar.py"
    assert event.recovered == f"at step {at + 1}"


def test_what_only_reads_is_no_way_back(record: Recorded) -> None:
    at = record.strayed()
    record.step("src/grammar.py", score=2)
    record.step(action_type="read", changes=False)
    assert [each.recovered for each in told(record).events] == [f"at step {at + 1}", ""]


def test_the_user_ends_a_straying(record: Recorded) -> None:
    record.session()
    record.step("src/grammar.py", score=2)
    record.said("Go on, the grammar may be changed.")
    record.step("src/grammar.py")
    assert [each.recovered for each in told(record).events] == ["the user spoke"]


def test_a_session_that_is_silent_for_a_day_is_abandoned(record: Recorded) -> None:
    record.strayed()
    row: Any = sessions.get(record.db, FIRST)
    heard = row["checked_at"]
    assert account.standing(row, account.day_before(heard)).status == "active"
    later = heard.replace("-31T", "-32T")
    assert account.standing(row, later).status == "abandoned"
    record.end()
    assert account.standing(sessions.get(record.db, FIRST) or {}, later).status == "completed"


def test_constraints_come_with_their_words_until_they_are_lifted(record: Recorded) -> None:
    record.strayed()
    assert told(record).constraints == (account.Constraint("no_touch", QUOTE, 1),)
    record.said("And push nothing.", forbids=[("no_touch", QUOTE), ("no_push", "push nothing")])
    assert [each.revision for each in told(record).constraints] == [1, 2]
    record.said("The grammar is free.", forbids=[("no_push", "push nothing")])
    found = told(record)
    assert [each.quote for each in found.constraints] == ["push nothing"]
    assert [each.revision for each in found.revisions] == [1, 2, 3]
    assert found.revisions[0].said == GOAL


def test_a_task_forbids_without_a_message(record: Recorded) -> None:
    record.session(task="k-1", constraints=["out of scope: docs/"])
    assert told(record).constraints == (account.Constraint("", "out of scope: docs/", None),)


def test_why_a_session_needs_a_look(record: Recorded) -> None:
    record.strayed()
    live = told(record).session
    assert live.needs_review
    assert live.why == (f"constraint: {EVIDENCE}",)
    record.end()
    assert told(record).session.why == live.why


def test_files_and_decisions_are_those_of_steps_that_were_done(record: Recorded) -> None:
    at = record.strayed()
    record.step("src/denied.py", score=2, decision="deny", ok=None, is_key_decision=True)
    found = told(record)
    assert found.files == ["src/grammar.py", "src/lexer.py"]
    assert [each.position for each in found.decisions] == [at + 1]
    assert [each.result for each in found.steps[-2:]] == ["done", "denied"]


def test_secrets_are_redacted_wherever_they_stand(record: Recorded) -> None:
    record.session(task=KEY)
    record.said(f"use {KEY}", forbids=[("no_touch", KEY)])
    recalled = {"session": FIRST, "id": "t", "position": 1, "action_type": "shell", "files": [],
                "command": KEY, "why": KEY}  # fmt: skip
    record.step(
        KEY, score=2, command=f"curl -H {KEY}", reasoning=KEY, rules=[["topic", KEY, 3]],
        correction_given=KEY, recalled=[recalled], tool=KEY, subagent=KEY,
    )  # fmt: skip
    record.end()
    shown = repr(account.data(told(record)))
    assert KEY not in shown
    assert shown.count("[redacted:anthropic-key]") >= 10


@given(st.sets(st.text("ab", min_size=1, max_size=20), min_size=1, max_size=30))
def test_a_short_id_is_of_one_session(ids: set[str]) -> None:
    short = account.shortened(ids)
    assert set(short) == ids
    for name, beginning in short.items():
        assert name.startswith(beginning)
        meant = [beginning] if beginning in ids else [n for n in ids if n.startswith(beginning)]
        assert meant == [name]
        assert len(beginning) >= min(8, len(name))


def test_a_day_before() -> None:
    for at, before in (
        ("2026-03-01T00:00:00.000001Z", "2026-02-28T00:00:00.000001Z"),
        ("2024-03-01T23:59:59.999999Z", "2024-02-29T23:59:59.999999Z"),
        ("2026-01-01T12:00:00.000000Z", "2025-12-31T12:00:00.000000Z"),
    ):
        assert account.day_before(at) == before
