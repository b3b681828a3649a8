"""A command that was killed at any write, and is run again, leaves what one run leaves."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support import Kedge, assert_clear, git, run_killed_at

from kedge.host.digest import digest

KILLED = 9
STEP = 3  # writes from kill to kill; an interruption that matters is longer
LESSON = ("--type", "heuristic", "--text", "Hauling twice tears the line.", "--in", "t")


@pytest.fixture
def project(repo: Path, kedge: Kedge) -> Path:
    """A task in progress whose check is green, and a lesson."""
    (repo / "check.sh").write_text("exit 0\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    kedge("task", "add", "Haul", "--id", "t", "--accept", "it holds", "--check", "sh check.sh")
    kedge("knowledge", "add", "One line", *LESSON)
    return repo


def read_ledger(repo: Path) -> list[dict[str, object]]:
    path = repo / ".kedge" / "ledger" / "t.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def interrupt(repo: Path, kedge: Kedge, command: tuple[str, ...], check: Callable[[], None]) -> int:
    """Kill a command before every third of its writes, run it again, and check what is there then.
    Return the number of kills."""
    saved = repo.with_name("saved")
    shutil.copytree(repo, saved, symlinks=True)
    write = 0
    while True:
        killed = run_killed_at(write, "-C", str(repo), *command)
        assert killed.returncode in (0, KILLED), killed
        if killed.returncode == 0:
            check()
            return write // STEP
        kedge(*command, code=None)
        check()
        shutil.rmtree(repo)
        shutil.copytree(saved, repo, symlinks=True)
        write += STEP


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        (("close", "t", "--reason", "hauled"), "done"),
        (("close", "t", "--failed", "--reason", "no wind"), "given-up"),
        (("block", "t", "--type", "tooling", "--reason", "no rope"), "blocked"),
    ],
)
def test_an_interrupted_close_is_recorded_once_by_the_next(
    project: Path, kedge: Kedge, words: tuple[str, ...], outcome: str
) -> None:
    kedge("task", "claim", "t")

    def check() -> None:
        records = read_ledger(project)
        assert [one["outcome"] for one in records] == [outcome]
        assert bool(records[0]["checks"]) == (outcome == "done")

    assert interrupt(project, kedge, ("task", *words), check) > 2


def test_a_task_that_is_closed_twice_has_one_record(project: Path, kedge: Kedge) -> None:
    kedge("task", "claim", "t")
    kedge("task", "close", "t")
    kedge("task", "close", "t")
    assert len(read_ledger(project)) == 1


def test_an_interrupted_context_is_frozen_claimed_and_exported_by_the_next(
    project: Path, kedge: Kedge
) -> None:
    def check() -> None:
        folder = project / ".kedge" / "context" / "t"
        names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
        exports = {f"context-{role}.json" for role in ("implementer", "reviewer", "validator")}
        assert names == {"context.json", "context.manifest", *exports}
        assert kedge.json("task", "show", "t")["status"] == "in_progress"

    command = ("context", "init", "t", "--claim", "--export")
    assert interrupt(project, kedge, command, check) > 4


def test_an_interrupted_retirement_moves_the_lesson_once(project: Path, kedge: Kedge) -> None:
    bank = project / "docs" / "knowledge-bank"

    def check() -> None:
        assert "One line" not in (bank / "heuristics.md").read_text()
        assert (bank / "retired.md").read_text().count("One line") == 1

    command = ("knowledge", "retire", "One line", "--reason", "no longer so")
    assert interrupt(project, kedge, command, check) > 2


# Locks of a git that was killed while it wrote kedge's refs


def leave_locks(repo: Path, ref: str) -> list[Path]:
    """Leave what a kedge and its git leave that are killed as they delete a ref."""
    name = digest([os.fsencode(repo / ".git")])
    note = repo / ".git" / "kedge" / "refs" / f"{name}.pending"
    note.write_text(json.dumps([ref]))
    locks = [repo / ".git" / f"{name}.lock" for name in (ref, "packed-refs")]
    for lock in locks:
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.write_text("")
    return locks


def test_locks_that_a_killed_git_left_are_removed(project: Path, kedge: Kedge) -> None:
    kedge("context", "init", "t")
    locks = leave_locks(project, "refs/kedge/t/base")
    kedge("context", "purge", "t", "--yes")
    assert not any(lock.exists() for lock in locks)
    assert git(project, "for-each-ref", "refs/kedge") == ""


def test_locks_are_removed_where_the_refs_are_gone_already(project: Path, kedge: Kedge) -> None:
    kedge("context", "init", "t")
    git(project, "update-ref", "-d", "refs/kedge/t/base")
    locks = leave_locks(project, "refs/kedge/t/base")
    kedge("context", "purge", "t", "--yes")
    assert not any(lock.exists() for lock in locks)


def test_the_lock_of_another_git_is_left_alone(project: Path, kedge: Kedge) -> None:
    kedge("context", "init", "t")
    lock = project / ".git" / "packed-refs.lock"
    lock.write_text("")
    ran = kedge("context", "purge", "t", "--yes", code=None)
    assert_clear(ran, code=1, says="packed-refs.lock")
    assert lock.exists()


def test_a_lock_that_was_there_before_is_left_alone(project: Path, kedge: Kedge) -> None:
    kedge("context", "init", "t")
    packed = leave_locks(project, "refs/kedge/t/base")[1]
    before = time.time() - 60
    os.utime(packed, (before, before))
    ran = kedge("context", "purge", "t", "--yes", code=None)
    assert_clear(ran, code=1, says="packed-refs.lock")
    assert packed.exists()
