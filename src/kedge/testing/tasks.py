"""The conformance suite for task backends.

Subclass `BackendSuite` in a pytest module, implement `make`, and run it:

    class TestMine(BackendSuite):
        def make(self, root: Path) -> Backend:
            return Mine(root)

A backend whose tasks are written by hand, where kedge changes only their states, subclasses
`StateSuite` instead.

Where it matters, a test opens the backend again, so that an answer comes from what was stored and
not from a cache. A test method takes pytest's `tmp_path`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kedge.errors import DependencyCycle, InvalidValue, KedgeError, TaskExists, WrongState
from kedge.model.ids import TaskId
from kedge.model.task import Block, BlockType, Status, Task
from kedge.tasks.backend import Backend
from kedge.tasks.board import Board

TIMES = ("created_at", "updated_at", "started_at", "closed_at")
UNSET = TaskId("")


def draft(title: str, task_id: str = "", **fields: Any) -> Task:
    return Task(id=TaskId(task_id), title=title, **fields)


def essence(task: Task) -> dict[str, Any]:
    """Return what must be the same on every backend: all but times and unknown fields."""
    data = replace(task, extra={}).data()
    return {name: value for name, value in data.items() if name not in TIMES}


class BackendSuite:
    """What every writable backend must do."""

    def make(self, root: Path) -> Backend:
        raise NotImplementedError

    def board(self, root: Path) -> Board:
        return Board(self.make(root))

    def test_a_new_backend_is_empty(self, tmp_path: Path) -> None:
        assert self.board(tmp_path).tasks() == {}
        assert self.board(tmp_path).ready() == []

    def test_every_field_comes_back(self, tmp_path: Path) -> None:
        self.board(tmp_path).add(draft("An epic", "E-1", type="epic"))
        self.board(tmp_path).add(draft("First", "T-1"))
        full = draft(
            "Tie up: «at the quay», 100 % #1",
            "T-2",
            type="bug",
            priority="P0",
            description="First line\n\n  indented\n- item\n\ttab\nlast line",
            acceptance=("it is tied", "a second line\nof the same criterion", "- with a dash"),
            labels=("harbour", "x:y"),
            epic=TaskId("E-1"),
            depends_on=(TaskId("T-1"),),
            scope_in=("src/quay/", "docs/*.md"),
            scope_out=("src/sea/",),
            checks=("make test", "python -c 'print(\"ok\")'"),
            area="backend",
        )
        self.board(tmp_path).add(full)
        found = self.board(tmp_path).get("T-2")
        assert essence(found) == essence(full)
        assert found.created_at is not None

    def test_unusual_text_comes_back_unchanged(self, tmp_path: Path) -> None:
        texts = [
            "-- starts like an option",
            "yes",
            "null",
            "1.0",
            "2026-01-01",
            " leading and trailing ",
            "tab\tand 'quotes' and \"double\" and `ticks` and \\ backslash",
            "äöü 漢字 🚢 e\u0301 \u2028 \u0085 \u00a0",
            "# hash: colon, [list] {map} & *alias !tag %x @y |pipe >fold",
            "line\n\nafter a blank one\n",
            "---\n...\n",
            "x" * 20_000,
        ]
        for number, text in enumerate(texts):
            self.board(tmp_path).add(
                draft("hard", f"T-{number}", description=text, acceptance=(text,), checks=(text,))
            )
        for number, text in enumerate(texts):
            found = self.board(tmp_path).get(f"T-{number}")
            assert found.description == text
            assert found.acceptance == (text,)
            assert found.checks == (text,)

    def test_a_task_without_id_gets_a_new_one(self, tmp_path: Path) -> None:
        ids = {self.board(tmp_path).add(draft(f"number {n}")).task.id for n in range(5)}
        assert len(ids) == 5
        assert set(self.board(tmp_path).tasks()) == ids

    def test_an_id_is_used_once(self, tmp_path: Path) -> None:
        self.board(tmp_path).add(draft("one", "T-1"))
        _assert_raises(TaskExists, lambda: self.board(tmp_path).add(draft("two", "T-1")))
        assert self.board(tmp_path).get("T-1").title == "one"

    def test_an_invalid_task_changes_nothing(self, tmp_path: Path) -> None:
        board = self.board(tmp_path)
        board.add(draft("one", "T-1"))
        for bad in (
            draft("", "T-2"),
            draft("two\nlines", "T-2"),
            draft("x", "../x"),
            draft("x", "T-2", priority="P9"),
            draft("x", "T-2", type="Not A Type"),
            draft("x", "T-2", description="a\0b"),
            draft("x", "T-2", description="é" * (1 << 20)),
            draft("x", "T-2", epic=TaskId("T-1")),
        ):
            _assert_raises(InvalidValue, lambda bad=bad: board.add(bad))
        assert list(self.board(tmp_path).tasks()) == ["T-1"]

    def test_the_life_of_a_task(self, tmp_path: Path) -> None:
        self.board(tmp_path).add(draft("one", "T-1"))
        claimed = self.board(tmp_path).claim("T-1", "ada").task
        assert (claimed.status, claimed.assignee) == (Status.IN_PROGRESS, "ada")
        assert self.board(tmp_path).get("T-1").assignee == "ada"
        assert self.board(tmp_path).claim("T-1", "ada").task.assignee == "ada"
        _assert_raises(WrongState, lambda: self.board(tmp_path).claim("T-1", "bob"))
        why = Block(BlockType.SPEC_UNCLEAR, "which tide?")
        self.board(tmp_path).block("T-1", why)
        assert self.board(tmp_path).get("T-1").blocked == why
        assert self.board(tmp_path).ready() == []
        reopened = self.board(tmp_path).reopen("T-1").task
        assert (reopened.status, reopened.blocked, reopened.assignee) == (Status.OPEN, None, None)
        assert [task.id for task in self.board(tmp_path).ready()] == ["T-1"]
        self.board(tmp_path).claim("T-1", "bob")
        self.board(tmp_path).close("T-1", "tied up")
        done = self.board(tmp_path).get("T-1")
        assert (done.status, done.close_reason) == (Status.DONE, "tied up")
        _assert_raises(WrongState, lambda: self.board(tmp_path).block("T-1", why))
        _assert_raises(WrongState, lambda: self.board(tmp_path).claim("T-1", "ada"))

    def test_a_failed_task_keeps_its_dependents_unready(self, tmp_path: Path) -> None:
        self.board(tmp_path).add(draft("one", "T-1"))
        self.board(tmp_path).add(draft("two", "T-2", depends_on=(TaskId("T-1"),)))
        assert [task.id for task in self.board(tmp_path).ready()] == ["T-1"]
        self.board(tmp_path).claim("T-1", "ada")
        self.board(tmp_path).close("T-1", "no way", failed=True)
        assert self.board(tmp_path).get("T-1").status is Status.FAILED
        assert self.board(tmp_path).ready() == []
        _assert_raises(WrongState, lambda: self.board(tmp_path).claim("T-2", "ada"))
        self.board(tmp_path).reopen("T-1")
        self.board(tmp_path).close("T-1")
        assert [task.id for task in self.board(tmp_path).ready()] == ["T-2"]

    def test_dependency_cycles_are_assert_raises(self, tmp_path: Path) -> None:
        board = self.board(tmp_path)
        board.add(draft("epic", "E-1", type="epic"))
        for number in (1, 2, 3):
            board.add(draft(f"number {number}", f"T-{number}"))
        board.depend("T-2", ["T-1"], [])
        board.depend("T-3", ["T-2"], [])
        _assert_raises(DependencyCycle, lambda: board.depend("T-1", ["T-3"], []))
        _assert_raises(DependencyCycle, lambda: board.depend("T-1", ["T-1"], []))
        board.update("T-1", lambda task: replace(task, epic=TaskId("E-1")))
        _assert_raises(DependencyCycle, lambda: board.depend("E-1", ["T-3"], []))
        _assert_raises(DependencyCycle, lambda: board.depend("T-1", ["E-1"], []))
        assert self.board(tmp_path).get("T-1").depends_on == ()
        board.depend("T-3", [], ["T-2"])
        assert self.board(tmp_path).get("T-3").depends_on == ()

    def test_an_epic_closes_with_its_last_task_and_opens_with_a_new_one(
        self, tmp_path: Path
    ) -> None:
        epic = TaskId("E-1")
        self.board(tmp_path).add(draft("epic", "E-1", type="epic"))
        for number in (1, 2):
            self.board(tmp_path).add(draft(f"number {number}", f"T-{number}", epic=epic))
        _assert_raises(WrongState, lambda: self.board(tmp_path).close("E-1"))
        self.board(tmp_path).close("T-1")
        assert self.board(tmp_path).get("E-1").status is Status.OPEN
        result = self.board(tmp_path).close("T-2")
        assert [task.id for task in result.followed] == ["E-1"]
        assert self.board(tmp_path).get("E-1").status is Status.DONE
        self.board(tmp_path).reopen("T-1")
        assert self.board(tmp_path).get("E-1").status is Status.OPEN
        self.board(tmp_path).close("T-1")
        self.board(tmp_path).add(draft("number 3", "T-3", epic=epic))
        assert self.board(tmp_path).get("E-1").status is Status.OPEN

    def test_an_update_changes_what_it_names(self, tmp_path: Path) -> None:
        self.board(tmp_path).add(
            draft("one", "T-1", labels=("a", "b"), acceptance=("x",), description="old")
        )
        self.board(tmp_path).update(
            "T-1",
            lambda task: replace(
                task, title="uno", priority="P1", labels=("b", "c"), description=""
            ),
        )
        found = self.board(tmp_path).get("T-1")
        assert (found.title, found.priority, found.description) == ("uno", "P1", "")
        assert found.labels == ("b", "c")
        assert found.acceptance == ("x",)

    def test_ready_tasks_are_sorted_by_priority_then_age(self, tmp_path: Path) -> None:
        for name, priority in (("T-1", "P3"), ("T-2", "P1"), ("T-3", "P1"), ("T-10", "P0")):
            self.board(tmp_path).add(draft("x", name, priority=priority))
        assert [task.id for task in self.board(tmp_path).ready()] == ["T-10", "T-2", "T-3", "T-1"]
        assert list(self.board(tmp_path).tasks()) == ["T-1", "T-2", "T-3", "T-10"]

    def test_an_import_keeps_ids_order_and_links(self, tmp_path: Path) -> None:
        drafts = [
            draft("epic", "E-1", type="epic"),
            draft("second first", "T-2", depends_on=(TaskId("T-1"),), epic=TaskId("E-1")),
            draft("then first", "T-1", status=Status.DONE, epic=TaskId("E-1")),
            draft("lost", "T-3", depends_on=(TaskId("T-99"),)),
        ]
        done = self.board(tmp_path).import_tasks(drafts)
        assert [task.id for task in done.added] == ["E-1", "T-2", "T-1", "T-3"]
        assert len(done.warnings) == 1
        assert "T-99" in done.warnings[0]
        board = self.board(tmp_path)
        assert list(board.tasks()) == ["E-1", "T-2", "T-1", "T-3"]
        assert board.get("T-1").status is Status.DONE
        assert [task.id for task in board.ready()] == ["T-2", "T-3"]
        again = self.board(tmp_path).import_tasks(drafts)
        assert again.added == ()
        assert list(again.skipped) == ["E-1", "T-2", "T-1", "T-3"]


class StateSuite:
    """What a backend must do with the states of tasks that others wrote.

    `write` makes a project with an epic of two open tasks, the second of which depends on the
    first, and returns their ids; `make` opens it. `leaves_nothing` is true if a task that is open
    again has the bytes that it had.
    """

    leaves_nothing = True

    def write(self, root: Path) -> tuple[str, str]:
        raise NotImplementedError

    def make(self, root: Path) -> Backend:
        raise NotImplementedError

    def board(self, root: Path) -> Board:
        return Board(self.make(root))

    def ready(self, root: Path) -> list[str]:
        return [task.id for task in self.board(root).ready()]

    def test_the_life_of_a_task(self, tmp_path: Path) -> None:
        one, _ = self.write(tmp_path)
        before = _read_files(tmp_path)
        assert self.board(tmp_path).claim(one, "ada").task.assignee == "ada"
        found = self.board(tmp_path).get(one)
        assert (found.status, found.assignee) == (Status.IN_PROGRESS, "ada")
        _assert_raises(WrongState, lambda: self.board(tmp_path).claim(one, "bob"))
        why = Block(BlockType.SPEC_UNCLEAR, "which tide?")
        self.board(tmp_path).block(one, why)
        assert self.board(tmp_path).get(one).blocked == why
        assert self.ready(tmp_path) == []
        self.board(tmp_path).reopen(one)
        found = self.board(tmp_path).get(one)
        assert (found.status, found.assignee, found.blocked) == (Status.OPEN, None, None)
        self.board(tmp_path).claim(one, "bob")
        self.board(tmp_path).close(one, "tied up")
        found = self.board(tmp_path).get(one)
        assert (found.status, found.close_reason) == (Status.DONE, "tied up")
        _assert_raises(WrongState, lambda: self.board(tmp_path).block(one, why))
        self.board(tmp_path).reopen(one)
        assert self.board(tmp_path).get(one).status is Status.OPEN
        if self.leaves_nothing:
            assert _read_files(tmp_path) == before

    def test_what_depends_on_a_task_waits_until_it_is_done(self, tmp_path: Path) -> None:
        one, two = self.write(tmp_path)
        assert self.ready(tmp_path) == [one]
        self.board(tmp_path).close(one, "no way", failed=True)
        assert self.board(tmp_path).get(one).status is Status.FAILED
        assert self.ready(tmp_path) == []
        _assert_raises(WrongState, lambda: self.board(tmp_path).claim(two, "ada"))
        self.board(tmp_path).reopen(one)
        self.board(tmp_path).close(one)
        assert self.ready(tmp_path) == [two]

    def test_an_epic_is_done_with_its_last_task(self, tmp_path: Path) -> None:
        one, two = self.write(tmp_path)
        epic = self.board(tmp_path).get(one).epic
        assert epic is not None
        self.board(tmp_path).close(one)
        assert self.board(tmp_path).get(epic).status is Status.OPEN
        result = self.board(tmp_path).close(two)
        assert epic in [task.id for task in result.followed]
        assert self.board(tmp_path).get(epic).status is Status.DONE
        self.board(tmp_path).reopen(two)
        assert self.board(tmp_path).get(epic).status is Status.OPEN


def _read_files(root: Path) -> dict[Path, bytes]:
    paths = (path for path in root.rglob("*") if ".kedge" not in path.parts and path.is_file())
    return {path: path.read_bytes() for path in paths}


def _assert_raises(kind: type[KedgeError], call: Any) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")
