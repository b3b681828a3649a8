"""The type of a block says who has to do something about it."""

from __future__ import annotations

import pytest
from run.harness import RunHarness

REFUSAL = (
    '```json\n{"approved": false, "issues": [{"severity": "major", "description": "no"}]}\n```'
)


def _blocked(harness: RunHarness) -> str:
    task = harness.kedge("task", "show", "t1", "--json").data
    assert task["status"] == "blocked"
    assert isinstance(task["blocked"]["type"], str)
    return task["blocked"]["type"]


@pytest.mark.parametrize(
    ("tag", "wanted"),
    [
        ("<stuck>", "spec-unclear"),
        ('<stuck type="tooling">', "tooling"),
        ("<stuck type='dependency'>", "dependency"),
        ('<stuck type="nonsense">', "spec-unclear"),
    ],
)
def test_an_agent_may_say_what_is_in_its_way(harness: RunHarness, tag: str, wanted: str) -> None:
    harness.task("Make it ok", "t1")
    harness.plays(f"{tag}There is no compiler.</stuck>")
    harness.run(code=1)
    assert _blocked(harness) == wanted
    assert harness.kedge("task", "show", "t1", "--json").data["blocked"]["reason"] == (
        "There is no compiler."
    )


def test_reviewers_who_refuse_every_round_block_the_design(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    parts = [
        part for number in range(3) for part in ({"write": {"ok": f"{number}\n"}}, {"say": REFUSAL})
    ]
    harness.plays(*parts)
    harness.run("--roles", "implementer,reviewer", code=1)
    assert _blocked(harness) == "design-conflict"
    shown = harness.kedge("review", "outcome", "t1").out
    assert "FAILED at iteration cap (3/3)" in shown


def test_a_second_run_counts_its_own_rounds(harness: RunHarness) -> None:
    harness.task("Make it ok", "t1")
    approve = '```json\n{"approved": true, "issues": []}\n```'
    harness.plays(
        {"write": {"ok": "1\n"}}, {"say": REFUSAL}, {"write": {"ok": "2\n"}}, {"say": approve}
    )
    harness.run("--roles", "implementer,reviewer")
    assert "APPROVED at iteration 2/3" in harness.kedge("review", "outcome", "t1").out
