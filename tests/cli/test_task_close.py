"""`kedge task close` proves a task with checks, or says that it did not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support import Kedge, assert_clear, git

CHECK = "echo ran >> ../ran; grep -q good work.txt"


@pytest.fixture
def task(repo: Path, kedge: Kedge) -> str:
    git(repo, "config", "user.name", "Ada")
    git(repo, "config", "user.email", "ada@example.org")
    (repo / "work.txt").write_text("bad\n")
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "--message", "start")
    kedge("task", "add", "Work", "--id", "t1", "--check", CHECK, "--accept", "good")
    kedge("task", "claim", "t1", "--as", "ada")
    return "t1"


def count_runs(repo: Path) -> int:
    path = repo.parent / "ran"
    return len(path.read_text().splitlines()) if path.exists() else 0


def read_ledger(repo: Path, task: str) -> list[dict[str, Any]]:
    path = repo / ".kedge" / "ledger" / f"{task}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_task_stays_open_while_its_check_is_red(repo: Path, kedge: Kedge, task: str) -> None:
    ran = kedge("task", "close", task, "--reason", "all good", code=1)
    assert ran.out == ""
    assert f"error: {task} is not done: `{CHECK}` failed\n" in ran.err
    assert "a person can close it with --unproven --reason WHY" in ran.err
    assert kedge.json("task", "show", task)["status"] == "in_progress"
    assert read_ledger(repo, task) == []
    document = kedge("task", "close", task, "--json", code=1).document
    assert document["code"] == "not-proven"
    assert [one["passed"] for one in document["data"]["checks"]] == [False]


def test_what_the_check_printed_is_shown(kedge: Kedge, task: str) -> None:
    kedge("task", "add", "Loud", "--id", "t2", "--check", "echo the mast is broken; exit 3")
    ran = kedge("task", "close", "t2", code=1)
    assert "    the mast is broken\n" in ran.err


def test_a_green_check_closes_the_task_and_is_recorded(repo: Path, kedge: Kedge, task: str) -> None:
    (repo / "work.txt").write_text("good\n")
    ran = kedge("task", "close", task, "--reason", "made it good")
    assert ran.out.startswith("t1 is done")
    assert count_runs(repo) == 1
    (attempt,) = read_ledger(repo, task)
    assert attempt["outcome"] == "done"
    assert attempt["reason"] == "made it good"
    (check,) = attempt["checks"]
    assert check["passed"] is True
    assert check["tree"]
    assert kedge.json("task", "show", task)["labels"] == []


def test_closing_unproven_needs_a_reason_and_is_recorded(
    repo: Path, kedge: Kedge, task: str
) -> None:
    assert "needs a reason" in kedge("task", "close", task, "--unproven", code=2).err
    kedge("task", "close", task, "--unproven", "--reason", "the server is down")
    assert count_runs(repo) == 0
    (attempt,) = read_ledger(repo, task)
    assert attempt["reason"] == "closed unproven: the server is down"
    assert kedge.json("task", "show", task)["labels"] == ["unproven"]
    assert "done, unproven" in kedge("task", "list").out
    assert "done, unproven" in kedge("task", "show", task).out


@pytest.mark.parametrize("env", [{"KEDGE_RUN": "r1", "KEDGE_TASK": "other"}, {"CLAUDECODE": "1"}])
def test_an_agent_cannot_close_a_task_without_a_proof(
    repo: Path, kedge: Kedge, task: str, env: dict[str, str]
) -> None:
    def refuse(*words: str, says: str) -> None:
        assert_clear(kedge(*words, env=env, code=1), code=1, says=says)

    refuse("task", "close", task, "--unproven", "--reason", "x", says="without a proof")
    refuse("task", "update", task, "--clear", "checks", says="cannot remove a check")
    kedge("task", "add", "Easy", "--check", "true")  # approved by that
    refuse("task", "update", task, "--check", "true", says="cannot remove a check")
    assert kedge.json("task", "show", task)["status"] == "in_progress"
    assert kedge.json("task", "show", task)["checks"] == [CHECK]
    more = ("--check", CHECK, "--check", "test -f work.txt")
    kedge("task", "update", task, *more, env=env)
    kedge("task", "close", task, "--unproven", "--reason", "the server is down")
    refuse("task", "update", task, "--unlabel", "unproven", says="the label unproven")
    refuse("task", "update", task, "--clear", "labels", says="the label unproven")
    assert "done, unproven" in kedge("task", "list").out


def test_a_task_that_is_proven_later_loses_the_label(repo: Path, kedge: Kedge, task: str) -> None:
    kedge("task", "close", task, "--unproven", "--reason", "no server")
    kedge("task", "reopen", task)
    assert kedge.json("task", "show", task)["labels"] == []
    (repo / "work.txt").write_text("good\n")
    kedge("task", "close", task)
    assert "unproven" not in kedge("task", "list").out


def test_the_result_of_another_command_is_not_used(repo: Path, kedge: Kedge, task: str) -> None:
    kedge("context", "init", task)
    (repo / "work.txt").write_text("good\n")
    kedge(
        "context", "record-qa", task, "--agent", "implementer", "--", "sh", "-c", CHECK, code=None
    )
    runs = count_runs(repo)
    kedge("task", "close", task)
    # another command line than the check's proves nothing about it
    assert count_runs(repo) == runs + 1


def test_a_result_on_another_tree_is_not_used(repo: Path, kedge: Kedge) -> None:
    git(repo, "commit", "--quiet", "--allow-empty", "--message", "start")
    kedge("task", "add", "Work", "--id", "t1", "--check", "./check", "--accept", "good")
    check = repo / "check"
    check.write_text("#!/bin/sh\necho ran >> ../ran\ngrep -q good work.txt\n")
    check.chmod(0o755)
    kedge("context", "init", "t1")
    (repo / "work.txt").write_text("good\n")
    record = ["context", "record-qa", "t1", "--agent", "implementer"]
    kedge(*record, "--", "./check")
    assert count_runs(repo) == 1
    (repo / "work.txt").write_text("bad\n")
    assert "failed" in kedge("task", "close", "t1", code=1).err
    assert count_runs(repo) == 2
    (repo / "work.txt").write_text("good\n")
    kedge("task", "close", "t1")
    assert count_runs(repo) == 3


def test_a_result_on_this_very_tree_is_not_made_twice(repo: Path, kedge: Kedge) -> None:
    git(repo, "commit", "--quiet", "--allow-empty", "--message", "start")
    kedge("task", "add", "Work", "--id", "t1", "--check", "./check", "--accept", "good")
    check = repo / "check"
    check.write_text("#!/bin/sh\necho ran >> ../ran\n")
    check.chmod(0o755)
    kedge("context", "init", "t1")
    kedge("context", "record-qa", "t1", "--agent", "implementer", "--", "./check")
    ran = kedge("task", "close", "t1")
    assert count_runs(repo) == 1
    assert "`./check` is green on this tree already" in ran.err


def test_a_check_cannot_close_its_own_task(repo: Path, kedge: Kedge) -> None:
    command = f"{sys.executable} -m kedge task close t1"
    kedge("task", "add", "Loop", "--id", "t1", "--check", command)
    ran = kedge("task", "close", "t1", code=1)
    assert "a check of this project cannot close t1" in ran.err
    assert kedge.json("task", "show", "t1")["status"] == "open"


def test_tasks_that_prove_nothing_close_as_before(repo: Path, kedge: Kedge, task: str) -> None:
    kedge("task", "close", task, "--failed", "--reason", "no way")
    kedge("task", "add", "Plain", "--id", "t2")
    assert kedge("task", "close", "t2").out == "t2 is done\n"
    kedge("task", "add", "Plain", "--id", "t3")
    ran = kedge("task", "close", "t3", "--unproven", "--reason", "why not")
    assert "t3 has no checks" in ran.err
    assert kedge.json("task", "show", "t3")["labels"] == []
    assert count_runs(repo) == 0


def test_a_task_that_cannot_be_closed_runs_no_check(repo: Path, kedge: Kedge, task: str) -> None:
    kedge("task", "close", task, "--failed")
    assert "failed" in kedge("task", "close", task, code=1).err
    kedge("task", "add", "All", "--id", "e", "--type", "epic", "--check", CHECK)
    kedge("task", "add", "Part", "--id", "p", "--epic", "e")
    assert "tasks that are not done" in kedge("task", "close", "e", code=1).err
    assert count_runs(repo) == 0


def test_the_id_of_a_new_task_is_alone_on_stdout_though_its_epic_reopens(kedge: Kedge) -> None:
    kedge("task", "add", "All", "--id", "e", "--type", "epic")
    kedge("task", "add", "One", "--id", "one", "--epic", "e")
    assert kedge("task", "close", "one").out == "one is done\nepic e is now done\n"
    ran = kedge("task", "add", "Two", "--id", "two", "--epic", "e")
    assert ran.out == "two\n"
    assert ran.err == "epic e is now open\n"
