"""What happens to a call by policy, and the form in which a hook says so."""

from __future__ import annotations

import pytest

from kedge.drift.course import choose_level
from kedge.drift.evidence.outward_acts import IRREVERSIBLE
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
    can_ask,
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
    assert decide(policy, can_ask(agent), judge(3), level) == NONE


@pytest.mark.parametrize("level", ["intervene", "halt"])
@pytest.mark.parametrize("score", [8, 9, 10])
def test_a_score_of_eight_is_never_held_up(score: int, level: str) -> None:
    assert decide(ENFORCE, can_ask("claude"), judge(score), level) == NONE


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
    assert decide(policy, can_ask(agent), judge(3), level) == decision


@pytest.mark.parametrize("agent", AGENTS)
def test_advice_holds_up_nothing_but_calls_against_the_users_word(agent: str) -> None:
    assert decide(ADVISE, can_ask(agent), judge(3, "repetition"), "halt") == NONE
    assert decide(ENFORCE, can_ask(agent), judge(3, "repetition"), "halt") == DENY


@pytest.mark.parametrize("score", [5, 6, 7])
def test_advice_holds_up_nothing_because_of_escalation_alone(score: int) -> None:
    assert decide(ADVISE, can_ask("claude"), judge(score), "halt") == NONE
    assert decide(ENFORCE, can_ask("claude"), judge(score), "halt") == DENY


def test_a_denied_call_tells_the_agent_why_and_shows_the_user() -> None:
    assert answer_call(DENY, "not the schema", "you said so") == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "not the schema",
        },
        "systemMessage": "you said so",
    }


def test_a_question_addresses_the_user_and_the_agent_gets_its_own_text() -> None:
    assert answer_call(ASK, "not the schema", "you said\x1b so\nallow it?") == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": "you said\x1b so\nallow it?",
            "additionalContext": "not the schema",
        },
        "terminalSequence": "\x1b]9;you said  so allow it?\x07",
    }


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("agent", AGENTS)
def test_a_change_to_the_watch_is_denied_where_kedge_speaks(policy: str, agent: str) -> None:
    verdict = judge(4, "switches off the watch")
    decided = decide(policy, can_ask(agent), verdict, "intervene")
    assert decided == (DENY if policy in (ADVISE, ENFORCE) else NONE)


@pytest.mark.parametrize("rule", sorted(IRREVERSIBLE))
def test_an_irreversible_act_is_asked_about_before_it_runs(rule: str) -> None:
    assert decide(ADVISE, can_ask("claude"), judge(4, rule), "intervene") == ASK
    assert decide(ADVISE, can_ask("codex"), judge(4, rule), "intervene") == DENY
    assert decide(ENFORCE, can_ask("claude"), judge(4, rule), "intervene") == DENY
    assert decide(ADVISE, can_ask("claude"), judge(7, rule), "nudge") == NONE


def test_a_lighter_broken_limit_beside_a_heavier_rule_is_asked_about() -> None:
    rules = (Penalty("repetition", "again", 8), Penalty("limit", "db/schema.sql", 7))
    assert decide(ADVISE, can_ask("claude"), Verdict(2, "halt", rules), "halt") == ASK


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
