"""What kedge finds out about the tree that an agent left, on real repositories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import Kedge, git

from kedge import config
from kedge.handoff.operations import HandoffOperations
from kedge.handoff.snapshot import snapshots
from kedge.host import project as projects
from kedge.model.ids import TaskId
from kedge.model.task import Task
from kedge.run.decision import Proof
from kedge.run.proof import prove

TEST = "def test_sail():\n    assert sail() == 1\n    assert sail() > 0\n"
KEY = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


class Workshop:
    """A task in a repository with one test, and the proof of what is changed in it."""

    def __init__(self, repo: Path) -> None:
        self.root = repo
        (repo / "app.py").write_text("def sail(): ...\n")
        (repo / "test_app.py").write_text(TEST)
        git(repo, "add", ".")
        git(repo, "commit", "-qm", "first")
        self.reported: list[str] = []

    def begin(self, *checks: str, title: str = "Make sail work", **fields: Any) -> None:
        self.task = Task(TaskId("t1"), title, checks=checks, **fields)
        typed = [word for check in checks for word in ("--check", check)]
        Kedge(self.root)("task", "add", title, "--id", "t1", *typed)  # approves the checks
        project = projects.find(self.root)
        settings = config.load(project).settings
        self.handoff = HandoffOperations(project, settings, self.task.id, "r1", brief=True)
        self.handoff.init(self.task, list)
        self.handoff.begin("implementer", self.task, accept_stale=True, session="s1")
        self.start = snapshots.take(project, "t1/start").tree

    def prove(self, **more: Any) -> Proof:
        more.setdefault("hidden", {})
        return prove(self.handoff, self.task, self.start, self.start, self.reported.append, **more)


@pytest.fixture
def workshop(repo: Path) -> Workshop:
    return Workshop(repo)


# Changes


def test_without_a_change_no_check_runs(workshop: Workshop) -> None:
    workshop.begin("true")
    proof = workshop.prove()
    assert (proof.files, proof.checks, workshop.reported) == ((), (), [])
    assert proof.before == proof.after == proof.base == workshop.start


def test_changed_files_are_sorted_and_complete(workshop: Workshop) -> None:
    workshop.begin("true")
    (workshop.root / "z.txt").write_text("z")
    (workshop.root / "a.txt").write_text("a")
    (workshop.root / "app.py").unlink()
    proof = workshop.prove()
    assert proof.files == ("a.txt", "app.py", "z.txt")
    assert proof.after != proof.before
    assert workshop.reported == ["true"]


def test_records_of_kedge_are_not_a_change(workshop: Workshop) -> None:
    workshop.begin("true")
    (workshop.root / ".kedge" / "implementation-log.md").write_text("a log\n")
    assert workshop.prove().files == ()


def test_a_file_outside_the_scope_stops_before_the_checks(workshop: Workshop) -> None:
    workshop.begin("true", scope_in=("app.py", "lib"))
    (workshop.root / "app.py").write_text("def sail(): return 1\n")
    (workshop.root / "lib").mkdir()
    (workshop.root / "lib" / "a.py").write_text("A = 1\n")
    assert workshop.prove().outside == ()
    (workshop.root / "other.py").write_text("B = 1\n")
    workshop.reported.clear()
    proof = workshop.prove()
    assert proof.outside == ("other.py",)
    assert (proof.checks, workshop.reported) == ((), [])


# Violations


def test_a_skipped_test_stops_before_the_checks(workshop: Workshop) -> None:
    workshop.begin("true")
    skipped = "import pytest\n\n\n@pytest.mark.skip\n" + TEST
    (workshop.root / "test_app.py").write_text(skipped)
    proof = workshop.prove()
    assert [one for one in proof.strayed if "test skipped" in one]
    assert (proof.checks, workshop.reported) == ((), [])


def test_a_deleted_test_is_a_violation_unless_the_task_asks_for_it(workshop: Workshop) -> None:
    workshop.begin("true")
    (workshop.root / "test_app.py").unlink()
    (violation,) = workshop.prove().strayed
    assert violation.startswith("weakened check: ")
    assert "test_app.py" in violation


def test_a_test_may_be_deleted_if_the_task_asks_for_it(workshop: Workshop) -> None:
    workshop.begin("true", title="Remove the obsolete tests in test_app.py")
    (workshop.root / "test_app.py").unlink()
    assert workshop.prove().strayed == ()


def test_a_new_assertion_is_no_violation(workshop: Workshop) -> None:
    workshop.begin("true")
    (workshop.root / "test_app.py").write_text(TEST + "    assert sail() < 9\n")
    assert workshop.prove().strayed == ()


@pytest.mark.parametrize("left", ["import unittest\n", "def test_sail():\n    pass\n"])
def test_a_test_without_its_only_assertion_is_a_violation(workshop: Workshop, left: str) -> None:
    (workshop.root / "test_app.py").write_text("def test_sail():\n    assert sail() == 1\n")
    git(workshop.root, "commit", "-qam", "one assertion")
    workshop.begin("true")
    (workshop.root / "test_app.py").write_text(left)
    assert workshop.prove().strayed


def test_at_most_three_deleted_files_of_tests_are_named(workshop: Workshop) -> None:
    data = workshop.root / "tests" / "data"
    data.mkdir(parents=True)
    for name in "abcd":
        (data / f"{name}.json").write_text("{}\n")
    git(workshop.root, "add", ".")
    git(workshop.root, "commit", "-qm", "data")
    workshop.begin("true")
    for name in "abcd":
        (data / f"{name}.json").unlink()
    violations = workshop.prove().strayed
    assert len(violations) == 3
    assert violations[0] == (
        "weakened check: tests deleted: tests/data/a.json: deletes tests/data/a.json"
    )


def test_a_suppressed_warning_is_no_violation(workshop: Workshop) -> None:
    workshop.begin("true")
    (workshop.root / "app.py").write_text("import os  # noqa: F401\n\n\ndef sail(): ...\n")
    assert workshop.prove().strayed == ()


def test_padding_does_not_hide_a_weakened_test(workshop: Workshop) -> None:
    """Each padding file is smaller than the test, and together they exceed what is judged."""
    workshop.begin("true")
    for number in range(60):
        (workshop.root / f"a{number}.txt").write_text("padding\n" * 5_000)
    comments = "# a comment\n" * 5_000
    skipped = f"import pytest\n{comments}@pytest.mark.skip\n{TEST}"
    (workshop.root / "test_app.py").write_text(skipped)
    assert workshop.prove().strayed


# Checks


def test_a_failed_check_comes_with_the_end_of_its_log(workshop: Workshop) -> None:
    workshop.begin("seq 1 100; exit 1", "true")
    (workshop.root / "new.txt").write_text("x")
    proof = workshop.prove()
    ((command, log),) = proof.failed
    assert command == "seq 1 100; exit 1"
    assert log.split() == [str(number) for number in range(41, 101)]
    assert all(line.startswith("    ") for line in log.splitlines())
    assert [one["passed"] for one in proof.checks] == [False, True]
    assert workshop.reported == ["seq 1 100; exit 1", "true"]


def test_a_check_that_prints_nothing_says_so(workshop: Workshop) -> None:
    workshop.begin("false")
    (workshop.root / "new.txt").write_text("x")
    assert workshop.prove().failed == (("false", "    (it printed nothing)"),)


def test_a_long_line_of_a_log_is_cut(workshop: Workshop) -> None:
    workshop.begin("head -c 9000 /dev/zero | tr '\\0' x; exit 1")
    (workshop.root / "new.txt").write_text("x")
    ((_, log),) = workshop.prove().failed
    assert log.strip() == "x" * 3000


def test_checks_run_again_only_if_one_changed_the_tree(workshop: Workshop) -> None:
    workshop.begin("test -f new.txt", "echo x >made.txt")
    (workshop.root / "new.txt").write_text("x")
    proof = workshop.prove()
    assert workshop.reported == ["test -f new.txt", "echo x >made.txt", "test -f new.txt"]
    assert {one["tree"] for one in proof.checks} == {proof.after}
    assert (proof.failed, proof.after == proof.before) == ((), False)


def test_checks_that_change_the_tree_every_time_fail(workshop: Workshop) -> None:
    workshop.begin("echo x >>a.txt", "echo x >>b.txt")
    (workshop.root / "new.txt").write_text("x")
    proof = workshop.prove()
    assert [command for command, _ in proof.failed] == ["echo x >>a.txt"]
    assert workshop.reported == ["echo x >>a.txt", "echo x >>b.txt"] * 2
    assert "a check changes files each time it runs" in proof.failed[0][1]


def test_a_failed_check_that_changes_files_shows_its_log(workshop: Workshop) -> None:
    failing = "echo x >>a.txt; echo broken; exit 1"
    workshop.begin(failing, "echo x >>b.txt")
    (workshop.root / "new.txt").write_text("x")
    assert workshop.prove().failed[0] == (failing, "    broken")


def test_a_check_that_prints_a_secret_proves_nothing(workshop: Workshop) -> None:
    (workshop.root / ".git" / "key").write_text(KEY)
    workshop.begin("cat .git/key")
    (workshop.root / "new.txt").write_text("x")
    proof = workshop.prove()
    assert [one["passed"] for one in proof.checks] == [None]
    assert "it must not print that" in proof.failed[0][1]
    assert [one for one in workshop.handoff.warnings if "`cat .git/key` proves nothing" in one]


def test_a_check_gets_no_more_time_than_is_left(workshop: Workshop) -> None:
    workshop.begin("echo begun; sleep 600")
    (workshop.root / "new.txt").write_text("x")
    ((_, log),) = workshop.prove(seconds_left=1.0).failed
    assert log == "    (it took too long and was ended)\n    begun"


def test_the_time_that_is_left_does_not_raise_the_limit_of_a_check(workshop: Workshop) -> None:
    workshop.begin("true")
    (workshop.root / "new.txt").write_text("x")
    limit = workshop.handoff.settings.context.check_timeout
    workshop.prove(seconds_left=limit + 1)
    assert workshop.handoff.settings.context.check_timeout == limit
    workshop.prove(seconds_left=limit - 1)
    assert workshop.handoff.settings.context.check_timeout == limit - 1
