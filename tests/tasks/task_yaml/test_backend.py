"""Task files: every spelling is read, and unchanged parts keep their bytes."""

from __future__ import annotations

import os
import string
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from difflib import ndiff
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Kedge, in_time

from kedge.errors import BrokenTasks, FileError, LockTimeout, ReadOnly, TaskExists, WrongState
from kedge.model.ids import TaskId
from kedge.model.task import Block, BlockType, Status, Task, validate
from kedge.tasks.backend import Backend, TaskChange
from kedge.tasks.board import Board
from kedge.tasks.task_yaml.backend import TaskYaml
from kedge.testing.tasks import BackendSuite, draft


class TestTaskYaml(BackendSuite):
    def make(self, root: Path) -> Backend:
        return TaskYaml(root)


@pytest.fixture(params=["c", "python"])
def _any_loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML may be installed without its C parser: both must behave alike."""
    if request.param == "python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    elif not yaml.__with_libyaml__:
        pytest.skip("this PyYAML has no C parser")


both_loaders = pytest.mark.usefixtures("_any_loader")


def put(root: Path, text: str | bytes, name: str = "a.task.yaml") -> Path:
    path = root / "tasks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read_one(root: Path, text: str | bytes, name: str = "a.task.yaml") -> Task:
    put(root, text, name)
    listing = TaskYaml(root).read()
    assert listing.warnings == ()
    (task,) = listing.tasks
    return task


def change(root: Path, **values: Any) -> str:
    """Change the only task, check that the change was stored, and return the file's text."""
    backend = TaskYaml(root)
    (task,) = backend.read().tasks
    backend.write([TaskChange(task, replace(task, **values))])
    (found,) = TaskYaml(root).read().tasks
    assert found == replace(task, **values)
    (path,) = (root / "tasks").iterdir()
    return path.read_bytes().decode()


def diff(old: str, new: str) -> list[str]:
    """Return the removed and added lines in order, with their signs."""
    lines = ndiff(old.splitlines(keepends=True), new.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


@both_loaders
def test_every_field_of_a_file_is_read(tmp_path: Path) -> None:
    text = """\
        # written by hand
        schema_version: "1.1"
        id: TASK-0007
        title: "Crop: keep the bounds"
        type: Feature
        status: todo
        priority: P0
        area: mobile
        parent: TASK-0001
        tags: [image, ui]
        assignee: ada
        description: |
          First line.

            indented
        scope:
          in:
            - src/crop.ts
            - Unquoted: colon   # a comment
          out: everything else
          notes: by hand
        acceptance_criteria:
          - it is cropped
          - 3
          - 2026-01-02
          - criteria: handlers stay small
            standards_ref: standards/x.md
          - >
            folded
            text
          -
        qa:
          commands: make test
        validation:
          commands:
            - cmd: make lint
              description: style
          manual_checks: [look at it]
        depends_on: [TASK-0002]
        blocked_by: [TASK-0003, TASK-0002]
        close_reason: null
        created_at: 2026-01-01T10:00:00Z
        standards: [standards/global.md]
        agent_completion_state: {implementer: done, since: 2026-02-03, at: 2026-02-03 04:05:06}
        order: 7
        unblocker: false
        ratio: .inf
        never: 2026-99-99
        shared: &shared {a: 1}
        merged: {<<: *shared, b: 2}
        """
    assert read_one(tmp_path, dedent(text)) == Task(
        id=TaskId("TASK-0007"),
        title="Crop: keep the bounds",
        type="feature",
        status=Status.OPEN,
        priority="P0",
        area="mobile",
        epic=TaskId("TASK-0001"),
        labels=("image", "ui"),
        assignee="ada",
        description="First line.\n\n  indented\n",
        scope_in=("src/crop.ts", "Unquoted: colon"),
        scope_out=("everything else",),
        acceptance=("it is cropped", "3", "2026-01-02", "handlers stay small", "folded text"),
        checks=("make test", "make lint"),
        depends_on=(TaskId("TASK-0002"), TaskId("TASK-0003")),
        created_at="2026-01-01T10:00:00Z",
        extra={
            "schema_version": "1.1",
            "scope": {"notes": "by hand"},
            "validation": {"manual_checks": ["look at it"]},
            "standards": ["standards/global.md"],
            "agent_completion_state": {
                "implementer": "done",
                "since": "2026-02-03",
                "at": "2026-02-03T04:05:06",
            },
            "order": 7,
            "unblocker": False,
            "ratio": ".inf",
            "never": "2026-99-99",
            "shared": {"a": 1},
            "merged": {"a": 1, "b": 2},
        },
    )


@pytest.mark.parametrize(
    ("said", "field", "value"),
    [
        ("acceptance: one", "acceptance", ("one",)),
        ("acceptance_criteria: [yes, 1.50, 0x10]", "acceptance", ("yes", "1.50", "0x10")),
        ("acceptance_criteria: {must: [a], gates: [b, c]}", "acceptance", ("a", "b", "c")),
        ("acceptance_criteria:", "acceptance", ()),
        ("scope_in: [a]", "scope_in", ("a",)),
        ("scope: [a, b]", "scope_in", ("a", "b")),
        ("scope_out: [b]", "scope_out", ("b",)),
        ("scope:", "scope_in", ()),
        ("checks: [make]", "checks", ("make",)),
        ("validation: {pipeline: [{command: make all}]}", "checks", ("make all",)),
        ("dependencies: A-1", "depends_on", ("A-1",)),
        ("blocked_by: [A-1]", "depends_on", ("A-1",)),
        ("labels: [a]\ntags: [b, a]", "labels", ("a", "b")),
        ("epic: E-1", "epic", "E-1"),
        ("epic: null\nparent: E-1", "epic", "E-1"),
        ("epic: ''", "epic", None),
        ("priority: ''\nstatus: ''", "priority", "P2"),
        ("priority: 0", "priority", "P0"),
        ("priority: '4'", "priority", "P4"),
        ("priority: p1", "priority", "P1"),
        ("priority: critical", "priority", "P0"),
        ("priority: High", "priority", "P1"),
        ("priority: medium", "priority", "P2"),
        ("priority: low", "priority", "P3"),
        ("type: Bug Fix", "type", "bug-fix"),
        ("area: 12", "area", "12"),
        ("title: yes", "title", "yes"),
        ("title: >\n  folded\n  title", "title", "folded title"),
        ("id: 12", "id", "12"),
        ("description: 'as: it # is  '", "description", "as: it # is  "),
        ("blocked_reason: no access", "blocked", Block(BlockType.EXTERNAL, "no access")),
        (
            "blocked_reason: vague\nblocked_type: spec_unclear",
            "blocked",
            Block(BlockType.SPEC_UNCLEAR, "vague"),
        ),
        ("blocked: {type: tooling, reason: x}", "blocked", Block(BlockType.TOOLING, "x")),
        ("blocked: waiting for them", "blocked", Block(BlockType.EXTERNAL, "waiting for them")),
        ("blocked: true", "blocked", Block(BlockType.EXTERNAL, "")),
        ("blocked: false", "blocked", None),
        ("blocked_reason: null", "blocked", None),
    ],
)
def test_every_spelling_of_a_field_is_read(
    tmp_path: Path, said: str, field: str, value: Any
) -> None:
    title = "" if "title:" in said else "title: x\n"
    task = read_one(tmp_path, title + said + "\n", "T-1.task.yaml")
    assert getattr(task, field) == value
    assert task.extra == {}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status.OPEN, ["open", "todo", "TODO", "To Do", "pending", "draft", "ready", "null", ""]),
        (Status.IN_PROGRESS, ["in_progress", "in-progress", "In Progress", "doing"]),
        (Status.BLOCKED, ["blocked", "on hold"]),
        (Status.FAILED, ["failed", "cancelled", "abandoned"]),
        (Status.DONE, ["done", "Completed", "complete", "closed"]),
    ],
)
def test_every_word_for_a_status_is_read(tmp_path: Path, status: Status, words: list[str]) -> None:
    for word in words:
        assert read_one(tmp_path, f"title: x\nstatus: {word}\n").status is status


