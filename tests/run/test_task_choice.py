"""Which task comes next, and which tasks are unfinished."""

from __future__ import annotations

from typing import Any

from kedge.model.ids import TaskId
from kedge.model.task import Block, BlockType, Status, Task
from kedge.run.options import RunOptions
from kedge.run.task_choice import choose_task, is_selected, list_unfinished

Tasks = dict[TaskId, Task]
RUN = "r1"


def make_tasks(**fields: dict[str, Any]) -> Tasks:
    return {TaskId(name): Task(TaskId(name), name, **more) for name, more in fields.items()}


def choose(tasks: Tasks, *tried: str, **options: Any) -> str | None:
    task = choose_task(tasks, RunOptions(**options), tried, RUN)
    return None if task is None else task.id


def test_tasks_come_by_priority_and_only_once() -> None:
    tasks = make_tasks(a={}, b={"priority": "P1"}, c={"depends_on": ("a",)})
    assert choose(tasks) == "b"
    assert choose(tasks, "b") == "a"
    assert choose(tasks, "a", "b") is None


def test_a_task_that_this_run_has_claimed_comes_first() -> None:
    claimed = {"status": Status.IN_PROGRESS, "assignee": RUN, "priority": "P3"}
    tasks = make_tasks(a={"priority": "P0"}, b=claimed)
    assert choose(tasks) == "b"
    assert choose(tasks, "b") == "a"
    assert choose(make_tasks(a={}, b={**claimed, "assignee": "r2"})) == "a"
    assert choose(make_tasks(a={}, b={**claimed, "status": Status.BLOCKED})) == "a"


def test_a_feature_keeps_the_order_of_its_document() -> None:
    tasks = make_tasks(
        f={"type": "epic"}, a={"epic": "f"}, b={"epic": "f", "priority": "P0"}, c={"priority": "P0"}
    )
    assert choose(tasks, feature="f") == "a"
    assert choose(tasks, epic="f") == "b"


def test_options_select_tasks() -> None:
    tasks = make_tasks(
        top={"type": "epic"},
        epic={"type": "epic", "epic": "top"},
        a={"epic": "epic", "labels": ("x",)},
        b={"labels": ("x", "y")},
        c={},
    )

    def select(**options: Any) -> set[str]:
        chosen = RunOptions(**options)
        return {name for name, task in tasks.items() if is_selected(tasks, chosen, task)}

    assert select() == {"top", "epic", "a", "b", "c"}
    assert select(task="c") == {"c"}
    assert select(epic="epic") == {"a"}
    assert select(epic="top") == {"epic", "a"}
    assert select(feature="top") == {"epic", "a"}
    assert select(label="x") == {"a", "b"}
    assert select(label="y") == {"b"}
    assert select(epic="top", label="y") == set()


def test_epics_in_a_circle_end_the_search() -> None:
    tasks = make_tasks(x={"type": "epic", "epic": "y"}, y={"type": "epic", "epic": "x"})
    tasks |= make_tasks(a={"epic": "x"}, b={"epic": "gone"})
    assert is_selected(tasks, RunOptions(epic="y"), tasks[TaskId("a")])
    assert not is_selected(tasks, RunOptions(epic="z"), tasks[TaskId("a")])
    assert not is_selected(tasks, RunOptions(epic="x"), tasks[TaskId("b")])


def test_unfinished_tasks_say_why() -> None:
    tasks = make_tasks(
        epic={"type": "epic"},
        done={"status": Status.DONE},
        failed={"status": Status.FAILED},
        stuck={"status": Status.BLOCKED, "blocked": Block(BlockType.SPEC_UNCLEAR, "which one?")},
        waits={"depends_on": ("failed",)},
        open={},
    )
    unfinished = {task.id: why for task, why in list_unfinished(tasks, RunOptions())}
    assert unfinished == {
        "failed": "failed",
        "stuck": "blocked: which one?",
        "waits": "waits for failed, which is failed",
        "open": "open",
    }
    assert [task.id for task, _ in list_unfinished(tasks, RunOptions(task="open"))] == ["open"]
