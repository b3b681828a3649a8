"""The rules of tasks: what is ready, which changes are allowed, and what follows from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import DependencyCycle, InvalidValue, TaskNotFound, WrongState
from kedge.model.ids import TaskId
from kedge.model.task import Block, BlockType, Status, Task
from kedge.tasks import rules

NOW = "2026-03-01T10:00:00.000000Z"
DONE, FAILED, OPEN = Status.DONE, Status.FAILED, Status.OPEN
BLOCKED, IN_PROGRESS = Status.BLOCKED, Status.IN_PROGRESS
WHY = Block(BlockType.EXTERNAL, "no wind")


def task(name: str, **fields: Any) -> Task:
    fields["depends_on"] = tuple(map(TaskId, fields.get("depends_on", ())))
    if "epic" in fields:
        fields["epic"] = TaskId(fields["epic"])
    return Task(id=TaskId(name), title=name, **fields)


def epic(name: str, **fields: Any) -> Task:
    return task(name, type="epic", **fields)


def index(*tasks: Task) -> dict[TaskId, Task]:
    return {one.id: one for one in tasks}


def ids(tasks: list[Task]) -> list[str]:
    return [one.id for one in tasks]


# Order and lookup


def test_tasks_are_sorted_by_age_and_then_by_natural_order_of_ids() -> None:
    tasks = [
        task("T10", created_at="2026-01-02"),
        task("T9", created_at="2026-01-02"),
        task("a", created_at="2026-01-03"),
        task("T2x10", created_at="2026-01-02"),
        task("T2x9", created_at="2026-01-02"),
        task("z"),
    ]
    ordered = ids(sorted(tasks, key=rules.sort_key))
    assert ordered == ["z", "T2x9", "T2x10", "T9", "T10", "a"]


def test_an_unknown_task_is_an_error_that_suggests_a_similar_one() -> None:
    tasks = index(task("harbour-1"))
    assert rules.find(tasks, "harbour-1").title == "harbour-1"
    with pytest.raises(TaskNotFound) as caught:
        rules.find(tasks, "harbor-1")
    assert caught.value.hint == "did you mean 'harbour-1'?"
    with pytest.raises(TaskNotFound) as caught:
        rules.find(tasks, "zzz")
    assert caught.value.hint == "kedge task list shows all ids"


# Ready


@pytest.mark.parametrize("status", Status)
def test_only_open_tasks_are_ready(status: Status) -> None:
    assert ids(rules.ready(index(task("a", status=status)))) == (["a"] if status is OPEN else [])


def test_an_epic_is_never_ready() -> None:
    assert rules.ready(index(epic("E"))) == []


@pytest.mark.parametrize("status", Status)
def test_a_task_waits_until_its_dependency_is_done(status: Status) -> None:
    tasks = index(task("a", status=status), task("b", depends_on=["a"]))
    reasons = rules.find_obstacles(tasks, tasks[TaskId("b")])
    assert reasons == ([] if status is DONE else [f"waits for a, which is {status.value}"])
    assert ("b" in ids(rules.ready(tasks))) is (status is DONE)


def test_a_task_waits_for_a_dependency_that_does_not_exist() -> None:
    tasks = index(task("b", depends_on=["a"]))
    assert rules.find_obstacles(tasks, tasks[TaskId("b")]) == ["waits for a, which does not exist"]


def test_every_obstacle_is_listed() -> None:
    tasks = index(task("a"), task("b"), task("c", status=DONE), task("d", depends_on="abc"))
    assert rules.find_obstacles(tasks, tasks[TaskId("d")]) == [
        "waits for a, which is open",
        "waits for b, which is open",
    ]


def test_a_task_waits_for_the_dependencies_of_all_its_epics() -> None:
    tasks = index(
        task("a"),
        epic("outer", depends_on=["a"]),
        epic("inner", epic="outer"),
        task("b", epic="inner"),
    )
    assert rules.find_obstacles(tasks, tasks[TaskId("b")]) == [
        "its epic outer waits for a, which is open"
    ]
    assert ids(rules.ready(tasks)) == ["a"]


@pytest.mark.parametrize("status", Status)
def test_a_task_waits_while_its_epic_is_blocked_or_failed(status: Status) -> None:
    tasks = index(epic("E", status=status), task("a", epic="E"))
    held = status in (BLOCKED, FAILED)
    reasons = rules.find_obstacles(tasks, tasks[TaskId("a")])
    assert reasons == ([f"its epic E is {status.value}"] if held else [])


def test_a_blocked_task_is_no_obstacle_to_itself() -> None:
    blocked = task("a", status=BLOCKED)
    assert rules.find_obstacles(index(blocked), blocked) == []


def test_ready_tasks_are_sorted_by_priority_and_keep_their_order_otherwise() -> None:
    tasks = index(
        task("a"), task("b", priority="P0"), task("c", priority="P4"), task("d", priority="P0")
    )
    assert ids(rules.ready(tasks)) == ["b", "d", "a", "c"]


def test_epics_in_a_circle_do_not_hang() -> None:
    tasks = index(epic("E", epic="F"), epic("F", epic="E"), task("a", epic="E"))
    assert ids(rules.ready(tasks)) == ["a"]


# Links


def test_a_new_link_must_lead_to_an_existing_task() -> None:
    tasks = index(task("a"))
    rules.check_links(tasks, [task("b", depends_on=["a"])])
    with pytest.raises(TaskNotFound):
        rules.check_links(tasks, [task("b", depends_on=["a", "c"])])
    with pytest.raises(TaskNotFound):
        rules.check_links(tasks, [task("b", epic="c")])


def test_an_epic_must_be_of_that_type() -> None:
    tasks = index(task("a", type="bug"), epic("E"))
    rules.check_links(tasks, [task("b", epic="E")])
    with pytest.raises(InvalidValue, match="a is a bug, not an epic") as caught:
        rules.check_links(tasks, [task("b", epic="a")])
    assert caught.value.hint == "kedge task update a --type epic"


def test_links_that_a_task_already_has_are_not_checked() -> None:
    old = task("b", depends_on=["gone"], epic="gone")
    rules.check_links(index(old), [replace(old, title="new")])
    with pytest.raises(TaskNotFound):
        rules.check_links(index(old), [replace(old, epic=TaskId("other"))])
    with pytest.raises(TaskNotFound):
        rules.check_links(index(old), [task("b", depends_on=["gone", "other"], epic="gone")])


def test_tasks_that_are_added_together_may_link_to_each_other() -> None:
    rules.check_links({}, [task("a", depends_on=["b"], epic="E"), task("b"), epic("E")])


@pytest.mark.parametrize(
    ("tasks", "new", "path"),
    [
        ([], task("a", depends_on=["a"]), "a → a"),
        ([task("b", depends_on=["a"])], task("a", depends_on=["b"]), "a → b → a"),
        (
            [task("b", depends_on=["c"]), task("c", depends_on=["a"])],
            task("a", depends_on=["b"]),
            "a → b → c → a",
        ),
        ([epic("E")], task("a", epic="E", depends_on=["E"]), "a → E → a"),
        ([task("a", epic="E")], epic("E", depends_on=["a"]), "a → a"),
        ([epic("E", epic="F"), epic("F")], epic("F", epic="E"), "F → E → F"),
        (
            [epic("E", depends_on=["b"]), task("a", epic="E")],
            task("b", depends_on=["a"]),
            "b → a → b",
        ),
    ],
)
def test_a_dependency_cycle_is_refused_with_its_path(
    tasks: list[Task], new: Task, path: str
) -> None:
    with pytest.raises(DependencyCycle) as caught:
        rules.check_links(index(*tasks), [new])
    assert caught.value.message == f"dependency cycle: {path}"


def test_two_ways_to_the_same_task_are_no_cycle() -> None:
    tasks = index(task("a"), task("b", depends_on="a"), task("c", depends_on="a"))
    rules.check_links(tasks, [task("d", depends_on="bc")])


def test_a_cycle_elsewhere_does_not_stop_other_work() -> None:
    """Other tools allow cycles; only a task that leads into one is refused."""
    tasks = index(task("a", depends_on="b"), task("b", depends_on="a"))
    rules.check_links(tasks, [task("c")])
    with pytest.raises(DependencyCycle):
        rules.check_links(tasks, [task("d", depends_on="a")])


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14))
def test_links_without_a_refusal_can_be_sorted(edges: list[tuple[int, int]]) -> None:
    tasks: dict[TaskId, Task] = index(*(task(f"t{n}") for n in range(8)))
    for one, other in edges:
        before = tasks[TaskId(f"t{one}")]
        after = replace(before, depends_on=(*before.depends_on, TaskId(f"t{other}")))
        try:
            rules.check_links(tasks, [after])
        except DependencyCycle:
            continue
        tasks[after.id] = after
    done: set[str] = set()
    for _ in tasks:
        done |= {one.id for one in tasks.values() if set(one.depends_on) <= done}
    assert done == set(tasks)


def test_an_epic_with_tasks_keeps_its_type() -> None:
    tasks = index(epic("E"), *(task(f"t{n}", epic="E") for n in range(6)))
    rules.check_type(tasks, tasks[TaskId("E")])
    rules.check_type(tasks, tasks[TaskId("t1")])
    with pytest.raises(WrongState) as caught:
        rules.check_type(tasks, task("E"))
    assert caught.value.message == "E is the epic of t0, t1, t2, t3, t4 and 1 more"
    with pytest.raises(WrongState, match=r"t4$"):
        rules.check_type(index(*list(tasks.values())[:6]), task("E"))


# Changes of state


def test_a_claim_sets_who_works_on_the_task_since_when() -> None:
    one = task("a")
    claimed = rules.claim(index(one), one, "ada", NOW, again=False)
    assert claimed == replace(one, status=IN_PROGRESS, assignee="ada", started_at=NOW)


def test_a_second_claim_by_the_same_name_changes_nothing_or_is_refused() -> None:
    one = task("a", status=IN_PROGRESS, assignee="ada", started_at="earlier")
    assert rules.claim(index(one), one, "ada", NOW, again=True) is one
    with pytest.raises(WrongState, match="a is already claimed by ada") as caught:
        rules.claim(index(one), one, "ada", NOW, again=False)
    assert "--as NAME" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (task("a", status=IN_PROGRESS, assignee="bob"), "a is claimed by bob"),
        (task("a", status=IN_PROGRESS), "a is claimed by somebody"),
        (epic("a"), "a is an epic"),
        (task("a", status=BLOCKED), "a is blocked"),
        (task("a", status=DONE), "a is done"),
        (task("a", status=FAILED), "a is failed"),
        (task("a", depends_on=["b"]), "a is not ready: it waits for b, which does not exist"),
    ],
)
def test_a_task_that_cannot_be_claimed_says_why(one: Task, says: str) -> None:
    for again in (True, False):
        with pytest.raises(WrongState) as caught:
            rules.claim(index(one), one, "ada", NOW, again=again)
        assert caught.value.message == says
        assert caught.value.hint


@pytest.mark.parametrize(("failed", "status"), [(False, DONE), (True, FAILED)])
@pytest.mark.parametrize("before", [OPEN, IN_PROGRESS, BLOCKED])
def test_a_task_is_closed(before: Status, failed: bool, status: Status) -> None:
    one = task("a", status=before, blocked=WHY if before is BLOCKED else None)
    closed = rules.close(index(one), one, "moored", NOW, failed=failed)
    assert closed == replace(one, status=status, close_reason="moored", closed_at=NOW, blocked=None)


def test_closing_again_changes_the_reason_only() -> None:
    one = task("a", status=DONE, close_reason="moored", closed_at="earlier")
    assert rules.close(index(one), one, None, NOW) is one
    assert rules.close(index(one), one, "safe", NOW) == replace(one, close_reason="safe")


def test_a_finished_task_must_be_reopened_before_it_ends_otherwise() -> None:
    for before, failed in ((DONE, True), (FAILED, False)):
        one = task("a", status=before)
        with pytest.raises(WrongState, match=f"a is {before.value}") as caught:
            rules.close(index(one), one, None, NOW, failed=failed)
        assert caught.value.hint == "kedge task reopen a"


def test_an_epic_cannot_be_done_before_its_tasks_but_can_fail() -> None:
    tasks = index(epic("E"), task("a", epic="E", status=DONE), task("b", epic="E", status=FAILED))
    one = tasks[TaskId("E")]
    with pytest.raises(WrongState, match=r"E has tasks that are not done: b$"):
        rules.close(tasks, one, None, NOW)
    assert rules.close(tasks, one, None, NOW, failed=True).status is FAILED
    del tasks[TaskId("b")]
    assert rules.close(tasks, one, None, NOW).status is DONE


def test_a_task_that_is_not_finished_can_be_blocked() -> None:
    for status in (OPEN, IN_PROGRESS, BLOCKED):
        one = task("a", status=status)
        assert rules.block(one, WHY) == replace(one, status=BLOCKED, blocked=WHY)
    for status in (DONE, FAILED):
        with pytest.raises(WrongState, match=f"a is {status.value}"):
            rules.block(task("a", status=status), WHY)


@pytest.mark.parametrize("status", Status)
def test_a_reopened_task_is_as_if_nobody_had_worked_on_it(status: Status) -> None:
    one = task(
        "a",
        status=status,
        description="stays",
        blocked=WHY,
        assignee="ada",
        started_at="x",
        close_reason="x",
        closed_at="x",
    )
    if status is OPEN:
        assert rules.reopen(one) is one
    else:
        assert rules.reopen(one) == task("a", description="stays")


# Epics follow their tasks


def settle(*tasks: Task) -> dict[str, Status]:
    asked = [one.epic for one in tasks]
    return {one.id: one.status for one in rules.settle_epics(index(*tasks), asked, NOW)}


def test_an_epic_closes_with_its_last_task() -> None:
    tasks = index(epic("E", status=BLOCKED, blocked=WHY), task("a", epic="E", status=DONE))
    (closed,) = rules.settle_epics(tasks, ["E"], NOW)
    assert (closed.status, closed.close_reason) == (DONE, "all its tasks are done")
    assert (closed.closed_at, closed.blocked) == (NOW, None)


def test_an_epic_stays_open_while_a_task_is_not_done() -> None:
    for status in set(Status) - {DONE}:
        done = task("a", epic="E", status=DONE)
        assert settle(epic("E"), done, task("b", epic="E", status=status)) == {}


def test_an_epic_without_tasks_does_not_close() -> None:
    assert rules.settle_epics(index(epic("E")), ["E"], NOW) == []
    assert rules.settle_epics(index(epic("E", status=DONE)), ["E"], NOW) == []


def test_a_failed_epic_stays_failed() -> None:
    assert settle(epic("E", status=FAILED), task("a", epic="E", status=DONE)) == {}


def test_a_done_epic_opens_with_a_new_task() -> None:
    old = epic("E", status=DONE, close_reason="x", closed_at="x")
    (opened,) = rules.settle_epics(index(old, task("a", epic="E")), ["E"], NOW)
    assert opened == epic("E")


def test_epics_of_epics_follow_from_the_inside_out() -> None:
    tasks = [epic("outer"), epic("inner", epic="outer"), task("a", epic="inner", status=DONE)]
    settled = rules.settle_epics(index(*tasks), ["inner"], NOW)
    assert ids(settled) == ["inner", "outer"]
    assert {one.status for one in settled} == {DONE}


def test_nested_epics_follow_in_any_order_of_the_change() -> None:
    """A done task moves from the outer epic to the inner one: both close."""
    tasks = index(epic("outer"), epic("inner", epic="outer"), task("a", epic="inner", status=DONE))
    for order in (["outer", "inner"], ["inner", "outer"]):
        settled = rules.settle_epics(tasks, order, NOW)
        assert {one.id: one.status for one in settled} == {"inner": DONE, "outer": DONE}


def test_an_epic_waits_for_the_longest_chain_of_its_epics() -> None:
    tasks = index(
        epic("root"),
        epic("long", epic="root"),
        epic("longer", epic="long"),
        epic("short", epic="root"),
        task("a", epic="longer", status=DONE),
        task("b", epic="short", status=DONE),
    )
    settled = rules.settle_epics(tasks, ["short", "longer"], NOW)
    assert ids(settled) == ["longer", "short", "long", "root"]


def test_missing_epics_and_parents_of_other_types_are_left_alone() -> None:
    assert settle(task("a", epic="gone", status=DONE)) == {}
    assert settle(task("story", type="story"), task("a", epic="story", status=DONE)) == {}
    assert rules.settle_epics({}, [None, "", "gone"], NOW) == []


def test_epics_in_a_circle_are_settled_once() -> None:
    assert settle(epic("E", epic="F", status=DONE), epic("F", epic="E", status=DONE)) == {}
    assert settle(epic("E", epic="F"), epic("F", epic="E", status=DONE)) == {"F": OPEN}
    ring = [
        epic(f"e{n}", epic=f"e{(n + 1) % 4}", status=DONE if n in (2, 3) else OPEN)
        for n in range(4)
    ]
    assert len(rules.settle_epics(index(*ring), ["e0", "e2"], NOW)) <= 4