def test_the_file_name_is_the_id_if_the_file_has_none(tmp_path: Path) -> None:
    put(tmp_path, "title: x", "TASK-0007-crop.task.yaml")
    put(tmp_path, "title: y", "TASK-8.task.yml")
    put(tmp_path, "title: z\nid: other", "mobile/ui/z.task.yaml")
    put(tmp_path, "title: not a task", "notes.yaml")
    put(tmp_path, "title: not a task", "._TASK-8.task.yml")
    listing = TaskYaml(tmp_path).read()
    assert [task.id for task in listing.tasks] == ["TASK-0007-crop", "TASK-8", "other"]
    assert listing.warnings == ()


def nested(depth: int) -> str:
    return "title: x\ndeep: " + "[" * depth + "]" * depth + "\n"


BOMB = "title: x\na: &a [1,2,3,4,5,6,7,8,9,10]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 10)}]\n"
    for before, name in zip("abcdefghij", "bcdefghijk", strict=True)
)


@both_loaders
@pytest.mark.parametrize(
    ("data", "line", "says"),
    [
        ("id: x\ntitle: y\n  bad: indent\n", 3, "not allowed"),
        ("title: 'open\nid: x\n", 3, "quoted"),
        ("id: x\n\ttab: here\n", 2, ""),
        ("# only a comment\n", 1, "no task"),
        ("", 1, "no task"),
        ("- a\n- b\n", 1, "mapping"),
        ("just text\n", 1, "mapping"),
        ("title: x\n---\ntitle: y\n", 2, "document"),
        ("id: x\n", 1, "title"),
        ("id: x\ntitle: [a]\n", 2, "'title' must be a string"),
        ("id: x\ntitle: y\nlabels: {a: b}\n", 3, "'labels' must be a list"),
        ("id: x\ntitle: y\nlabels:\n  - a\n  - [b]\n", 5, "'labels' must be a string"),
        ("id: x\ntitle: y\nchecks:\n  - {name: a, does: b}\n", 4, "'checks'"),
        ("id: x\ntitle: y\n\nstatus: someday\n", 4, "'someday' is not a status"),
        ("id: x\ntitle: y\npriority: P9\n", 3, "'P9' is not a priority"),
        ("id: x\ntitle: y\ntype: '!'\n", 3, "type"),
        ("title: y\nblocked_type: weather\n", 2, "weather"),
        ("title: x\nid: ../x\n", 2, "'../x' is not a valid id"),
        ("title: x\nepic: a b\n", 2, "'a b' is not a valid id"),
        ("title: x\ndepends_on:\n  - ok\n  - not/ok\n", 2, "'not/ok' is not a valid id"),
        ("title: x\nstatus: open\nstatus: done\n", 3, "duplicate key 'status'"),
        ("title: x\n? [a, b]\n: c\n", 2, "a key must be a string"),
        ("base: &b {title: x}\n<<: *b\n", 2, "a key must be a string"),
        ("title: x\nloop: &l [*l]\n", 2, "refers to its own parent"),
        ('title: "a\\0b"\n', 1, "U+0000"),
        ("title: x\ny: a\x07b\n", 2, "U+0007"),
        (b"title: x\ny: a\0b\n", 2, "NUL"),
        ("title: x\narea: Käse\n".encode("latin-1"), 2, "UTF-8"),
        (b"\xff\xfet\0i\0", 1, "UTF-8"),
        (nested(1_000), 2, "nested too deeply"),
        (nested(200_000), 2, "nested too deeply"),
        ("title: x\ny:\n  " + "- " * 100_000 + "z\n", 3, "nested too deeply"),
        (BOMB, 6, "expand"),
    ],
)
def test_a_malformed_file_is_one_warning_with_its_line(
    tmp_path: Path, data: str | bytes, line: int, says: str
) -> None:
    put(tmp_path, data)
    put(tmp_path, "title: fine", "b.task.yaml")
    listing = TaskYaml(tmp_path).read()
    assert [task.title for task in listing.tasks] == ["fine"]
    (warning,) = listing.warnings
    assert warning.startswith(f"tasks/a.task.yaml:{line}: ")
    assert says in warning
    assert "\n" not in warning


