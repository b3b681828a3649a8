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

from kedge.drift.report import account
from kedge.drift.report.account import Account
from kedge.drift.scoring import Penalty
from kedge.store import sessions

KEY = "sk-ant-api03-" + "x1Y2z3W4" * 6


@pytest.fixture
def record(repo: Path) -> Iterator[Recorded]:
    with closing(Recorded(repo)) as made:
        yield made


def load_account(record: Recorded, name: str = FIRST, since: str = "2026-01-01") -> Account:
    row = sessions.get(record.db, name)
    assert row is not None
    return account.build_account(
        account.build_status(row, since),
        row,
        sessions.charters(record.db, name),
        sessions.steps(record.db, name),
        sessions.events(record.db, name),
    )


def test_an_event_has_evidence_correction_and_recovery(record: Recorded) -> None:
    at = record.add_drift()
    found = load_account(record)
    (event,) = found.events
    assert (event.position, event.score, event.level) == (at, 3, "intervene")
    assert (event.before, event.after) == ("NORMAL", "DRIFTED")
    assert event.evidence == (Penalty("limit", EVIDENCE, 7),)
    assert (event.decision, event.correction) == ("ask", TOLD)
    assert event.what == "edit src/grammar.py"
    assert event.recovered == f"at step {at + 1}"


def test_reading_is_no_recovery(record: Recorded) -> None:
    at = record.add_drift()
    record.step("src/grammar.py", score=2)
    record.step(action_type="read", changes=False)
    assert [each.recovered for each in load_account(record).events] == [f"at step {at + 1}", ""]


def test_a_message_ends_drift(record: Recorded) -> None:
    record.session()
    record.step("src/grammar.py", score=2)
    record.add_message("Go on, the grammar may be changed.")
    record.step("src/grammar.py")
    assert [each.recovered for each in load_account(record).events] == ["the user spoke"]


def test_a_session_that_is_silent_for_a_day_is_abandoned(record: Recorded) -> None:
    record.add_drift()
    row: Any = sessions.get(record.db, FIRST)
    heard = row["checked_at"]
    assert account.build_status(row, account.day_before(heard)).status == "active"
    later = heard.replace("-31T", "-32T")
    assert account.build_status(row, later).status == "abandoned"
    record.end()
    assert account.build_status(sessions.get(record.db, FIRST) or {}, later).status == "completed"


def test_limits_are_shown_with_their_words_until_lifted(record: Recorded) -> None:
    record.add_drift()
    assert load_account(record).limits == (account.LimitInForce("no_touch", QUOTE, 1),)
    record.add_message(
        "And push nothing.", forbids=[("no_touch", QUOTE), ("no_push", "push nothing")]
    )
    assert [each.revision for each in load_account(record).limits] == [1, 2]
    record.add_message("The grammar is free.", forbids=[("no_push", "push nothing")])
    found = load_account(record)
    assert [each.quote for each in found.limits] == ["push nothing"]
    assert [each.revision for each in found.revisions] == [1, 2, 3]
    assert found.revisions[0].said == GOAL


def test_limits_of_a_task_apply_without_a_message(record: Recorded) -> None:
    record.session(task="k-1", limits=["out of scope: docs/"])
    assert load_account(record).limits == (account.LimitInForce("", "out of scope: docs/", None),)


def test_reasons_for_review(record: Recorded) -> None:
    record.add_drift()
    live = load_account(record).session
    assert live.needs_review
    assert live.why == (f"limit: {EVIDENCE}",)
    record.end()
    assert load_account(record).session.why == live.why


def test_files_and_decisions_come_from_steps_that_were_done(record: Recorded) -> None:
    at = record.add_drift()
    record.step("src/strayed.py", score=7, is_key_decision=True)
    record.step("src/denied.py", score=2, decision="deny", ok=None, is_key_decision=True)
    record.step("src/asked.py", score=3, decision="ask", ok=None)
    found = load_account(record)
    assert found.files == ["src/grammar.py", "src/lexer.py", "src/strayed.py"]
    assert [each.position for each in found.decisions] == [at + 1]
    assert [each.result for each in found.steps[-3:]] == [
        *("done", "denied", "asked about, not done")
    ]


def test_secrets_are_redacted_everywhere(record: Recorded) -> None:
    record.session(task=KEY)
    record.add_message(f"use {KEY}", forbids=[("no_touch", KEY)])
    recalled = {"session": FIRST, "id": "t", "position": 1, "action_type": "shell", "files": [],
                "command": KEY, "why": KEY}  # fmt: skip
    record.step(
        KEY, score=2, command=f"curl -H {KEY}", reasoning=KEY, rules=[["topic", KEY, 3]],
        correction_given=KEY, recalled=[recalled], tool=KEY, subagent=KEY,
    )  # fmt: skip
    record.end()
    shown = repr(account.data(load_account(record)))
    assert KEY not in shown
    assert shown.count("[redacted:anthropic-key]") >= 10


@given(st.sets(st.text("ab", min_size=1, max_size=20), min_size=1, max_size=30))
def test_a_short_id_is_unique(ids: set[str]) -> None:
    short = account.shorten_ids(ids)
    assert set(short) == ids
    for name, beginning in short.items():
        assert name.startswith(beginning)
        meant = [beginning] if beginning in ids else [n for n in ids if n.startswith(beginning)]
        assert meant == [name]
        assert len(beginning) >= min(8, len(name))


def test_the_day_before_a_timestamp() -> None:
    for at, before in (
        ("2026-03-01T00:00:00.000001Z", "2026-02-28T00:00:00.000001Z"),
        ("2024-03-01T23:59:59.999999Z", "2024-02-29T23:59:59.999999Z"),
        ("2026-01-01T12:00:00.000000Z", "2025-12-31T12:00:00.000000Z"),
    ):
        assert account.day_before(at) == before
