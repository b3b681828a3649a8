"""What an agent's call comes to, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kedge.agents.launch.events import Finished, Reason
from kedge.model.attempt import Outcome
from kedge.run.decision import Decision, Proof, decide, decide_without_proof

ENDED = Finished(Reason.COMPLETED, "I am done.")
PROMISED = Finished(Reason.COMPLETED, "I am done.\n\n<promise>COMPLETE</promise>")
CHECK = {"command": "make test", "passed": True}
GREEN = Proof("before", "0123456789abcdef", "base", files=("a.py",), checks=(CHECK,))
KEY = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


# Without looking at the tree


def test_an_agent_that_ended_normally_is_decided_by_proof() -> None:
    assert decide_without_proof(ENDED, None) is None
    assert decide_without_proof(PROMISED, None) is None


@pytest.mark.parametrize(
    ("stopped", "outcome", "says"),
    [
        ("time", Outcome.TIME_LIMIT, "time limit"),
        ("idle", Outcome.SILENT, "silent"),
        ("budget", Outcome.BUDGET, "budget"),
        ("interrupted", Outcome.INTERRUPTED, "interrupted"),
        ("cancelled", Outcome.INTERRUPTED, "interrupted"),
        ("an unknown reason", Outcome.INTERRUPTED, "an unknown reason"),
    ],
)
def test_why_kedge_stopped_the_agent_counts_more_than_its_result(
    stopped: str, outcome: Outcome, says: str
) -> None:
    decision = decide_without_proof(ENDED, stopped)
    assert decision is not None
    assert decision.outcome is outcome
    assert says in decision.reason
    assert not decision.fatal


@pytest.mark.parametrize("reason", [Reason.RATE_LIMITED, Reason.UNAVAILABLE])
def test_a_busy_provider_is_waited_for(reason: Reason) -> None:
    decision = decide_without_proof(Finished(reason, resets_at=77.0), None)
    assert decision == Decision(Outcome.RATE_LIMIT, reason.value, wait_until=77.0)
    decision = decide_without_proof(Finished(reason, message="come back later"), None)
    assert decision == Decision(Outcome.RATE_LIMIT, "come back later")


@pytest.mark.parametrize("reason", [one for one in Reason if one is not Reason.COMPLETED])
def test_only_a_missing_program_or_account_is_fatal(reason: Reason) -> None:
    decision = decide_without_proof(Finished(reason, "<stuck>x</stuck>", "it broke"), None)
    assert decision is not None
    assert decision.fatal is (reason in (Reason.AUTH, Reason.NOT_STARTED))
    if reason not in (Reason.RATE_LIMITED, Reason.UNAVAILABLE):
        assert decision.outcome is Outcome.AGENT_ERROR
        assert decision.reason == f"{reason.value}: it broke"


def test_an_error_without_a_message_is_named_by_its_reason() -> None:
    decision = decide_without_proof(Finished(Reason.CRASHED), None)
    assert decision == Decision(Outcome.AGENT_ERROR, "crashed: crashed")


def test_a_long_error_is_shortened() -> None:
    decision = decide_without_proof(Finished(Reason.FAILED, message="x" * 999), None)
    assert decision is not None
    assert len(decision.reason) <= len("failed: ") + 300


def test_a_stuck_agent_says_why() -> None:
    stuck = Finished(Reason.COMPLETED, "<stuck>Which harbour?</stuck>")
    assert decide_without_proof(stuck, None) == Decision(Outcome.STUCK, "Which harbour?")
    long = decide_without_proof(Finished(Reason.COMPLETED, f"<stuck>{'x' * 2000}</stuck>"), None)
    assert long is not None
    assert len(long.reason) == 1000
    silent = Finished(Reason.COMPLETED, "<stuck></stuck>")
    assert decide_without_proof(silent, None) == Decision(Outcome.STUCK, "it did not say why")


# With a proof


def test_passing_checks_on_a_changed_tree_are_done() -> None:
    decision = decide(ENDED, GREEN)
    assert decision == Decision(Outcome.DONE, "`make test` green on tree 0123456789ab")
    assert decision.done


def test_a_change_without_checks_is_done() -> None:
    assert decide(ENDED, replace(GREEN, checks=())).done


def test_a_tree_without_changes_is_not_done() -> None:
    decision = decide(ENDED, replace(GREEN, files=()))
    assert decision == Decision(Outcome.NO_CHANGE, "Nothing was changed", ("I am done.",))
    assert not decision.done


def test_a_promise_without_proof_is_held_against_the_agent() -> None:
    unchanged = decide(PROMISED, replace(GREEN, files=()))
    assert unchanged.reason == "The agent said it was done, but nothing was changed"
    failed = decide(PROMISED, replace(GREEN, failed=(("make test", "log"),)))
    assert failed.reason == "The agent said it was done, but `make test` failed"


def test_files_outside_the_scope_are_named_up_to_five() -> None:
    paths = tuple(f"{name}.py" for name in "abcdefg")
    decision = decide(ENDED, replace(GREEN, outside=paths))
    assert decision.outcome is Outcome.OUT_OF_SCOPE
    assert decision.reason.endswith("a.py, b.py, c.py, d.py, e.py and 2 more")
    assert decision.avoid == ("changing a.py, b.py, c.py, d.py, e.py: take that back",)
    assert " more" not in decide(ENDED, replace(GREEN, outside=paths[:5])).reason
    assert decide(ENDED, replace(GREEN, outside=paths[:6])).reason.endswith("e.py and 1 more")


def test_a_weakened_test_is_drift_with_at_most_three_warnings() -> None:
    decision = decide(ENDED, replace(GREEN, strayed=("one", "two", "three", "four")))
    assert decision.outcome is Outcome.DRIFTED
    assert decision.reason == "it went against the task: one"
    assert decision.avoid == ("one", "two", "three")
    long = decide(ENDED, replace(GREEN, strayed=("x" * 999,)))
    assert len(long.reason) == len("it went against the task: ") + 300
    assert [len(one) for one in long.avoid] == [300]


def test_failed_checks_carry_their_logs_into_the_next_prompt() -> None:
    decision = decide(ENDED, replace(GREEN, failed=(("make", "    E1"), ("lint", "    E2"))))
    assert decision.outcome is Outcome.FAILED_CHECKS
    assert decision.reason == "`make`, `lint` failed"
    assert decision.detail == "`make` ended with:\n\n    E1\n\n`lint` ended with:\n\n    E2"


def test_scope_counts_before_drift_and_drift_before_checks() -> None:
    bad = replace(GREEN, outside=("x",), strayed=("y",), failed=(("z", ""),))
    assert decide(ENDED, bad).outcome is Outcome.OUT_OF_SCOPE
    assert decide(ENDED, replace(bad, outside=())).outcome is Outcome.DRIFTED
    assert decide(ENDED, replace(bad, outside=(), strayed=())).outcome is Outcome.FAILED_CHECKS
    assert decide(ENDED, replace(bad, files=())).outcome is Outcome.NO_CHANGE


def test_the_last_message_is_kept_as_what_was_tried_without_secrets() -> None:
    said = Finished(Reason.COMPLETED, f"I used {KEY} and " + "x" * 999)
    (tried,) = decide(said, replace(GREEN, files=())).tried
    assert KEY not in tried
    assert len(tried) <= 300
    assert decide(Finished(Reason.COMPLETED, " \n"), replace(GREEN, files=())).tried == ()


def test_a_decision_is_redacted_in_every_text() -> None:
    decision = Decision(Outcome.REJECTED, KEY, (KEY,), (KEY,), KEY, 5.0, fatal=True).redact()
    texts = [decision.reason, *decision.tried, *decision.avoid, decision.detail]
    assert len(texts) == 4
    assert not [text for text in texts if KEY in text]
    assert (decision.wait_until, decision.fatal) == (5.0, True)