def test_a_second_file_with_the_same_id_is_skipped(tmp_path: Path) -> None:
    put(tmp_path, "id: T-1\ntitle: first", "a.task.yaml")
    put(tmp_path, "title: second\nid: T-1", "b.task.yaml")
    listing = TaskYaml(tmp_path).read()
    assert [task.title for task in listing.tasks] == ["first"]
    assert listing.warnings == ("tasks/b.task.yaml:2: tasks/a.task.yaml has the id 'T-1' already",)


def test_finished_files_with_the_same_id_are_listed_under_one_of_their_own(
    repo: Path, kedge: Kedge
) -> None:
    put(repo, "id: T-1\ntitle: old\nstatus: done", "Archive/T-1.task.yaml")
    put(repo, "id: T-1\ntitle: open", "T-1.task.yaml")
    put(repo, "id: T-1\ntitle: older\nstatus: done  # at last", "Archive/T-1-first.task.yaml")
    tasks = {one["id"]: one for one in kedge.json("task", "list")}
    assert {i: one["title"] for i, one in tasks.items()} == {
        "T-1": "open",
        "Archive_T-1": "old",
        "Archive_T-1-first": "older",
    }
    kedge("task", "close", "Archive_T-1-first", "--reason", "in 2019")
    text = (repo / "tasks" / "Archive" / "T-1-first.task.yaml").read_text()
    assert text.startswith("id: T-1\ntitle: older\nstatus: done  # at last\n")
    assert "in 2019" in text
    ran = kedge("task", "reopen", "Archive_T-1", code=1)
    assert "another task has its id" in ran.err
    kedge("task", "claim", "T-1")
    assert "in_progress" in kedge("task", "show", "T-1").out.replace(" ", "_")


def test_a_finished_duplicate_that_is_loaded_is_no_warning(repo: Path, kedge: Kedge) -> None:
    put(repo, "id: T-1\ntitle: open", "a.task.yaml")
    put(repo, "id: T-1\ntitle: old\nstatus: done", "old.task.yaml")
    for command in ("list", "ready"):
        assert kedge("task", command).err == ""
    assert kedge("task", "claim", "T-1").err == ""
    (line,) = kedge("task", "list", "--problems").out.splitlines()
    assert line.endswith("a.task.yaml has the id 'T-1' already; it is listed as old_T-1")


def test_many_problems_are_one_line_and_listed_on_request(repo: Path, kedge: Kedge) -> None:
    put(repo, "id: T-1\ntitle: open", "a.task.yaml")
    for number in range(20):
        put(repo, "id: T-1\ntitle: open", f"b{number:02d}.task.yaml")
    for command in (["task", "list"], ["task", "ready"], ["prompt", "T-1"], ["anchor", "T-1"]):
        warnings = [one for one in kedge(*command).err.splitlines() if "problem" in one]
        words = "20 problems in the task files: `kedge task list --problems` lists them"
        assert warnings == [f"warning: {words}"]
    lines = kedge("task", "list", "--problems").out.splitlines()
    assert len(lines) == 20
    assert lines[0] == "tasks/b00.task.yaml:1: tasks/a.task.yaml has the id 'T-1' already"
    assert kedge.json("task", "list", "--problems") == lines


def test_without_problems_the_list_of_them_says_so(repo: Path, kedge: Kedge) -> None:
    put(repo, "id: T-1\ntitle: open", "a.task.yaml")
    assert kedge("task", "list", "--problems").out == "no problems\n"


