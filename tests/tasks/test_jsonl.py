"""The embedded backend: its file is valid, and loses nothing, whatever happens."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import Kedge, assert_clear

from kedge.host.project import Project
from kedge.tasks.backend import Backend
from kedge.tasks.jsonl import Jsonl
from kedge.testing.tasks import BackendSuite


class TestJsonl(BackendSuite):
    def make(self, root: Path) -> Backend:
        return Jsonl(Project(root, None))


def tasks_file(repo: Path) -> Path:
    (repo / ".kedge").mkdir(exist_ok=True)
    return repo / ".kedge" / "tasks.jsonl"


def test_four_processes_add_fifty_tasks_each(repo: Path, kedge: Kedge) -> None:
    script = (
        "import sys\n"
        "from kedge.cli.edge import run\n"
        "for number in range(50):\n"
        "    assert run(['task', 'add', f'task {sys.argv[1]}-{number}']) == 0\n"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(n)], cwd=repo, stdout=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    printed = [line for child in children for line in child.communicate(timeout=120)[0].split()]
    assert [child.returncode for child in children] == [0, 0, 0, 0]
    tasks = kedge.json("task", "list")
    assert len(tasks) == 200
    assert sorted(task["id"] for task in tasks) == sorted(printed)
    assert len({task["title"] for task in tasks}) == 200


def test_a_killed_writer_leaves_a_valid_file_and_loses_nothing_it_reported(
    repo: Path, kedge: Kedge
) -> None:
    script = (
        "from kedge.cli.edge import run\n"
        "import os, sys\n"
        "for number in range(1000):\n"
        "    run(['task', 'add', f'task {os.getpid()}-{number}'])\n"
    )
    chance = random.Random(7)
    reported: set[str] = set()
    kills = 0
    while kills < 50:
        children = [
            subprocess.Popen(
                [sys.executable, "-c", script], cwd=repo, stdout=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        assert children[0].stdout
        reported.update(children[0].stdout.readline().split())
        time.sleep(chance.uniform(0.0, 0.12))
        for child in children:
            child.send_signal(signal.SIGKILL)
            out, _ = child.communicate(timeout=30)
            reported.update(out.split())
            kills += 1
        lines = (repo / ".kedge" / "tasks.jsonl").read_bytes().splitlines()
        ids = {json.loads(line)["id"] for line in lines}
        assert len(ids) == len(lines)
        assert reported <= ids
    assert len(reported) >= 25
    kedge("task", "add", "after all that")
    left = {path.name for path in (repo / ".kedge").iterdir()}
    assert left == {"tasks.jsonl", "locks"}


def test_lines_that_did_not_change_keep_their_bytes(repo: Path, kedge: Kedge) -> None:
    odd = b'  {"title":"odd","id":"t-1" ,  "future": {"x": [1, 2.50]}}'
    tasks_file(repo).write_bytes(odd + b"\n\n" + b'{"id":"t-2","title":"two","future":1}\n')
    kedge("task", "claim", "t-2", "--as", "ada")
    kedge("task", "add", "three", "--id", "t-3")
    lines = tasks_file(repo).read_bytes().split(b"\n")
    assert lines[0] == odd
    assert lines[1] == b""
    second = json.loads(lines[2])
    assert second["future"] == 1
    assert second["status"] == "in_progress"
    assert json.loads(lines[3])["id"] == "t-3"
    assert kedge.json("task", "show", "t-1")["future"] == {"x": [1, 2.5]}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_byte_order_mark_and_line_ends_are_kept(
    repo: Path, kedge: Kedge, mark: bytes, end: bytes
) -> None:
    first = '{"id":"t-1","title":"Käse"}'.encode()
    tasks_file(repo).write_bytes(mark + first + end)
    kedge("task", "add", "two", "--id", "t-2")
    data = tasks_file(repo).read_bytes()
    assert data.startswith(mark + first + end)
    assert data.endswith(b"}" + end)
    assert data.count(b"\r\n") == (2 if end == b"\r\n" else 0)
    assert [task["id"] for task in kedge.json("task", "list")] == ["t-1", "t-2"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"id": "t-2", "title": "a\0b"}', ":2: a NUL byte"),
        (b"\0\0\0\0\0\0", ":2: a NUL byte"),
        ('{"id": "t-2", "title": "Käse"}'.encode("latin-1"), ":2: not UTF-8"),
        (b'{"id": "t-2", "title": ', ":2: not JSON"),
        (b'["t-2"]', ":2: not an object"),
        (b'{"id": "../x", "title": "x"}', ":2: '../x' is not a valid id"),
        (b'{"id": "t-2"}', ":2: a task needs"),
        (b'{"id": "t-2", "title": 5}', ":2: 'title' must be a text"),
        (b'{"id": "t-2", "title": "x", "labels": "a"}', ":2: 'labels' must be a list"),
        (b'{"id": "t-2", "title": "x", "status": "odd"}', ":2: 'odd' is not a status"),
        (b'{"id": "t-1", "title": "again"}', ":2: 't-1' is on line 1 already"),
        (b"<<<<<<< HEAD", ":2: a merge conflict"),
        (b"[" * 100_000, ":2: not JSON"),
    ],
)
def test_a_broken_line_is_named_and_nothing_is_lost(
    repo: Path, kedge: Kedge, line: bytes, says: str
) -> None:
    content = b'{"id":"t-1","title":"one"}\n' + line + b"\n"
    tasks_file(repo).write_bytes(content)
    for args in (["task", "list"], ["task", "add", "x"], ["task", "claim", "t-1"]):
        assert_clear(kedge(*args, code=1), code=1, says=f".kedge/tasks.jsonl{says}")
    assert tasks_file(repo).read_bytes() == content


def test_a_directory_that_cannot_be_written(repo: Path, kedge: Kedge) -> None:
    (repo / ".kedge").write_text("in the way")
    assert_clear(kedge("task", "add", "x", code=1), code=1, says=".kedge")
    assert (repo / ".kedge").read_text() == "in the way"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission(repo: Path, kedge: Kedge) -> None:
    tasks_file(repo).write_text('{"id":"t-1","title":"one"}\n')
    (repo / ".kedge").chmod(0o500)
    try:
        assert_clear(kedge("task", "add", "x", code=1), code=1, says="permission denied")
        assert kedge.json("task", "show", "t-1")["title"] == "one"
    finally:
        (repo / ".kedge").chmod(0o700)


@pytest.mark.parametrize("name", [".kedge", ".kedge/tasks.jsonl", ".kedge/locks"])
def test_a_link_out_of_the_project_is_not_followed(
    repo: Path, kedge: Kedge, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "tasks.jsonl").write_text("")
    if name != ".kedge":
        (repo / ".kedge").mkdir()
    target = outside / "tasks.jsonl" if name.endswith("jsonl") else outside
    (repo / name).symlink_to(target)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    assert_clear(kedge("task", "add", "x", code=1), code=1, says="leads out of")
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before


def test_another_writer_is_waited_for_and_named(repo: Path, kedge: Kedge) -> None:
    from kedge.host.files import lock

    kedge("task", "add", "one")
    with lock(repo / ".kedge" / "locks" / "tasks.lock"):
        ran = kedge("task", "add", "two", code=1, env={"KEDGE_TASKS_LOCK_TIMEOUT": "0.3"})
        assert_clear(ran, code=1, says=f"locked by process {os.getpid()}")
        assert len(kedge.json("task", "list")) == 1
    kedge("task", "add", "two")


def test_locks_keep_themselves_out_of_git(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "one")
    from support import git

    assert git(repo, "status", "--porcelain", "-uall").split() == ["??", ".kedge/tasks.jsonl"]
