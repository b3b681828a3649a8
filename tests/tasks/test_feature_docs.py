"""The backend of feature documents: tasks are read, and only their states are written."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from difflib import ndiff
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Kedge, in_time

from kedge.errors import BrokenTasks, LockTimeout, ReadOnly, TaskNotFound, WrongState
from kedge.model.ids import TaskId
from kedge.model.task import Block, BlockType, Status, Task, validate
from kedge.tasks.backend import Backend, TaskChange
from kedge.tasks.board import Board
from kedge.tasks.feature_docs import FeatureDocs
from kedge.testing.tasks import StateSuite, draft

TASKS = """\
# Tasks: Mooring

Intro, with **Status:** of its own.

## Phase 1

### Task 1.1: Tie up `the ship`

Why it matters.

**Done when:**
- [ ] it is tied
- [x] it stays tied

#### Notes
```bash
### Task 9.9: not a task
**Status:** done
```

---

#### Task 1.2: Cast off ##
- **Depends on:** 1.1
- **Files:** `src/quay.py`
- **Done when:** the rope is loose
  and dry
- not a criterion

## Phase 2

## Task 2: Sail
**Depends on:** Task 1.1, Task 1.2 (both)
**Acceptance criteria:** it sails
"""


class TestFeatureDocs(StateSuite):
    leaves_nothing = False  # the line of the state stays

    def write(self, root: Path) -> tuple[str, str]:
        put(root, "### Task 1: Tie\n\n### Task 2: Cast off\n**Depends on:** 1\n")
        return "021-1", "021-2"

    def make(self, root: Path) -> Backend:
        return FeatureDocs(root)


def put(
    root: Path, text: str | bytes, feature: str = "021-mooring", name: str = "tasks.md"
) -> Path:
    path = root / "docs" / "features" / feature / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def board(root: Path) -> Board:
    return Board(FeatureDocs(root))


def diff(old: bytes, new: bytes) -> list[str]:
    """Return the removed and added lines, with a sign and their line endings."""
    lines = ndiff(old.decode().split("\n"), new.decode().split("\n"))
    return [line for line in lines if line[0] in "+-"]


@pytest.mark.parametrize(
    ("text", "done", "claimed"),
    [
        (
            "# T\n- [ ] 1.1 Tie\n  - Why: x\n- [ ] 1.2 Cast\n",
            "# T\n- [x] 1.1 Tie\n  - Why: x\n- [ ] 1.2 Cast\n",
            "# T\n- [ ] 1.1 Tie\n  - **Status:** in progress (claimed by ada)\n  - Why: x\n"
            "- [ ] 1.2 Cast\n",
        ),
        (
            "### [ ] Task 1.1: Tie\n",
            "### [x] Task 1.1: Tie\n",
            "### [ ] Task 1.1: Tie\n**Status:** in progress (claimed by ada)\n",
        ),
        (
            "Task 1.1: Tie\n---\ntext\n",
            "Task 1.1: Tie\n---\n**Status:** done\ntext\n",
            "Task 1.1: Tie\n---\n**Status:** in progress (claimed by ada)\ntext\n",
        ),
        (
            "**Task 1.1: Tie**\ntext\n",
            "**Task 1.1: Tie**\n**Status:** done\ntext\n",
            "**Task 1.1: Tie**\n**Status:** in progress (claimed by ada)\ntext\n",
        ),
    ],
)
def test_a_state_is_written_in_each_form_of_a_task(
    tmp_path: Path, text: str, done: str, claimed: str
) -> None:
    for end in ("\n", "\r\n"):
        path = put(tmp_path, text.replace("\n", end))
        board(tmp_path).claim("021-1.1", "ada")
        assert path.read_bytes().decode() == claimed.replace("\n", end)
        assert board(tmp_path).get("021-1.1").assignee == "ada"
        path = put(tmp_path, text.replace("\n", end))
        board(tmp_path).close("021-1.1")
        assert path.read_bytes().decode() == done.replace("\n", end)
        assert board(tmp_path).get("021-1.1").status is Status.DONE
        board(tmp_path).reopen("021-1.1")
        assert board(tmp_path).get("021-1.1").status is Status.OPEN


def test_a_table_row_is_read_but_never_written(tmp_path: Path) -> None:
    text = "| # | Task | Status |\n|---|---|---|\n| 1 | Tie | done |\n| 2 | Cast | open |\n"
    path = put(tmp_path, text)
    assert board(tmp_path).get("021-1").status is Status.DONE
    with pytest.raises(ReadOnly) as caught:
        board(tmp_path).claim("021-2", "ada")
    assert caught.value.hint == "edit docs/features/021-mooring/tasks.md:4"
    assert path.read_text() == text


def test_a_document_becomes_an_epic_with_tasks(tmp_path: Path) -> None:
    put(tmp_path, TASKS)
    listing = FeatureDocs(tmp_path).read()
    assert listing.warnings == ()
    epic, first, second, third = listing.tasks
    assert epic == Task(TaskId("021"), "Mooring", type="epic")
    assert first == Task(
        TaskId("021-1.1"),
        "Tie up `the ship`",
        epic=TaskId("021"),
        description="\n".join(TASKS.split("\n")[8:21]),
        acceptance=("it is tied", "it stays tied"),
    )
    assert second.acceptance == ("the rope is loose and dry",)
    assert second.depends_on == ("021-1.1",)
    assert second.description.startswith("- **Depends on:** 1.1\n- **Files:**")
    assert third.acceptance == ("it sails",)
    assert third.depends_on == ("021-1.1", "021-1.2")


def test_an_epic_is_titled_by_a_document_or_else_by_its_folder(tmp_path: Path) -> None:
    put(tmp_path, "no heading", "001-one")
    put(tmp_path, "# Tasks\n", "002-two")
    put(tmp_path, "# PRD: The second\n", "002-two", "prd.md")
    put(tmp_path, "```\n# code\n```\n", "003-three")
    put(tmp_path, "# Spec: The third\n# Other", "003-three", "spec.md")
    put(tmp_path, "# " + "x" * 600, "004-four")
    put(tmp_path, "# Task force", "005-five")
    titles = [task.title for task in FeatureDocs(tmp_path).read().tasks]
    assert titles == ["one", "The second", "The third", "x" * 500, "Task force"]


@pytest.mark.parametrize(
    ("meta", "epic", "task"),
    [
        ({"status": "completed"}, Status.DONE, Status.DONE),
        ({"status": "abandoned"}, Status.FAILED, Status.OPEN),
        ({"status": "active"}, Status.OPEN, Status.OPEN),
        ({"status": 7}, Status.OPEN, Status.OPEN),
        ([], Status.OPEN, Status.OPEN),
    ],
)
def test_the_meta_file_says_whether_a_feature_has_ended(
    tmp_path: Path, meta: Any, epic: Status, task: Status
) -> None:
    put(tmp_path, "## Task 1: x\n## Task 2: y\n**Status:** open\n")
    put(tmp_path, json.dumps(meta), name=".meta.json")
    tasks = board(tmp_path).tasks()
    assert board(tmp_path).warnings == ()
    assert tasks[TaskId("021")].status is epic
    assert tasks[TaskId("021-1")].status is task
    assert tasks[TaskId("021-2")].status is Status.OPEN
    ready = (
        [] if epic is Status.FAILED else ["021-2"] if task is Status.DONE else ["021-1", "021-2"]
    )
    assert [found.id for found in board(tmp_path).ready()] == ready


def test_features_with_the_same_number_are_named_by_their_folders(tmp_path: Path) -> None:
    put(tmp_path, "## Task 1: x\n", "002-sail")
    put(tmp_path, "## Task 1: y\n**Depends on:** 1\n", "002-dock")
    put(tmp_path, "## Task 1: z\n", "003-sink")
    ids = [task.id for task in FeatureDocs(tmp_path).read().tasks]
    assert ids == ["002-dock", "002-dock-1", "002-sail", "002-sail-1", "003", "003-1"]
    board(tmp_path).claim("002-sail-1", "ada")
    assert board(tmp_path).get("002-sail-1").assignee == "ada"
    with pytest.raises(TaskNotFound) as refused:
        board(tmp_path).get("002-1")
    assert refused.value.hint == "did you mean '002-dock-1' or '002-sail-1'?"


def test_each_unreadable_file_or_task_gives_one_warning(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    outside = tmp_path / "outside"
    put(outside, "## Task 1: secret\n", "030-out")
    put(root, "## Task 1: fine\n", "001-fine")
    put(root, "# T\n## Task 1: Käse\n".encode("latin-1"), "010-latin")
    put(root, b"## Task 1: x\n\0\n", "011-nul")
    put(root, "## Task 1: x\n", "twelve")
    (root / "docs/features/013-dir/tasks.md").mkdir(parents=True)
    (root / "docs/features/014-link").mkdir()
    (root / "docs/features/014-link/tasks.md").symlink_to(
        outside / "docs/features/030-out/tasks.md"
    )
    (root / "docs/features/015-linked").symlink_to(outside / "docs/features/030-out")
    (root / "docs/features/016-loop").mkdir()
    (root / "docs/features/016-loop/tasks.md").symlink_to("tasks.md")
    (root / "docs/features/017-pipe").mkdir()
    os.mkfifo(root / "docs/features/017-pipe/tasks.md")
    put(root, "## Task 1: a\n\n## Task 1: again\n## Task 2: c\n**Status:** who knows\n", "018-odd")
    put(root, f"## Task 1: {'x' * 501}\n## Task 2: d\n", "019-long")
    put(root, "## Task 1: e\n", "020-meta")
    put(root, "[" * 100_000, "020-meta", ".meta.json")
    put(root, "## Task 1: f\n", "040-link-meta")
    (root / "docs/features/040-link-meta/.meta.json").symlink_to(outside / "x")
    put(root, "not a feature", "041-plan", "plan.md")
    put(root, "not a feature", "README", "notes.md")
    listing = FeatureDocs(root).read()
    assert [task.title for task in listing.tasks if task.type == "task"] == [
        *("fine", "a", "d", "e", "f")
    ]
    short = [warning.removeprefix("docs/features/") for warning in listing.warnings]
    assert short == [
        "010-latin/tasks.md:2: it is not UTF-8",
        "011-nul/tasks.md:2: there is a NUL in it",
        "013-dir/tasks.md: is not a file",
        "014-link/tasks.md: is a link that leads out of the repository",
        "015-linked/tasks.md: is a link that leads out of the repository",
        "016-loop/tasks.md: cannot be read: too many levels of symbolic links",
        "017-pipe/tasks.md: is not a file",
        "018-odd/tasks.md:3: '018-1' is already defined in line 1",
        "018-odd/tasks.md:4: 'who knows' is not a status",
        "019-long/tasks.md:1: title has 501 characters; at most 500 are allowed",
        "020-meta/.meta.json: it is not JSON",
        "040-link-meta/.meta.json: is a link that leads out of the repository",
        "twelve: its name is not <number>-<name>",
    ]


def test_a_link_out_of_the_repository_is_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "outside", "## Task 1: secret\n")
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "docs").symlink_to(tmp_path / "outside" / "docs")
    listing = FeatureDocs(tmp_path / "repo").read()
    assert listing.tasks == ()
    assert listing.warnings == ("docs/features: leads out of the repository",)
    assert FeatureDocs(tmp_path / "nowhere").read().tasks == ()
    (tmp_path / "file" / "docs").mkdir(parents=True)
    (tmp_path / "file" / "docs" / "features").write_text("")
    assert FeatureDocs(tmp_path / "file").read().warnings == ("docs/features: not a directory",)


def test_hostile_documents_are_read_in_linear_time(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"## Task {n}: x\n" for n in range(20_000)), "001-many")
    line = "\n".join(" " * 50_000 + "x" for _ in range(3))
    hard = "(" * 100_000
    spaces = " " * 100_000
    text = f"## {spaces}x\n## Task 1: {spaces}\n## Task 2: y\n{line}\n"
    text += f"**Depends on:** {hard}\n## Task 3: z\n**Status:** done{spaces}x\n"
    put(tmp_path, text, "002-long")
    with in_time(5):
        listing = FeatureDocs(tmp_path).read()
    assert len(listing.tasks) == 20_000 + 1 + 2 + 1
    assert len(listing.warnings) == 1


def test_an_epic_with_an_unreadable_task_is_not_done(tmp_path: Path) -> None:
    put(tmp_path, "## Task 1: x\n**Status:** done\n## Task 2: y\n**Status:** who knows\n")
    assert board(tmp_path).get("021").status is Status.OPEN


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_state_is_one_line_below_the_heading(tmp_path: Path, end: str, mark: str) -> None:
    text = mark + TASKS.replace("\n", end) + "trailing  \t"
    path = put(tmp_path, text)
    cr = end.removesuffix("\n")
    old = path.read_bytes()

    def added() -> list[str]:
        new = path.read_bytes()
        lines, before = new.split(b"\n"), old.split(b"\n")
        if lines[7].startswith(b"**Status:**"):
            assert [*lines[:7], *lines[8:]] == before
        return diff(old, new)

    board(tmp_path).claim("021-1.1", "alice")
    assert added() == [f"+ **Status:** in progress (claimed by alice){cr}"]
    board(tmp_path).block("021-1.1", Block(BlockType.SPEC_UNCLEAR, "which tide?"))
    assert added() == [f"+ **Status:** blocked (spec-unclear): which tide?{cr}"]
    board(tmp_path).reopen("021-1.1")
    assert added() == [f"+ **Status:** open{cr}"]
    board(tmp_path).close("021-1.1", "sunk", failed=True)
    assert added() == [f"+ **Status:** failed: sunk{cr}"]
    board(tmp_path).reopen("021-1.1")
    board(tmp_path).close("021-1.1")
    assert added() == [f"+ **Status:** done{cr}"]
    board(tmp_path).reopen("021-1.1")
    board(tmp_path).close("021-1.1", "  tied ")
    assert added() == [f"+ **Status:** done: tied{cr}"]
    task = board(tmp_path).get("021-1.1")
    assert (task.status, task.close_reason, task.updated_at) == (Status.DONE, "tied", None)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "### Task 1: x\ntext\n\n- **Status**:  pending  \nmore\n",
            "### Task 1: x\ntext\n\n- **Status**:  in progress (claimed by ada)  \nmore\n",
        ),
        (
            "### Task 1: x\r\n**Status:**\r\nmore",
            "### Task 1: x\r\n**Status:** in progress (claimed by ada)\r\nmore",
        ),
        ("### Task 1: x", "### Task 1: x\n**Status:** in progress (claimed by ada)"),
        (
            "# a\r\n### Task 1: x",
            "# a\r\n### Task 1: x\r\n**Status:** in progress (claimed by ada)",
        ),
        (
            "### Task 1: x\n```\n**Status:** done\n```\n",
            "### Task 1: x\n**Status:** in progress (claimed by ada)\n```\n**Status:** done\n```\n",
        ),
    ],
)
def test_a_state_replaces_the_old_one_or_follows_the_heading(
    tmp_path: Path, text: str, wanted: str
) -> None:
    path = put(tmp_path, text)
    board(tmp_path).claim("021-1", "ada")
    assert path.read_bytes().decode() == wanted


def test_a_task_whose_boxes_are_ticked_can_be_reopened(tmp_path: Path) -> None:
    path = put(tmp_path, "## Task 1: x\n- [x] a\n## Task 2: y\n- [ ] b\n")
    assert [task.id for task in board(tmp_path).ready()] == ["021-2"]
    board(tmp_path).reopen("021-1")
    assert path.read_text().startswith("## Task 1: x\n**Status:** open\n- [x] a\n")
    assert [task.id for task in board(tmp_path).ready()] == ["021-1", "021-2"]
    put(tmp_path, '{"status": "completed"}', name=".meta.json")
    assert board(tmp_path).get("021-2").status is Status.DONE
    board(tmp_path).reopen("021-2")
    assert board(tmp_path).get("021-2").status is Status.OPEN


@pytest.mark.parametrize(
    "values",
    [
        {"title": "other"},
        {"description": "other"},
        {"acceptance": ("other",)},
        {"priority": "P0"},
        {"labels": ("a",)},
        {"depends_on": ()},
        {"scope_in": ("a",)},
        {"type": "bug"},
        {"epic": None},
        {"extra": {"a": 1}},
        {"assignee": "ada"},
        {"blocked": Block(BlockType.TOOLING, "x")},
        {"close_reason": "x"},
    ],
)
def test_only_the_state_can_be_changed(tmp_path: Path, values: dict[str, Any]) -> None:
    path = put(tmp_path, TASKS)
    backend = FeatureDocs(tmp_path)
    task = next(task for task in backend.read().tasks if task.id == "021-1.2")
    with pytest.raises(ReadOnly) as caught:
        backend.write([TaskChange(task, replace(task, **values))])
    assert caught.value.hint == "edit docs/features/021-mooring/tasks.md:23"
    assert path.read_text() == TASKS


def test_no_task_can_be_added(tmp_path: Path) -> None:
    path = put(tmp_path, TASKS)
    with pytest.raises(ReadOnly) as caught:
        board(tmp_path).add(draft("new"))
    assert "docs/features/<id>-<name>/tasks.md" in str(caught.value.hint)
    with pytest.raises(ReadOnly) as caught:
        board(tmp_path).add(draft("new", "021-9", epic=TaskId("021")))
    assert "docs/features/021-mooring/tasks.md:35" in str(caught.value.hint)
    assert path.read_text() == TASKS


def test_a_state_that_does_not_fit_one_line_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, TASKS)
    calls: list[Callable[[], object]] = [
        lambda: board(tmp_path).block("021-1.1", Block(BlockType.TOOLING, "two\nlines")),
        lambda: board(tmp_path).close("021-1.1", "two\r\nlines"),
        lambda: board(tmp_path).claim("021-1.1", "two\u2028lines"),
    ]
    for call in calls:
        with pytest.raises(
            ReadOnly, match=r"fit one line of docs/features/021-mooring/tasks\.md:7"
        ):
            call()
    with pytest.raises(ReadOnly, match="safely"):
        board(tmp_path).claim("021-1.1", "ada) : (x")
    assert path.read_text() == TASKS


def test_the_state_of_an_epic_follows_from_its_tasks(tmp_path: Path) -> None:
    path = put(tmp_path, TASKS)
    calls: list[Callable[[], object]] = [
        lambda: board(tmp_path).close("021", failed=True),
        lambda: board(tmp_path).block("021", Block(BlockType.TOOLING, "x")),
        lambda: board(tmp_path).update("021", lambda epic: replace(epic, assignee="ada")),
    ]
    for call in calls:
        with pytest.raises(ReadOnly, match=r"docs/features/021-mooring/\.meta\.json"):
            call()
    with pytest.raises(ReadOnly):
        board(tmp_path).update("021", lambda epic: replace(epic, title="x"))
    with pytest.raises(WrongState):
        board(tmp_path).close("021")
    put(tmp_path, '{"status": "abandoned"}', name=".meta.json")
    with pytest.raises(ReadOnly):
        board(tmp_path).reopen("021")
    assert path.read_text() == TASKS


def test_a_feature_from_its_first_claim_to_its_end(tmp_path: Path) -> None:
    path = put(tmp_path, TASKS)
    assert [task.id for task in board(tmp_path).ready()] == ["021-1.1"]
    with pytest.raises(WrongState):
        board(tmp_path).claim("021-1.2", "ada")
    board(tmp_path).claim("021-1.1", "ada")
    assert board(tmp_path).get("021-1.1").assignee == "ada"
    assert board(tmp_path).claim("021-1.1", "ada").task.assignee == "ada"
    with pytest.raises(WrongState):
        board(tmp_path).claim("021-1.1", "bob")
    board(tmp_path).block("021-1.1", Block(BlockType.EXTERNAL, "no tide"))
    assert board(tmp_path).ready() == []
    board(tmp_path).reopen("021-1.1")
    board(tmp_path).claim("021-1.1", "bob")
    board(tmp_path).close("021-1.1", "tied up")
    assert [task.id for task in board(tmp_path).ready()] == ["021-1.2"]
    board(tmp_path).close("021-1.2")
    assert board(tmp_path).get("021").status is Status.OPEN
    result = board(tmp_path).close("021-2")
    assert [(epic.id, epic.status) for epic in result.followed] == [("021", Status.DONE)]
    assert board(tmp_path).get("021").status is Status.DONE
    result = board(tmp_path).reopen("021-2")
    assert [(epic.id, epic.status) for epic in result.followed] == [("021", Status.OPEN)]
    assert board(tmp_path).get("021").status is Status.OPEN
    assert diff(TASKS.encode(), path.read_bytes()) == [
        "+ **Status:** done: tied up",
        "+ **Status:** done",
        "+ **Status:** open",
    ]


def test_a_document_that_changed_in_the_meantime_is_not_overwritten(tmp_path: Path) -> None:
    path = put(tmp_path, TASKS)
    backend = FeatureDocs(tmp_path)
    task = next(task for task in backend.read().tasks if task.id == "021-2")
    path.write_text(TASKS.replace("it sails", "it sinks"))
    with pytest.raises(BrokenTasks, match="somebody else has changed"):
        backend.write([TaskChange(task, replace(task, status=Status.DONE))])
    assert "**Status:** done" not in path.read_text().split("Task 2")[1]
    with FeatureDocs(tmp_path).lock(), pytest.raises(LockTimeout):
        Board(FeatureDocs(tmp_path, lock_timeout=0.05)).claim("021-1.1", "ada")


def test_all_changes_are_written_or_none(tmp_path: Path) -> None:
    one = put(tmp_path, "## Task 1: x\n## Task 2: y\n", "001-one")
    two = put(tmp_path, "## Task 1: x\n", "002-two")
    backend: Backend = FeatureDocs(tmp_path)
    tasks = {task.id: task for task in backend.read().tasks if task.type == "task"}
    done = [TaskChange(task, replace(task, status=Status.DONE)) for task in tasks.values()]
    (two.parent / ".tasks.md.kedge-new").mkdir()
    with pytest.raises(Exception, match="cannot write"):
        backend.write(done)
    assert one.read_text() == "## Task 1: x\n## Task 2: y\n"
    (two.parent / ".tasks.md.kedge-new").rmdir()
    backend.write(done)
    assert one.read_text() == "## Task 1: x\n**Status:** done\n## Task 2: y\n**Status:** done\n"
    assert two.read_text() == "## Task 1: x\n**Status:** done\n"


LINES = st.one_of(
    st.sampled_from(
        [
            *("# A", "## B", "### Task 1: one", "## Task 2.1: two", "#### Task 3: three  ", "```"),
            *(
                "- [ ] 1.1 box",
                "- [x] **1.2** box",
                "  - [ ] 1.3 box",
                "### [ ] Task 4: four",
                "---",
            ),
            *("**Task 5: five**", "Task 6: six", "1. seven", "<!--", "-->", "### T8: eight"),
            *("~~~", "````", "**Status:** pending", "- **Status**: done  ", "**Status:** odd"),
            *(
                "- [ ] open",
                "- [x] ticked",
                "**Done when:** x",
                "**Depends on:** 1",
                "",
                "  ",
                "---",
            ),
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"), max_size=12),
)


@given(
    st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n"])), max_size=25),
    st.sampled_from(
        [
            {"status": Status.DONE, "close_reason": "because"},
            {"status": Status.OPEN},
            {"status": Status.IN_PROGRESS, "assignee": "ada"},
            {"status": Status.BLOCKED, "blocked": Block(BlockType.TOOLING, "it: broke")},
        ]
    ),
    st.booleans(),
)
@settings(max_examples=300)
def test_a_change_of_state_changes_one_line_of_any_document(
    lines: list[tuple[str, str]], state: dict[str, Any], last_end: bool
) -> None:
    text = "".join(line + end for line, end in lines)
    text = text if last_end else text.rstrip("\r\n")
    plain = {"assignee": None, "blocked": None, "close_reason": None}
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        path = put(root, text)
        for task in FeatureDocs(root).read().tasks:
            if task.type == "epic":
                continue
            backend = FeatureDocs(root)
            before = {found.id: found for found in backend.read().tasks}
            old = path.read_bytes().split(b"\n")
            wanted = validate(replace(before[task.id], **{**plain, **state}))
            try:
                backend.write([TaskChange(before[task.id], wanted)])
            except ReadOnly as refused:
                assert refused.hint
                assert path.read_bytes().split(b"\n") == old
                continue
            after = {found.id: found for found in FeatureDocs(root).read().tasks}
            assert after[task.id] == wanted
            assert all(after[i] == before[i] for i in before if i not in (task.id, "021"))
            assert_one_change(old, path.read_bytes().split(b"\n"))


def assert_one_change(old: list[bytes], new: list[bytes]) -> None:
    """Check that one line was added or changed, and at most one box ticked or unticked."""
    lines = [index for index, line in enumerate(new) if b"**Status" in line]
    if len(new) > len(old):
        ended = [*old[:-1], old[-1] + b"\r"]  # a last line without an end gets one
        ways = [(before, new[:i] + new[i + 1 :]) for i in lines for before in (old, ended)]
    else:
        ways = [(old[:i] + old[i + 1 :], new[:i] + new[i + 1 :]) for i in lines]
        ways.append((old, new))
    assert any(
        count_boxes(before, after) <= 1 for before, after in ways if len(before) == len(after)
    )


def count_boxes(old: list[bytes], new: list[bytes]) -> int:
    """Return the number of lines that differ in their first box; 9 if others differ."""
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    box = re.compile(rb"\[[ xX]\]")
    boxes = all(box.sub(b"[]", a, count=1) == box.sub(b"[]", b, count=1) for a, b in pairs)
    return len(pairs) if boxes else 9


# Many tasks


@pytest.fixture
def many(repo: Path) -> Path:
    """A repository with 300 tasks, in 20 features."""
    for number in range(20):
        folder = repo / "docs" / "features" / f"{number:03d}-part"
        folder.mkdir(parents=True)
        task = "### Task 1.{}: Build it\n\n{}\n\n**Done when:**\n- [ ] it is green\n"
        tasks = [task.format(n, "Take care of the caller. " * 20) for n in range(1, 16)]
        (folder / "tasks.md").write_text("\n".join([f"# Part {number}\n", *tasks]))
    return repo


def test_many_tasks_are_read_once(many: Path, tmp_path: Path) -> None:
    times = []
    for _ in range(3):
        start = time.process_time()
        listing = FeatureDocs(many, cache=tmp_path / "cache.json").read()
        times.append(time.process_time() - start)
        assert len(listing.tasks) == 320
        assert listing == FeatureDocs(many).read()
    assert min(times[1:]) < times[0] / 2


def test_what_changed_is_read_again_though_the_rest_is_cached(many: Path, kedge: Kedge) -> None:
    before = kedge.json("task", "list")
    assert kedge.json("task", "list") == before
    kedge("task", "claim", "003-1.2", "--as", "ada")
    path = many / "docs" / "features" / "004-part" / "tasks.md"
    path.write_text(path.read_text().replace("Task 1.3: Build it", "Task 1.3: Paint it"))
    after = {one["id"]: one for one in kedge.json("task", "list")}
    assert after["003-1.2"]["assignee"] == "ada"
    assert after["004-1.3"]["title"] == "Paint it"
    (many / "docs" / "features" / "005-part" / ".meta.json").write_text('{"status": "completed"}')
    assert kedge.json("task", "show", "005-1.1")["status"] == "done"


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"version":1,"files":[]}', b"\xff\xfe"])
def test_a_damaged_cache_is_no_fault(many: Path, kedge: Kedge, damage: bytes) -> None:
    before = kedge.json("task", "list")
    cache = many / ".git" / "kedge" / "feature_tasks.json"
    cache.write_bytes(damage)
    assert kedge.json("task", "list") == before
    value = json.loads(cache.read_bytes())
    for one in value["files"].values():
        one["tasks"] = [{"id": 1}]
    cache.write_text(json.dumps(value))
    assert kedge.json("task", "list") == before


def test_a_folder_without_tasks_does_not_hide_the_documents_of_another(
    repo: Path, kedge: Kedge
) -> None:
    feature = repo / "docs" / "features" / "008-mooring"
    feature.mkdir(parents=True)
    (feature / "tasks.md").write_text("# Mooring\n\n### Task 8.2: Tie\n\n**Why:** Design C2\n")
    (feature / "design.md").write_text(
        "# Design\n\n## C1: Buoy\n\nRed.\n\n## C2: Bollard\n\nIron.\n"
    )
    sibling = repo / "docs" / "features" / "008-mooring-notes"
    sibling.mkdir()
    (sibling / "spec.md").write_text("# Notes\n")
    ran = kedge("prompt", "008-8.2")
    assert "Iron." in ran.out
    assert ran.err == ""
    assert "Iron." in kedge("feature", "scope", "008", "8.2").out
