"""The ledger: attempts are numbered, redacted and durable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support import git

from kedge.errors import InvalidValue
from kedge.host import project
from kedge.model.attempt import Attempt, Outcome
from kedge.model.ids import TaskId
from kedge.model.task import Block, BlockType, Status, Task
from kedge.tasks.ledger import Ledger, attempt_of

ATTEMPT = Attempt(
    task=TaskId("T-1"),
    number=0,
    run="r1",
    role="implementer",
    agent="claude",
    started_at="2026-01-01",
    ended_at="2026-01-02",
    outcome=Outcome.FAILED_CHECKS,
    reason="make test failed",
)
TASK = Task(id=TaskId("T-1"), title="x", status=Status.IN_PROGRESS, assignee="ada", started_at="s")


def test_attempts_are_numbered_for_each_task(repo: Path) -> None:
    ledger = Ledger(project.find(repo))
    assert [ledger.append(ATTEMPT).number for _ in range(2)] == [1, 2]
    assert ledger.append(replace(ATTEMPT, task=TaskId("T-2"))).number == 1
    attempts, warnings = ledger.read("T-1")
    assert [one.number for one in attempts] == [1, 2]
    assert attempts[0] == replace(ATTEMPT, number=1)
    assert warnings == []
    assert ledger.read("T-3") == ([], [])


def test_the_next_number_follows_the_highest_one(repo: Path) -> None:
    ledger = Ledger(project.find(repo))
    ledger.append(ATTEMPT)
    path = repo / ".kedge" / "ledger" / "T-1.jsonl"
    path.write_text(path.read_text().replace('"number": 1', '"number": 7') + "not JSON\n")
    assert ledger.append(ATTEMPT).number == 8
    attempts, warnings = ledger.read("T-1")
    assert [one.number for one in attempts] == [7, 8]
    assert len(warnings) == 1
    assert warnings[0].startswith(".kedge/ledger/T-1.jsonl:2: skipped")


def test_secrets_are_redacted_before_they_are_written(repo: Path) -> None:
    secret = "ghp_" + "a1B2c3D4" * 5
    kept = Ledger(project.find(repo)).append(replace(ATTEMPT, tried=(f"token {secret}",)))
    assert kept.tried == ("token [redacted:github-token]",)
    assert secret not in (repo / ".kedge" / "ledger" / "T-1.jsonl").read_text()


def test_a_task_id_cannot_leave_the_ledger(repo: Path) -> None:
    with pytest.raises(InvalidValue):
        Ledger(project.find(repo)).read("../T-1")


def test_work_trees_of_a_run_share_the_ledger_of_the_main_one(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "first")
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "other"))
    monkeypatch.setenv("KEDGE_TASKS", str(repo))
    Ledger(project.find(tmp_path / "other")).append(ATTEMPT)
    assert (repo / ".kedge" / "ledger" / "T-1.jsonl").exists()
    assert not (tmp_path / "other" / ".kedge").exists()


def test_closing_and_blocking_end_an_attempt() -> None:
    why = Block(BlockType.TOOLING, "no rope")
    for after, outcome, reason in (
        (replace(TASK, status=Status.DONE, close_reason="moored"), Outcome.DONE, "moored"),
        (replace(TASK, status=Status.FAILED, close_reason="no"), Outcome.GIVEN_UP, "no"),
        (replace(TASK, status=Status.BLOCKED, blocked=why), Outcome.BLOCKED, "tooling: no rope"),
    ):
        attempt = attempt_of(TASK, after, ["this"], ["that"], actor="bob")
        assert attempt is not None
        assert (attempt.outcome, attempt.reason) == (outcome, reason)
        assert (attempt.agent, attempt.started_at) == ("ada", "s")
        assert (attempt.tried, attempt.avoid) == (("this",), ("that",))


def test_nothing_ends_without_work_or_lessons() -> None:
    opened = replace(TASK, status=Status.OPEN, assignee=None, started_at=None)
    done = replace(TASK, status=Status.DONE)
    assert attempt_of(None, done, [], [], actor="bob") is None
    assert attempt_of(opened, done, [], [], actor="bob") is None
    assert attempt_of(TASK, opened, ["this"], [], actor="bob") is None
    for tried, avoid in ((["this"], []), ([], ["that"])):
        attempt = attempt_of(opened, done, tried, avoid, actor="bob")
        assert attempt is not None
        assert attempt.agent == "bob"
