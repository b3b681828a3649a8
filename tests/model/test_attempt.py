"""Attempts: a ledger record comes back as it was, and a malformed one is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedge.errors import InvalidValue
from kedge.model.attempt import FREE, Attempt, Outcome, parse
from kedge.model.ids import TaskId

RECORD: dict[str, Any] = {
    "task": "T-1",
    "number": 2,
    "run": "r1",
    "role": "implementer",
    "agent": "claude",
    "started_at": "2026-01-01T00:00:00.000000Z",
    "ended_at": "2026-01-01T00:01:00.000000Z",
    "outcome": "failed-checks",
    "reason": "make test failed",
}
FULL = Attempt(
    task=TaskId("T-1"),
    number=1,
    run="r1",
    role="reviewer",
    agent="codex",
    started_at="2026-01-01",
    ended_at="2026-01-02",
    outcome=Outcome.DONE,
    reason="",
    model="m1",
    tried=("this",),
    avoid=("that", "those"),
    tokens_in=10,
    tokens_out=0,
    cost_usd=0.5,
    start_tree="a" * 40,
    end_tree="b" * 40,
    files=("src/a.py",),
    checks=({"command": "make test", "exit_code": 1},),
    drift={"score": 3},
)


def test_an_attempt_comes_back_from_its_json() -> None:
    assert parse(json.loads(json.dumps(FULL.data()))) == FULL


def test_missing_and_null_fields_have_defaults() -> None:
    optional = {"model": None, "tokens_in": None, "drift": None, "checks": None, "end_tree": None}
    attempt = parse({**RECORD, **optional})
    assert attempt == parse(RECORD)
    assert attempt.outcome is Outcome.FAILED_CHECKS
    assert (attempt.model, attempt.tried, attempt.checks) == (None, (), ())
    assert (attempt.tokens_in, attempt.cost_usd, attempt.drift) == (None, None, None)


def test_fields_of_a_later_version_are_ignored() -> None:
    assert parse({**RECORD, "mood": "good", "reason": "x"}) == parse({**RECORD, "reason": "x"})


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("task", 1, "'task' must be a string"),
        ("run", None, "'run' must be a string"),
        ("role", ["x"], "'role' must be a string"),
        ("agent", None, "'agent' must be a string"),
        ("started_at", 5, "'started_at' must be a string"),
        ("ended_at", None, "'ended_at' must be a string"),
        ("reason", None, "'reason' must be a string"),
        ("model", 1, "'model' must be a string"),
        ("start_tree", 1, "'start_tree' must be a string"),
        ("end_tree", {}, "'end_tree' must be a string"),
        ("number", "1", "'number' must be an integer"),
        ("number", True, "'number' must be an integer"),
        ("number", 1.0, "'number' must be an integer"),
        ("number", None, "'number' must be an integer"),
        ("tried", "x", "'tried' must be a list of strings"),
        ("avoid", [1], "'avoid' must be a list of strings"),
        ("files", {"a": 1}, "'files' must be a list of strings"),
        ("checks", ["make"], "'checks' must be a list of objects"),
        ("tokens_in", "9", "'tokens_in' must be a number"),
        ("tokens_out", True, "'tokens_out' must be a number"),
        ("cost_usd", [], "'cost_usd' must be a number"),
        ("drift", "bad", "'drift' must be an object"),
        ("outcome", "perfect", "'perfect' is not an outcome"),
        ("outcome", None, "None is not an outcome"),
    ],
)
def test_a_malformed_field_is_named(field: str, value: object, says: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        parse({**RECORD, field: value})
    assert caught.value.message == says


def test_outcomes_that_the_agent_did_not_cause_are_free() -> None:
    assert {"time-limit", "rate-limit", "budget", "interrupted"} == FREE
