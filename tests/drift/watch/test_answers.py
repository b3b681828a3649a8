"""What happens to a call by policy, and the form in which a hook says so."""

from __future__ import annotations

import pytest

from kedge.drift.course import choose_level
from kedge.drift.scoring import Penalty, Verdict
from kedge.drift.watch.answers import (
    ADVISE,
    ASK,
    DENY,
    ENFORCE,
    NONE,
    OBSERVE,
    OFF,
    POLICIES,
    answer_call,
    block_stop,
    decide,
    give_context,
    notify_user,
)

AGENTS = ("claude", "codex")


def judge(score: int, rule: str = "limit") -> Verdict:
    return Verdict(score, choose_level(score), (Penalty(rule, "db/schema.sql", 10 - score),))


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("level", ["none", "nudge", "correct"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_call_below_intervene_is_left_to_the_agents_permissions(
    policy: str, level: str, agent: str
) -> None:
    assert decide(policy, agent, judge(3), level) == NONE


@pytest.mark.parametrize("level", ["intervene", "halt"])
@pytest.mark.parametrize("score", [8, 9, 10])
def test_a_score_of_eight_is_never_held_up(score: int, level: str) -> None:
    assert decide(ENFORCE, "claude", judge(score), level) == NONE


@pytest.mark.parametrize("level", ["intervene", "halt"])
@pytest.mark.parametrize(
    ("policy", "agent", "decision"),
    [
        (OFF, "claude", NONE),
        (OBSERVE, "claude", NONE),
        (ADVISE, "claude", ASK),
        (ADVISE, "codex", DENY),  # it cannot ask its user
        (ENFORCE, "claude", DENY),
        (ENFORCE, "codex", DENY),
    ],
)
def test_a_call_against_the_users_word(policy: str, agent: str, decision: str, level: str) -> None:
    assert decide(policy, agent, judge(3), level) == decision


@pytest.mark.parametrize("agent", AGENTS)
def test_advice_holds_up_nothing_but_calls_against_the_users_word(agent: str) -> None:
    assert decide(ADVISE, agent, judge(3, "repetition"), "halt") == NONE
    assert decide(ENFORCE, agent, judge(3, "repetition"), "halt") == DENY


@pytest.mark.parametrize("score", [5, 6, 7])
def test_advice_holds_up_nothing_because_of_escalation_alone(score: int) -> None:
    assert decide(ADVISE, "claude", judge(score), "halt") == NONE
    assert decide(ENFORCE, "claude", judge(score), "halt") == DENY


def test_a_decision_about_a_call_comes_with_its_reason() -> None:
    assert answer_call(DENY, "not the schema") == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "not the schema",
        }
    }


def test_context_is_one_text_and_nothing_without_a_text() -> None:
    assert give_context("UserPromptSubmit", ["one", "two"]) == {
        "hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit",
            "additionalContext": "one\n\ntwo",
        }
    }
    assert give_context("UserPromptSubmit", []) is None


def test_an_agent_that_must_not_stop_is_told_why() -> None:
    assert block_stop("the goal") == {"decision": "block", "reason": "the goal"}


def test_a_notice_is_shown_to_the_user_alone() -> None:
    assert notify_user("3 corrections") == {"systemMessage": "3 corrections"}
