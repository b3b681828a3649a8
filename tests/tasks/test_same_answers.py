"""Any sequence of operations gives the same answers on every writable backend."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_bd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.errors import KedgeError
from kedge.host.project import Project
from kedge.model.ids import TaskId
from kedge.model.task import PRIORITIES, Block, BlockType, Status, Task
from kedge.tasks.backend import Backend
from kedge.tasks.beads.backend import Beads
from kedge.tasks.board import Board, BoardChange, ImportResult
from kedge.tasks.jsonl import Jsonl
from kedge.tasks.task_master.backend import TaskMaster
from kedge.tasks.task_yaml.backend import TaskYaml
from kedge.testing.tasks import essence

Operation = Callable[[Board], Any]

IDS = st.sampled_from(["T-1", "T-2", "T-10", "E-1", "E-2"]).map(TaskId)
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], include_characters="\n\t"))
LINE = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1, max_size=30
)
ITEM = TEXT.filter(str.strip)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "title": st.one_of(LINE, st.sampled_from(["", "yes", "null", "2026-01-01", "- x", "# y"])),
        "type": st.sampled_from(["task", "bug", "epic", "Not valid"]),
        "priority": st.sampled_from([*PRIORITIES, "P7"]),
        "description": TEXT,
        "acceptance": st.lists(ITEM, max_size=3).map(tuple),
        "labels": st.lists(st.sampled_from(["a", "b", "x:y"]), unique=True).map(tuple),
        "epic": st.none() | IDS,
        "depends_on": st.lists(IDS, max_size=2, unique=True).map(tuple),
        "scope_in": st.lists(LINE.filter(str.strip), max_size=2).map(tuple),
        "scope_out": st.lists(LINE.filter(str.strip), max_size=2).map(tuple),
        "checks": st.lists(ITEM, max_size=2).map(tuple),
        "area": st.none() | LINE,
    },
)


def add(task_id: TaskId, fields: dict[str, Any]) -> Operation:
    return lambda board: board.add(Task(id=task_id, **{"title": "x", **fields}))


def update(task_id: TaskId, fields: dict[str, Any]) -> Operation:
    return lambda board: board.update(task_id, lambda task: replace(task, **fields))


def import_tasks(entries: list[tuple[TaskId, Status]]) -> Operation:
    drafts = [Task(id=task_id, title="imported", status=status) for task_id, status in entries]
    return lambda board: board.import_tasks(drafts)


OPERATIONS = st.one_of(
    st.builds(add, IDS, FIELDS),
    st.builds(add, IDS, st.just({})),
    st.builds(lambda i: add(i, {"type": "epic"}), st.sampled_from(["E-1", "E-2"]).map(TaskId)),
    st.builds(update, IDS, FIELDS),
    st.builds(lambda i, w: lambda b: b.claim(i, w), IDS, st.sampled_from(["ada", "bob"])),
    st.builds(
        lambda i, r, f: lambda b: b.close(i, r, failed=f),
        IDS,
        st.none() | ITEM,
        st.booleans(),
    ),
    st.builds(
        lambda i, t, r: lambda b: b.block(i, Block(t, r)), IDS, st.sampled_from(BlockType), ITEM
    ),
    st.builds(lambda i: lambda b: b.reopen(i), IDS),
    st.builds(
        lambda i, on, drop: lambda b: b.depend(i, on, drop),
        IDS,
        st.lists(IDS, max_size=2),
        st.lists(IDS, max_size=1),
    ),
    st.builds(
        import_tasks,
        st.lists(st.tuples(IDS, st.sampled_from([Status.OPEN, Status.DONE])), max_size=3),
    ),
)
SEQUENCES = st.lists(OPERATIONS, min_size=1, max_size=12)


def answer(board: Board, operation: Operation) -> Any:
    try:
        result = operation(board)
    except KedgeError as error:
        return type(error).__name__, error.message
    if isinstance(result, BoardChange):
        return essence(result.task), [essence(task) for task in result.followed]
    assert isinstance(result, ImportResult)
    return [essence(task) for task in result.added], result.skipped


def state(board: Board) -> Any:
    return (
        [essence(task) for task in board.tasks().values()],
        [task.id for task in board.ready()],
    )


def compare(backends: list[Callable[[], Backend]], operations: list[Operation]) -> None:
    for operation in operations:
        answers = [answer(Board(make()), operation) for make in backends]
        for other in answers[1:]:
            assert other == answers[0]
    states = [state(Board(make())) for make in backends]
    for one in states[1:]:
        assert one == states[0]


@settings(max_examples=120)
@given(operations=SEQUENCES)
def test_jsonl_and_task_yaml_give_the_same_answers(operations: list[Operation]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        one, two = Path(scratch, "one"), Path(scratch, "two")
        one.mkdir()
        two.mkdir()
        compare([lambda: Jsonl(Project(one, None)), lambda: TaskYaml(two)], operations)


@settings(max_examples=60)
@given(operations=SEQUENCES)
def test_jsonl_and_task_master_give_the_same_answers(operations: list[Operation]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        one, two = Path(scratch, "one"), Path(scratch, "two")
        one.mkdir()
        two.mkdir()
        compare([lambda: Jsonl(Project(one, None)), lambda: TaskMaster(two)], operations)


@pytest.fixture(scope="module")
def bd(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(fake_bd.install(tmp_path_factory.mktemp("bin")))


@settings(max_examples=20)
@given(operations=SEQUENCES)
def test_jsonl_and_beads_give_the_same_answers(bd: str, operations: list[Operation]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        one, two = Path(scratch, "one"), Path(scratch, "two")
        one.mkdir()
        two.mkdir()
        subprocess.run([bd, "init", "--prefix", "x"], cwd=two, check=True)
        compare([lambda: Jsonl(Project(one, None)), lambda: Beads(two, program=bd)], operations)
