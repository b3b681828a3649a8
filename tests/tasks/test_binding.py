"""Which task a session works on, by its environment, its claims and its work tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.errors import TaskNotFound
from kedge.host import user
from kedge.model.ids import TaskId
from kedge.model.task import Status, Task
from kedge.store.claims import Claim
from kedge.tasks.binding import (
    CLAIMED,
    IN_PROGRESS,
    NAMED,
    Binding,
    WorkTree,
    choose_binding,
    describe_binding,
)

ME = user.user_name()
EARLY, LATE = "2026-01-01T10:00:00.000000Z", "2026-01-01T12:00:00.000000Z"


def board(*tasks: Task) -> dict[TaskId, Task]:
    return {task.id: task for task in tasks}


def task(
    name: str, who: str | None = ME, status: Status = Status.IN_PROGRESS, at: str = EARLY
) -> Task:
    return Task(TaskId(name), f"Title of {name}", status=status, assignee=who, started_at=at)


def bound(binding: Binding) -> tuple[str, str]:
    return (binding.task.id if binding.task else "", binding.how)


def test_the_only_task_in_progress_of_the_user_is_meant() -> None:
    tasks = board(task("a"), task("b", "bob"), task("c", status=Status.OPEN))
    assert bound(choose_binding(tasks, WorkTree("/here"))) == ("a", IN_PROGRESS)
    assert bound(choose_binding(board(task("b", "bob")), WorkTree("/here"))) == ("", "")
    assert bound(choose_binding(board(task("b", "bob")), WorkTree("/here", "bob")))[0] == "b"
    assert bound(choose_binding(board(task("a", None)), WorkTree("/here")))[0] == "a"


def test_several_tasks_bind_to_none_and_say_how_to_choose() -> None:
    found = choose_binding(board(task("a"), task("b")), WorkTree("/here"))
    assert bound(found) == ("", "")
    assert [each.id for each in found.candidates] == ["a", "b"]
    assert "2 tasks are in progress: a, b." in found.choice
    assert "`kedge task claim ID --again` binds" in found.choice
    assert choose_binding({}, WorkTree("/here")) == Binding()


def test_the_environment_wins_while_its_task_is_not_over() -> None:
    for status in (Status.OPEN, Status.IN_PROGRESS):
        tasks = board(task("a"), task("n", status=status))
        found = choose_binding(tasks, WorkTree("/here"), named="n", bound=("a", CLAIMED))
        assert bound(found) == ("n", NAMED)
    for status in (Status.DONE, Status.FAILED, Status.BLOCKED):
        tasks = board(task("a"), task("n", status=status))
        assert bound(choose_binding(tasks, WorkTree("/here"), named="n")) == ("a", IN_PROGRESS)
    with pytest.raises(TaskNotFound):
        choose_binding({}, WorkTree("/here"), named="gone")


def test_a_claim_of_the_session_wins_over_what_was_bound() -> None:
    tasks = board(task("a"), task("b", "bob", at=LATE))
    found = choose_binding(tasks, WorkTree("/here"), bound=("a", CLAIMED), since=LATE)
    assert bound(found) == ("b", CLAIMED)
    found = choose_binding(tasks, WorkTree("/here"), bound=("a", CLAIMED), since=LATE + "1")
    assert bound(found) == ("a", CLAIMED)


def test_a_task_that_is_claimed_again_is_chosen(tmp_path: Path) -> None:
    claims = {"b": Claim(str(tmp_path), ME, LATE)}
    found = choose_binding(
        board(task("a"), task("b")), WorkTree(str(tmp_path), claims=claims), since=LATE
    )
    assert bound(found) == ("b", CLAIMED)


@pytest.mark.parametrize("how", [CLAIMED, IN_PROGRESS])
def test_a_binding_lasts_until_its_task_is_over(how: str) -> None:
    tasks = board(task("a"), task("b"))
    assert bound(choose_binding(tasks, WorkTree("/here"), bound=("a", how))) == ("a", how)
    for status in (Status.OPEN, Status.DONE, Status.FAILED, Status.BLOCKED):
        tasks = board(task("a", status=status))
        assert bound(choose_binding(tasks, WorkTree("/here"), bound=("a", how))) == ("", "")


def test_a_task_belongs_to_the_work_tree_it_was_claimed_in(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    tasks = board(task("a"), task("b"))
    claims = {"a": Claim(str(here), ME, EARLY), "b": Claim(str(there), ME, EARLY)}
    for root, name in ((here, "a"), (there, "b")):
        found = choose_binding(tasks, WorkTree(str(root), claims=claims))
        assert bound(found) == (name, IN_PROGRESS)
    moved = choose_binding(tasks, WorkTree(str(here), claims=claims), bound=("b", CLAIMED))
    assert bound(moved) == ("a", IN_PROGRESS)
    there.rmdir()  # a claim in a work tree that is gone says nothing
    assert len(choose_binding(tasks, WorkTree(str(here), claims=claims)).candidates) == 2


def test_a_recorded_claim_counts_for_the_name_that_made_it(tmp_path: Path) -> None:
    claims = {"a": Claim(str(tmp_path), "ada", EARLY)}
    tree = WorkTree(str(tmp_path), claims=claims)
    assert bound(choose_binding(board(task("a", "ada")), tree)) == ("a", IN_PROGRESS)
    assert bound(choose_binding(board(task("a", "bob")), tree)) == ("", "")
    configured = WorkTree(str(tmp_path), "eve", claims)
    assert bound(choose_binding(board(task("a", "ada")), configured)) == ("", "")


def test_a_binding_is_described_in_a_line() -> None:
    assert describe_binding("k-1", CLAIMED) == "bound to k-1 (claimed here)"
    assert describe_binding("k-1", IN_PROGRESS) == "bound to k-1 (in progress here)"
    assert describe_binding("k-1", NAMED) == "bound to k-1 (KEDGE_TASK)"
    assert describe_binding("k-1", "ended") == describe_binding(None, "") == ""