def test_links_and_special_files_are_one_warning_each(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    put(root, "title: fine", "fine.task.yaml")
    outside = tmp_path / "outside.task.yaml"
    outside.write_text("title: secret")
    tasks = root / "tasks"
    (tasks / "a-directory.task.yaml").mkdir()
    (tasks / "b-outside.task.yaml").symlink_to(outside)
    (tasks / "c-dangling.task.yaml").symlink_to("nowhere")
    (tasks / "d-itself.task.yaml").symlink_to("d-itself.task.yaml")
    os.mkfifo(tasks / "e-pipe.task.yaml")
    (root / "kept").write_text("title: linked")
    (tasks / "inside.task.yaml").symlink_to("../kept")
    put(root, b"", "z-large.task.yaml").write_bytes(b"#" * (9 << 20))
    listing = TaskYaml(root).read()
    assert sorted(task.title for task in listing.tasks) == ["fine", "linked"]
    names = [warning.split(":")[0].removeprefix("tasks/") for warning in listing.warnings]
    assert names == [
        "a-directory.task.yaml",
        "b-outside.task.yaml",
        "c-dangling.task.yaml",
        "d-itself.task.yaml",
        "e-pipe.task.yaml",
        "z-large.task.yaml",
    ]
    assert "leads out of the repository" in listing.warnings[1]
    assert str(tmp_path) not in "".join(listing.warnings)


def test_an_unreadable_file_is_one_warning(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    put(tmp_path, "title: fine", "b.task.yaml")
    put(tmp_path, "title: x").chmod(0)
    listing = TaskYaml(tmp_path).read()
    assert [task.title for task in listing.tasks] == ["fine"]
    assert listing.warnings == ("tasks/a.task.yaml: cannot be read: permission denied",)


def test_a_directory_that_leads_out_is_neither_read_nor_written(tmp_path: Path) -> None:
    root, outside = tmp_path / "repo", tmp_path / "outside"
    put(outside, "title: secret")
    root.mkdir()
    (root / "tasks").symlink_to(outside / "tasks")
    listing = TaskYaml(root).read()
    assert listing.tasks == ()
    assert listing.warnings == ("tasks: leads out of the repository",)
    with pytest.raises(ReadOnly, match="leads out"):
        Board(TaskYaml(root)).add(draft("x", "T-1"))
    assert len(list((outside / "tasks").iterdir())) == 1
    (root / "other").mkdir()
    (root / "other" / "tasks").write_text("a file")
    assert TaskYaml(root / "other").read().warnings == ("tasks: not a directory",)


STYLED = """\
# Who: the harbour team

id: TASK-0001   # never changes
title:   'Tie up'            # short
status: "todo"               # todo | in_progress | completed
blocked_reason:              # REQUIRED when blocked
priority: 2

description: >-   # what and why
  Tie the ship up
  at the quay.

# --- scope
scope:
  in:
    # the quay itself
    - src/quay/     # all of it
    - docs/*.md

  out: [src/sea/, 'src/sky']

acceptance_criteria:
- it is tied
- "it stays: tied"

# checks follow
qa: {commands: ["make test"], level: full}   # fast

depends_on: []               # none yet
tags:
    - harbour
agent_notes:
  - kept:   as it is
# the end
"""
CHUNKS = {
    "title": "title:   'Tie up'            # short\n",
    "status": 'status: "todo"               # todo | in_progress | completed\n',
    "blocked": "blocked_reason:              # REQUIRED when blocked\n",
    "priority": "priority: 2\n",
    "description": "description: >-   # what and why\n  Tie the ship up\n  at the quay.\n",
    "scope_in": "    # the quay itself\n    - src/quay/     # all of it\n    - docs/*.md\n",
    "scope_out": "  out: [src/sea/, 'src/sky']\n",
    "acceptance": '- it is tied\n- "it stays: tied"\n',
    "checks": 'qa: {commands: ["make test"], level: full}   # fast\n',
    "depends_on": "depends_on: []               # none yet\n",
    "labels": "tags:\n    - harbour\n",
    "": "agent_notes:\n  - kept:   as it is\n# the end\n",
}


@both_loaders
@pytest.mark.parametrize(
    ("values", "lines"),
    [
        (
            {"status": Status.IN_PROGRESS},
            [
                '- status: "todo"               # todo | in_progress | completed\n',
                '+ status: "in_progress"               # todo | in_progress | completed\n',
            ],
        ),
        (
            {"title": "Tie it up"},
            [
                "- title:   'Tie up'            # short\n",
                "+ title:   'Tie it up'            # short\n",
            ],
        ),
        (
            {"title": "Tie: #1"},
            [
                "- title:   'Tie up'            # short\n",
                '+ title:   "Tie: #1"            # short\n',
            ],
        ),
        ({"priority": "P0"}, ["- priority: 2\n", "+ priority: 0\n"]),
        (
            {"blocked": Block(BlockType.TOOLING, "no rope")},
            [
                "- blocked_reason:              # REQUIRED when blocked\n",
                "+ blocked_reason: no rope              # REQUIRED when blocked\n",
                "+ blocked_type: tooling\n",
            ],
        ),
        (
            {"description": "One\n\n  two\n"},
            [
                "- description: >-   # what and why\n",
                "+ description: |   # what and why\n",
                "-   Tie the ship up\n",
                "-   at the quay.\n",
                "+   One\n",
                "+ \n",
                "+     two\n",
            ],
        ),
        (
            {"description": ""},
            [
                "- description: >-   # what and why\n",
                "-   Tie the ship up\n",
                "-   at the quay.\n",
                '+ description: ""   # what and why\n',
            ],
        ),
        ({"scope_in": ("src/quay/", "docs/*.md", "x")}, ["+     - x\n"]),
        ({"scope_in": ("x", "src/quay/", "docs/*.md")}, ["+     - x\n"]),
        ({"scope_in": ("docs/*.md",)}, ["-     - src/quay/     # all of it\n"]),
        (
            {"scope_in": ()},
            [
                "-   in:\n",
                "+   in: []\n",
                "-     - src/quay/     # all of it\n",
                "-     - docs/*.md\n",
            ],
        ),
        (
            {"scope_out": ("src/sky", "a, b")},
            ["-   out: [src/sea/, 'src/sky']\n", "+   out: ['src/sky', \"a, b\"]\n"],
        ),
        (
            {"acceptance": ("it is tied", "1", "two\nlines")},
            ['- - "it stays: tied"\n', '+ - "1"\n', "+ - |-\n", "+   two\n", "+   lines\n"],
        ),
        (
            {"acceptance": ()},
            [
                "- acceptance_criteria:\n",
                "- - it is tied\n",
                '- - "it stays: tied"\n',
                "+ acceptance_criteria: []\n",
            ],
        ),
        (
            {"checks": ("make test", "make lint")},
            [
                '- qa: {commands: ["make test"], level: full}   # fast\n',
                '+ qa: {commands: ["make test", make lint], level: full}   # fast\n',
            ],
        ),
        (
            {"depends_on": (TaskId("A-1"), TaskId("2"))},
            [
                "- depends_on: []               # none yet\n",
                '+ depends_on: [A-1, "2"]               # none yet\n',
            ],
        ),
        ({"labels": ("harbour", "no")}, ['+     - "no"\n']),
        ({"epic": TaskId("E-1"), "area": "sea"}, ["+ epic: E-1\n", "+ area: sea\n"]),
        (
            {"extra": {"qa": {"level": "full"}, "agent_notes": "gone", "m": [1, 2.5, None]}},
            [
                "- agent_notes:\n",
                "-   - kept:   as it is\n",
                "+ agent_notes: gone\n",
                "+ m: [1, 2.5, null]\n",
            ],
        ),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_change_touches_only_its_own_lines(
    tmp_path: Path, values: dict[str, Any], lines: list[str], end: str, mark: str
) -> None:
    text = mark + STYLED.replace("\n", end)
    put(tmp_path, text)
    new = change(tmp_path, **values)
    assert sorted(diff(text, new)) == sorted(line.replace("\n", end) for line in lines)
    assert new.startswith(mark)
    assert new.count("\r") == (new.count("\n") if end == "\r\n" else 0)


def test_several_changes_at_once_touch_only_their_own_lines(tmp_path: Path) -> None:
    text = STYLED
    put(tmp_path, text)
    board = Board(TaskYaml(tmp_path))
    board.claim("TASK-0001", "ada: the first")
    board.block("TASK-0001", Block(BlockType.EXTERNAL, "tide\nis out"))
    board.reopen("TASK-0001")
    board.close("TASK-0001", "tied")
    new = (tmp_path / "tasks" / "a.task.yaml").read_text()
    task = TaskYaml(tmp_path).read().tasks[0]
    assert diff(text, new) == [
        '- status: "todo"               # todo | in_progress | completed\n',
        '+ status: "done"               # todo | in_progress | completed\n',
        "- blocked_reason:              # REQUIRED when blocked\n",
        "+ blocked_reason: null              # REQUIRED when blocked\n",
        "+ assignee: null\n",
        f'+ updated_at: "{task.updated_at}"\n',
        "+ started_at: null\n",
        "+ blocked_type: null\n",
        "+ close_reason: tied\n",
        f'+ closed_at: "{task.closed_at}"\n',
    ]


@both_loaders
@pytest.mark.parametrize(
    ("text", "values", "wanted"),
    [
        ("{id: x, title: y}", {"area": "sea"}, "{id: x, title: y, area: sea}"),
        ("{id: x, title: y}\n", {"title": "a, b"}, '{id: x, title: "a, b"}\n'),
        ("{title: y,}\n", {"area": "z"}, "{title: y, area: z,}\n"),
        ('{"id": "x",\n "title": "y"}', {"title": "z"}, '{"id": "x",\n "title": "z"}'),
        ("--- # first\ntitle: y\n...\n", {"area": "z"}, "--- # first\ntitle: y\narea: z\n...\n"),
        ("%YAML 1.1\n---\ntitle: y", {"area": "z"}, "%YAML 1.1\n---\ntitle: y\narea: z\n"),
        ("  title: y\n", {"area": "z"}, "  title: y\n  area: z\n"),
        ("title: y\n# end", {"area": "z"}, "title: y\n# end\narea: z\n"),
        (
            "title: y\ndescription: |\n  a\n  b",
            {"area": "z"},
            "title: y\narea: z\ndescription: |\n  a\n  b",
        ),
        ("title: y\nx: |+\n  a\n\n", {"area": "z"}, "title: y\nx: |+\n  a\n\narea: z\n"),
        ("title:\n  y\n", {"title": "z"}, "title: z\n"),
        (
            "title: y\ndescription: a  # why",
            {"description": "b\nc\n"},
            "title: y\ndescription: |  # why\n  b\n  c\n",
        ),
        ("title: a\n  b\n  c\n", {"title": "z"}, "title: z\n"),
        ("? title\n: y\n", {"title": "z"}, "? title\n: z\n"),
        ("title: y\nlabels:\n  - a", {"labels": ("a", "b")}, "title: y\nlabels:\n  - a\n  - b"),
        ("title: y\nlabels:\n  - a", {"labels": ("b",)}, "title: y\nlabels:\n  - b\n"),
        ("title: y\nlabels: a\n", {"labels": ("a", "b")}, "title: y\nlabels: [a, b]\n"),
        ("title: y\nscope:\n", {"scope_in": ("a",)}, "title: y\nscope: {in: [a]}\n"),
        ("title: y\nscope: {}\n", {"scope_in": ("a",)}, "title: y\nscope: {in: [a]}\n"),
        (
            "title: y\nscope:\n  in:\n    - a # x\nz: 1\n",
            {"scope_out": ("b",)},
            "title: y\nscope:\n  in:\n    - a # x\n  out:\n    - b\nz: 1\n",
        ),
        (
            "title: y\nscope: [a]\n",
            {"scope_out": ("b",)},
            "title: y\nscope: [a]\nscope_out:\n  - b\n",
        ),
        (
            "title: y\nblocked: {type: tooling, reason: x}\n",
            {"blocked": None},
            "title: y\nblocked: null\n",
        ),
        (
            "title: y\nblocked:\n  type: tooling\n  reason: x\n",
            {"blocked": Block(BlockType.DEPENDENCY, "z")},
            "title: y\nblocked: {type: dependency, reason: z}\n",
        ),
        (
            "title: y\nacceptance_criteria:\n  must:\n    - a\n  nice:\n    - b\n",
            {"acceptance": ("b", "c")},
            "title: y\nacceptance_criteria:\n  must: []\n  nice:\n    - b\n    - c\n",
        ),
        (
            "title: y\nacceptance:\n  must:\n    - a\n  nice:\n    - b\n",
            {"acceptance": ("c", "a", "d", "b")},
            "title: y\nacceptance:\n  must:\n    - c\n    - a\n    - d\n  nice:\n    - b\n",
        ),
        (
            "title: y\ndepends_on: [A]\nblocked_by:\n  - A  # hard\n  - B\n",
            {"depends_on": (TaskId("A"), TaskId("C"))},
            "title: y\ndepends_on: [A, C]\nblocked_by:\n  - A  # hard\n",
        ),
        (
            "title: y\nchecks:\n  - {command: a, why: b}  # x\n  - c\n",
            {"checks": ("a",)},
            "title: y\nchecks:\n  - {command: a, why: b}  # x\n",
        ),
        ("title: y\npriority: high\n", {"priority": "P3"}, "title: y\npriority: low\n"),
        ("title: y\npriority: high\n", {"priority": "P4"}, "title: y\npriority: P4\n"),
        (
            "title: y\nbase: &b\n  - a\nagain: *b\n",
            {"title": "z"},
            "title: z\nbase: &b\n  - a\nagain: *b\n",
        ),
    ],
)
def test_values_in_unusual_places_can_be_changed(
    tmp_path: Path, text: str, values: dict[str, Any], wanted: str
) -> None:
    put(tmp_path, text)
    assert change(tmp_path, **values) == wanted


@both_loaders
@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("title: &t y\nagain: *t\n", {"title": "z"}),
        ("base: &t y\ntitle: *t\n", {"title": "z"}),
        ("title: y\nbase: &b [a]\nlabels: *b\n", {"labels": ("c",)}),
        ("title: y\nbase: &x a\nlabels:\n  - *x\n  - b\n", {"labels": ("c",)}),
        ("title: y\nlabels: [\n  a, # why\n  b]\n", {"labels": ("b",)}),
        ("title: y\nlabels:\n  -\n    a\n", {"labels": ("b",)}),
        ("title: y\ndepends_on: [A]\nblocked_by: [B]\n", {"depends_on": ("B", "A")}),
        ("title: y\nagent: {a: 1} # c\n", {"extra": {}}),
        ("title: y\n", {"extra": {"tags": ["a"]}}),
    ],
)
def test_a_value_that_cannot_be_changed_safely_is_refused(
    tmp_path: Path, text: str, values: dict[str, Any]
) -> None:
    path = put(tmp_path, text)
    backend = TaskYaml(tmp_path)
    (task,) = backend.read().tasks
    names = ", ".join(values)
    says = rf"cannot change {names} in tasks/a\.task\.yaml safely: "
    with pytest.raises(ReadOnly, match=says) as caught:
        backend.write([TaskChange(task, replace(task, **values))])
    assert caught.value.hint == "edit the file by hand"
    assert path.read_text() == text


def test_dependencies_under_two_keys_stay_under_their_key(tmp_path: Path) -> None:
    text = "title: y\nblocked_by: [B, C]  # hard\ndepends_on:\n  - A\n"
    put(tmp_path, text)
    new = change(tmp_path, depends_on=(TaskId("A"), TaskId("C"), TaskId("D")))
    assert diff(text, new) == ["- blocked_by: [B, C]  # hard\n", "+ blocked_by: [C, D]  # hard\n"]
    new = change(tmp_path, depends_on=())
    assert new == "title: y\nblocked_by: []  # hard\ndepends_on: []\n"
    assert "blocked_by: [E]" in change(tmp_path, depends_on=(TaskId("E"),))


def test_the_project_s_words_for_a_status_are_used(tmp_path: Path) -> None:
    for number, word in enumerate(["completed", "completed", "done", "cancelled", "draft"]):
        put(tmp_path, f"title: x\nstatus: {word}\n", f"T-{number}.task.yaml")
    path = put(tmp_path, "title: x\nstatus: todo # or so\n", "T-9.task.yaml")
    board = Board(TaskYaml(tmp_path))
    board.close("T-9")
    assert path.read_text().startswith("title: x\nstatus: completed # or so\n")
    board.reopen("T-9")
    assert path.read_text().startswith("title: x\nstatus: open # or so\n")
    board.close("T-9", failed=True)
    assert path.read_text().startswith("title: x\nstatus: failed # or so\n")
    board.add(draft("new", "T-10"))
    assert "status: open\n" in (tmp_path / "tasks" / "T-10.task.yaml").read_text()


def test_a_new_file_reads_well(tmp_path: Path) -> None:
    task = Task(
        TaskId("TASK-0001"),
        "Tie up: now",
        description="Why.\n\n  # not a comment\nHow.\n",
        acceptance=("it is tied", "yes", "- two\nlines"),
        scope_in=("src/quay/",),
        checks=("make test",),
        depends_on=(TaskId("A-1"),),
        labels=("harbour",),
        extra={"standards": ["a.md"], "budget": {"files": 3, "why": None}},
    )
    TaskYaml(tmp_path).write([TaskChange(None, task)])
    assert (tmp_path / "tasks" / "TASK-0001.task.yaml").read_text() == dedent("""\
        id: TASK-0001
        title: "Tie up: now"
        type: task
        status: open
        priority: P2
        labels:
          - harbour
        depends_on:
          - A-1
        description: |
          Why.

            # not a comment
          How.
        acceptance_criteria:
          - it is tied
          - "yes"
          - |-
            - two
            lines
        scope:
          in:
            - src/quay/
        qa:
          commands:
            - make test
        standards:
          - a.md
        budget:
          files: 3
          why: null
        """)


def test_a_new_task_never_replaces_an_existing_file(tmp_path: Path) -> None:
    path = put(tmp_path, "broken: [", "TASK-0001.task.yml")
    board = Board(TaskYaml(tmp_path))
    with pytest.raises(TaskExists, match=r"tasks/TASK-0001\.task\.yml"):
        board.add(draft("x", "TASK-0001"))
    (tmp_path / "tasks" / "T-2.task.yaml").symlink_to("nowhere")
    with pytest.raises(TaskExists):
        board.add(draft("x", "T-2"))
    assert path.read_text() == "broken: ["
    assert board.add(draft("x")).task.id == "TASK-0002"


def test_a_file_too_large_to_read_is_not_written(tmp_path: Path) -> None:
    many = tuple(f"{number} {'x' * 1_000_000}" for number in range(9))
    with pytest.raises(ReadOnly, match="exceed 8 MiB"):
        TaskYaml(tmp_path).write([TaskChange(None, Task(TaskId("T-1"), "x", acceptance=many))])
    assert not (tmp_path / "tasks").exists()


def test_new_ids_continue_after_the_highest_number(tmp_path: Path) -> None:
    backend = TaskYaml(tmp_path)
    assert backend.new_id([]) == "TASK-0001"
    assert backend.new_id(["TASK-0009", "TASK-0010-slug", "OTHER-0099", "TASK-x"]) == "TASK-0011"
    assert backend.new_id(["TASK-9999"]) == "TASK-10000"
    put(tmp_path, "broken: [", "mobile/TASK-0041-crop.task.yaml")
    assert backend.new_id(["TASK-0007"]) == "TASK-0042"
    assert TaskYaml(tmp_path, prefix="SEA").new_id(["SEA-3"]) == "SEA-0004"


def test_a_link_inside_the_repository_stays_a_link(tmp_path: Path) -> None:
    kept = tmp_path / "kept.yaml"
    kept.write_text("title: x\n")
    (tmp_path / "tasks").mkdir()
    link = tmp_path / "tasks" / "T-1.task.yaml"
    link.symlink_to("../kept.yaml")
    Board(TaskYaml(tmp_path)).update("T-1", lambda task: replace(task, area="sea"))
    assert link.is_symlink()
    assert kept.read_text().startswith("title: x\narea: sea\n")


def test_a_file_changed_by_another_process_is_not_overwritten(tmp_path: Path) -> None:
    path = put(tmp_path, "title: x\n")
    backend = TaskYaml(tmp_path)
    (task,) = backend.read().tasks
    path.write_text("title: edited\n")
    with pytest.raises(BrokenTasks, match="changed by another process"):
        backend.write([TaskChange(task, replace(task, area="sea"))])
    assert path.read_text() == "title: edited\n"
    path.unlink()
    with pytest.raises(BrokenTasks):
        backend.write([TaskChange(task, replace(task, area="sea"))])
    with pytest.raises(BrokenTasks, match="is gone"):
        TaskYaml(tmp_path).write([TaskChange(task, replace(task, area="sea"))])
    assert list((tmp_path / "tasks").iterdir()) == []


def test_all_changes_are_written_or_none(tmp_path: Path) -> None:
    good = put(tmp_path, "title: one\n", "T-1.task.yaml")
    bad = put(tmp_path, "title: &x two\nagain: *x\n", "T-2.task.yaml")
    backend = TaskYaml(tmp_path)
    one, two = backend.read().tasks
    new = TaskChange(None, Task(TaskId("T-0"), "new"))
    changes = [
        new,
        TaskChange(one, replace(one, title="1")),
        TaskChange(two, replace(two, title="2")),
    ]
    with pytest.raises(ReadOnly):
        backend.write(changes)
    # the second file cannot be written: a directory has the name of its temporary file
    bad.write_text("title: two\nagain: two\n")
    (tmp_path / "tasks" / ".T-2.task.yaml.kedge-new").mkdir()
    with pytest.raises(FileError):
        backend.write(changes)
    assert good.read_text() == "title: one\n"
    assert bad.read_text() == "title: two\nagain: two\n"
    assert not (tmp_path / "tasks" / "T-0.task.yaml").exists()


def test_a_second_writer_waits_for_the_lock(tmp_path: Path) -> None:
    def add() -> None:
        for number in range(10):
            Board(TaskYaml(tmp_path)).add(draft(f"number {number}"))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [task.id for task in TaskYaml(tmp_path).read().tasks]
    assert ids == [f"TASK-{number:04d}" for number in range(1, 41)]
    with TaskYaml(tmp_path).lock(), pytest.raises(LockTimeout):
        Board(TaskYaml(tmp_path, lock_timeout=0.05)).add(draft("x"))


def test_a_task_goes_through_all_its_states(tmp_path: Path) -> None:
    put(tmp_path, "# the epic\nid: E-1\ntitle: Dock\ntype: epic\n", "e.task.yaml")
    first = put(tmp_path, "# first\ntitle: one\nepic: E-1\nstatus: todo\n", "T-1.task.yaml")
    put(tmp_path, "title: two\nparent: E-1\ndepends_on: T-1\nstatus: todo\n", "T-2.task.yaml")

    def board() -> Board:
        return Board(TaskYaml(tmp_path))

    added = board().add(draft("three", epic=TaskId("E-1"), depends_on=(TaskId("T-2"),))).task.id
    assert added == "TASK-0001"
    assert [task.id for task in board().ready()] == ["T-1"]
    with pytest.raises(WrongState):
        board().claim("T-2", "ada")
    board().claim("T-1", "ada")
    assert board().ready() == []
    board().block("T-1", Block(BlockType.DEPENDENCY, "no rope"))
    assert board().get("T-1").blocked == Block(BlockType.DEPENDENCY, "no rope")
    assert board().reopen("T-1").task.assignee is None
    board().close("T-1", "tied")
    assert [task.id for task in board().ready()] == ["T-2"]
    board().close("T-2")
    assert board().get("E-1").status is Status.OPEN
    assert [epic.id for epic in board().close(added).followed] == ["E-1"]
    assert board().get("E-1").status is Status.DONE
    assert (tmp_path / "tasks" / "e.task.yaml").read_text().startswith("# the epic\nid: E-1\n")
    board().reopen("T-1")
    assert board().get("E-1").status is Status.OPEN
    assert first.read_text().startswith("# first\ntitle: one\nepic: E-1\nstatus: ")


def test_a_thousand_files_are_read_quickly(tmp_path: Path) -> None:
    if not yaml.__with_libyaml__:
        pytest.skip("this PyYAML has no C parser")
    for number in range(1000):
        put(tmp_path, STYLED.replace("TASK-0001", f"T-{number}"), f"T-{number}.task.yaml")
    with in_time(1):
        assert len(TaskYaml(tmp_path).read().tasks) == 1000


def test_importing_the_backend_does_not_import_yaml() -> None:
    code = "import sys, kedge.tasks.task_yaml; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


HARD = [
    *("#", "# x", "x # y", "a: b", "a:", ": a", "- a", "-", "---", "...", "--- x", "? a", "! a"),
    *("&a", "*a", "%a", "@a", "`a", "|", ">", "|-", "'", '"', "''", '"x"', "it's", "\\", "\\n"),
    *("[a]", "{a}", "[", "}", ",", "a,b", "a, b", "=", "<<", " lead", "trail ", "  ", "x" * 3000),
    *("null", "~", "Null", "true", "yes", "No", "on", "y", "N", "1", "0x1f", "0o7", "1_000"),
    *("1:30", "1e5", "-1.5", ".5", ".inf", "-.INF", ".nan", "2026-01-02", "2026-01-02T03:04:05Z"),
    *("\t", "a\tb", "\ta", "ä", "漢字", "🚢", "e\u0301", "\u200f", "\u00a0", "\u2028", "\u2029"),
    *("\u0085", "\ufeff", "\ufffe", "\x80"),
]
TEXT_CHARACTERS = st.characters(exclude_categories=["Cs"]).filter(
    lambda c: c == "\t" or not (c < " " or c == "\x7f")
)
lines = st.one_of(
    st.sampled_from(HARD),
    st.text(TEXT_CHARACTERS, max_size=30),
    st.lists(st.sampled_from([*HARD, " ", "a"]), max_size=4).map("".join),
)
texts = st.one_of(
    lines,
    st.lists(st.one_of(lines, st.sampled_from(["", " ", "  x", "\r", "a\r"])), max_size=6).map(
        "\n".join
    ),
)
items = st.lists(texts.filter(str.strip), max_size=3).map(tuple)
one_liners = lines.filter(lambda text: text.strip() and len(text) <= 500)
item_lines = st.lists(one_liners, max_size=3).map(tuple)
ids = st.text(string.ascii_letters + string.digits + "-_.", min_size=1, max_size=20).map(
    lambda text: TaskId(("T" + text).replace("..", "-").rstrip(".") + "x")
)
keys = texts.filter(lambda text: len(text) < 200)  # YAML ends a name at 1024
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "title": one_liners,
    "type": st.from_regex(r"[a-z][a-z0-9_-]{0,31}", fullmatch=True),
    "status": st.sampled_from(Status),
    "priority": st.sampled_from(["P0", "P1", "P2", "P3", "P4"]),
    "description": texts,
    "acceptance": items,
    "labels": item_lines,
    "epic": st.none() | ids,
    "depends_on": st.lists(ids, max_size=3).map(tuple),
    "scope_in": item_lines,
    "scope_out": item_lines,
    "checks": items,
    "area": st.none() | texts,
    "assignee": st.none() | texts,
    "blocked": st.none() | st.builds(Block, st.sampled_from(BlockType), texts),
    "close_reason": st.none() | texts,
    "created_at": st.none() | lines,
    "closed_at": st.none() | lines,
}
tasks = st.builds(
    Task, id=ids, extra=st.dictionaries(keys.map("agent_".__add__), values, max_size=3), **FIELDS
)


@given(tasks)
@settings(max_examples=300)
def test_every_task_comes_back_from_a_new_file(task: Task) -> None:
    validate(task)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        TaskYaml(root).write([TaskChange(None, task)])
        assert TaskYaml(root).read().tasks == (task,)
        data = (root / "tasks" / f"{task.id}.task.yaml").read_bytes()
        assert yaml.safe_load(data)["id"] == task.id


@given(
    st.lists(
        st.one_of(*(st.tuples(st.just(name), of) for name, of in FIELDS.items() if name != "type")),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=300)
def test_any_sequence_of_updates_leaves_the_rest_alone(
    updates: list[tuple[str, Any]], end: str
) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        path = put(root, STYLED.replace("\n", end))
        touched = set()
        for field, value in updates:
            backend = TaskYaml(root)
            (task,) = backend.read().tasks
            wanted = validate(replace(task, **{field: value}))
            backend.write([TaskChange(task, wanted)])
            assert TaskYaml(root).read().tasks == (wanted,)
            touched.add(field)
        text = path.read_bytes().decode()
        place = 0
        for field, chunk in CHUNKS.items():
            if field not in touched:
                place = text.index(chunk.replace("\n", end), place)
        for comment in ("# Who: the harbour team", "# --- scope", "# checks follow", "# the end"):
            assert (comment + end) in text
        for comment in ("# never changes", "# short", "# what and why", "# none yet", "# fast"):
            assert text.count(comment) == 1
        if end == "\r\n":
            assert text.count("\n") == text.count("\r\n")


@given(st.binary(max_size=60) | texts.map(str.encode))
@settings(max_examples=200)
def test_any_malformed_file_leaves_the_others_readable(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        put(root, data)
        put(root, "title: fine", "b.task.yaml")
        listing = TaskYaml(root).read()
        assert "b" in {task.id for task in listing.tasks}
        assert len(listing.tasks) + len(listing.warnings) == 2


def test_text_with_trailing_blanks_can_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    path = tmp_path / "tasks" / "a.task.yaml"
    path.write_text("id: a\ntitle: x\narea: b  # where\nlabels: [q]\n")
    board = Board(TaskYaml(tmp_path))
    for area in ("#\n ", "#\n#", "x\n\t", "x\n\n", "y"):
        board.update("a", lambda task, area=area: replace(task, area=area))  # type: ignore[misc]
        assert board.get("a").area == area
    assert "labels: [q]\n" in path.read_text()
