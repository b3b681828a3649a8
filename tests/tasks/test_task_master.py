"""Taskmaster's tasks.json: the conformance suite, and files as Taskmaster writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import Kedge

from kedge.errors import ReadOnly
from kedge.model.task import Status
from kedge.tasks.backend import Backend
from kedge.tasks.board import Board
from kedge.tasks.task_master.backend import TaskMaster
from kedge.testing.tasks import BackendSuite, StateSuite

FILE = """\
{
  "master": {
    "tasks": [
      {
        "id": 1,
        "title": "Lay the keel",
        "description": "Of oak.",
        "details": "Create src/keel.py.\\nNo nails.",
        "testStrategy": "Unit tests pass.",
        "priority": "high",
        "dependencies": [],
        "status": "done",
        "subtasks": [],
        "complexity": 7.50
      },
      {
        "id": 2,
        "title": "Raise the frames",
        "description": "Gr\\u00f6\\u00dfe beachten",
        "priority": "medium",
        "dependencies": [
          1
        ],
        "status": "in-progress",
        "subtasks": [
          {"id": 1, "title": "Bow", "description": "", "dependencies": [], "status": "done"},
          {"id": 2, "title": "Stern", "description": "", "dependencies": [1], "status": "pending"},
          {
            "id": 10,
            "title": "Midships",
            "dependencies": ["2.2"],
            "status": "pending",
            "parentTaskId": 2
          }
        ]
      },
      { "id": 3, "title": "Caulk", "dependencies": [2], "status": "pending", "priority": "low" },
      { "id": 4, "title": "Rig", "dependencies": [], "status": "deferred" },
      { "id": 5, "title": "Gild", "dependencies": [], "status": "cancelled" },
      { "id": 6, "title": "Paint", "dependencies": [], "status": "review" },
      { "id": 7, "title": "Name", "dependencies": [99], "status": "somewhere" }
    ],
    "metadata": { "created": "2026-01-01T00:00:00.000Z" }
  },
  "sea trial": {
    "tasks": [
      { "id": 1, "title": "Cast off", "dependencies": [], "status": "pending" },
      { "id": 2, "title": "Sail", "dependencies": [1], "status": "pending" }
    ],
    "metadata": {}
  }
}"""


class TestTaskMaster(BackendSuite):
    def make(self, root: Path) -> Backend:
        return TaskMaster(root)


class TestStates(StateSuite):
    def write(self, root: Path) -> tuple[str, str]:
        path = root / "tasks" / "tasks.json"
        path.parent.mkdir()
        parts = (
            '{"id": 1, "title": "Tie", "status": "pending"}, '
            '{"id": 2, "title": "Cast off", "status": "pending", "dependencies": [1]}'
        )
        task = f'{{"id": 1, "title": "Moor", "status": "pending", "subtasks": [{parts}]}}'
        path.write_text(f'{{"tasks": [{task}]}}\n')
        return "1.1", "1.2"

    def make(self, root: Path) -> Backend:
        return TaskMaster(root)


@pytest.fixture
def path(repo: Path) -> Path:
    path = repo / ".taskmaster" / "tasks" / "tasks.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(FILE.encode())
    return path


def test_tasks_subtasks_and_tags_are_found(kedge: Kedge, path: Path) -> None:
    ran = kedge("-v", "task", "list", "--json")
    assert "tasks are kept by the task_master backend" in ran.err
    found = {one["id"]: one for one in ran.data}
    trial = next(one for one in found if one.startswith("sea-trial")).rpartition("-")[0]
    statuses = {
        "1": "done",
        "2": "in_progress",
        "2.1": "done",
        "2.2": "open",
        "2.10": "open",
        "3": "open",
        "4": "blocked",
        "5": "failed",
        "6": "in_progress",
        "7": "blocked",
        f"{trial}-1": "open",
        f"{trial}-2": "open",
    }
    assert {name: one["status"] for name, one in found.items()} == statuses
    needs = {name: one["depends_on"] for name, one in found.items() if one["depends_on"]}
    assert needs == {
        "2": ["1"],
        "2.2": ["2.1"],
        "2.10": ["2.2"],
        "3": ["2"],
        "7": ["99"],
        f"{trial}-2": [f"{trial}-1"],
    }
    assert (found["2"]["type"], found["2.1"]["epic"], found["3"]["epic"]) == ("epic", "2", None)
    assert found["1"]["description"] == "Of oak.\n\nCreate src/keel.py.\nNo nails."
    assert found["1"]["acceptance"] == ["Unit tests pass."]
    assert [found[name]["priority"] for name in ("1", "2", "2.1", "3", "4")] == [
        *("P1", "P2", "P2", "P3", "P2")
    ]
    assert found["7"]["blocked"]["reason"] == "its status is somewhere"
    assert found[f"{trial}-1"]["labels"] == ["sea trial"]
    assert [one["id"] for one in kedge.json("task", "ready")] == ["2.2", f"{trial}-1"]


def test_a_status_write_changes_the_status_alone(kedge: Kedge, path: Path) -> None:
    kedge("task", "close", "2.2")
    stern = '"title": "Stern", "description": "", "dependencies": [1], "status": '
    text = FILE.replace(stern + '"pending"', stern + '"done"')
    assert path.read_bytes().decode() == text
    kedge("task", "close", "2.10")
    midships = '["2.2"],\n            "status": '
    text = text.replace(f'{midships}"pending"', f'{midships}"done"')
    text = text.replace('"status": "in-progress"', '"status": "done"')
    assert path.read_bytes().decode() == text, "the task is done with its last subtask"
    kedge("task", "reopen", "2.10")
    kedge("task", "reopen", "2.2")
    assert path.read_bytes().decode() == FILE.replace('"in-progress"', '"pending"')


def test_a_claim_is_kept_beside_the_status_and_goes(kedge: Kedge, path: Path) -> None:
    kedge("task", "claim", "2.2", "--as", "ada")
    text = path.read_text()
    assert '"status": "in-progress", "kedge": { "assignee": "ada" }}' in text
    assert kedge.json("task", "show", "2.2")["assignee"] == "ada"
    assert json.loads(text)["master"]["tasks"][0]["complexity"] == 7.5
    kedge("task", "block", "2.2", "--type", "tooling", "--reason", "no wood")
    assert kedge.json("task", "show", "2.2")["blocked"] == {"type": "tooling", "reason": "no wood"}
    kedge("task", "reopen", "2.2")
    assert path.read_bytes().decode() == FILE


def test_fields_are_edited_in_place(kedge: Kedge, path: Path) -> None:
    kedge("task", "dep", "3", "--on", "1")
    kedge("task", "update", "3", "--priority", "P1", "--title", "Caulk it")
    old = (
        '{ "id": 3, "title": "Caulk", "dependencies": [2], "status": "pending", "priority": "low" }'
    )
    new = (
        '{ "id": 3, "title": "Caulk it", "dependencies": [2, 1], "status": "pending", '
        '"priority": "high" }'
    )
    assert path.read_text() == FILE.replace(old, new)
    ran = kedge("task", "update", "1", "--description", "Of steel.", code=1)
    assert "edit the field `details` in the file" in ran.err
    assert path.read_text() == FILE.replace(old, new)


def test_a_task_is_added_as_taskmaster_would(kedge: Kedge, repo: Path, path: Path) -> None:
    added = kedge("task", "add", "Launch", "--depends", "3", "--accept", "it floats").out.strip()
    assert added == "8"
    last = json.loads(path.read_text())["master"]["tasks"][-1]
    assert (last["id"], last["dependencies"], last["status"]) == (8, [3], "pending")
    assert last["kedge"]["acceptance"] == ["it floats"]
    kedge("task", "add", "Keelson", "--epic", "2", "--id", "2.11")
    assert json.loads(path.read_text())["master"]["tasks"][1]["subtasks"][-1]["id"] == 11
    assert kedge.json("task", "show", "2.11")["epic"] == "2"
    (repo / ".taskmaster" / "state.json").write_text('{"currentTag": "sea trial"}')
    added = kedge("task", "add", "Return").out.strip()
    assert added.endswith("-3")
    assert json.loads(path.read_text())["sea trial"]["tasks"][-1]["id"] == 3


def test_prompt_and_anchor(kedge: Kedge, path: Path) -> None:
    text = kedge("prompt", "3").out
    for part in ("Task ID: 3", "Held up: waits for 2", "Taskmaster's `tasks.json`"):
        assert part in text
    assert "Unit tests pass." in kedge("anchor", "1").out


@pytest.mark.parametrize("data", [b'{"tasks": [', b"[]", b'{"a": 1}', b"\xff"])
def test_a_broken_file_stops_with_its_name(kedge: Kedge, path: Path, data: bytes) -> None:
    path.write_bytes(data)
    ran = kedge("task", "list", code=1)
    assert ran.err.startswith("error: .taskmaster/tasks/tasks.json")
    kedge("task", "add", "x", code=1)
    assert path.read_bytes() == data


def test_odd_tasks_are_warnings(kedge: Kedge, path: Path) -> None:
    tasks = [
        {"id": 1, "title": "one", "status": "done", "subtasks": [{"id": 1, "title": "part"}]},
        *({"id": 1, "title": "again"}, {"title": "no id"}, {"id": "a b", "title": "x"}, 7),
        {"id": "slug-id", "title": "A" * 600, "dependencies": ["1", "1.1", None]},
        {"id": 3},
    ]
    path.write_text(json.dumps({"tasks": tasks}))
    ran = kedge("task", "list", "--problems")
    assert [line.partition("tasks.json: ")[2] for line in ran.out.splitlines()] == [
        *("tasks.2: a task has no id", "tasks.3: 'a b' is not a valid id"),
        *("tasks.4: a task has no id", "task 1 of master: the id '1' is used twice"),
        "task 3 of master: it has no title",
    ]
    found = kedge.json("task", "list")
    assert [(one["id"], one["status"]) for one in found] == [
        *(("1", "done"), ("1.1", "done"), ("slug-id", "open")),
    ]
    assert found[-1]["depends_on"] == ["1", "1.1"]


def test_a_subtask_without_a_status_keeps_that_of_its_task(tmp_path: Path) -> None:
    path = tmp_path / "tasks" / "tasks.json"
    path.parent.mkdir()
    parts = '{"id": 1, "title": "b"}, {"id": 2, "title": "c"}'
    task = f'{{"id": 1, "title": "a", "status": "done", "dependencies": [], "subtasks": [{parts}]}}'
    path.write_text(f'{{"tasks": [{task}]}}')
    board = Board(TaskMaster(tmp_path))
    board.reopen("1.1")
    statuses = [task.status.value for task in board.tasks().values()]
    assert statuses == ["open", "open", "done"]


def test_ids_of_fractions_keep_their_zeros(tmp_path: Path) -> None:
    path = tmp_path / "tasks" / "tasks.json"
    path.parent.mkdir()
    parts = ", ".join(f'{{"id": 1.{n}, "title": "{n}", "status": "pending"}}' for n in (1, 10))
    path.write_text(
        f'{{"tasks": [{{"id": 1, "title": "a", "dependencies": [], "subtasks": [{parts}]}}]}}'
    )
    board = Board(TaskMaster(tmp_path))
    assert list(board.tasks()) == ["1", "1.1", "1.10"]
    board.close("1.10")
    assert '{"id": 1.10, "title": "10", "status": "done"}' in path.read_text()
    assert board.get("1.1").status is Status.OPEN


def test_a_tasks_json_of_another_program_is_left_alone(kedge: Kedge, repo: Path) -> None:
    (repo / "tasks").mkdir()
    (repo / "tasks" / "tasks.json").write_text('[{"id": 1, "description": "x", "status": "todo"}]')
    assert "kept by the jsonl backend" in kedge("-v", "task", "list").err


def test_a_duplicate_key_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / ".taskmaster/tasks/tasks.json"
    path.parent.mkdir(parents=True)
    text = '{"tasks": [{"id": 1, "title": "a", "status": "done", "status": "pending"}]}'
    path.write_text(text)
    with pytest.raises(ReadOnly, match="a second"):
        Board(TaskMaster(tmp_path)).close("1")
    assert path.read_text() == text
