"""The embedded backend: its file stays valid and loses nothing."""

from __future__ import annotations

import json
import os
import random
import shutil
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


def test_tasks_added_by_four_processes_at_once_are_all_stored(repo: Path, kedge: Kedge) -> None:
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
    assert left == {"tasks.jsonl", "locks", ".gitattributes"}


def test_lines_of_unchanged_tasks_keep_their_bytes(repo: Path, kedge: Kedge) -> None:
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
        (b'{"id": "t-2", "title": "a\0b"}', ":2: not JSON"),
        (b"\0\0\0\0\0\0", ":2: not JSON"),
        ('{"id": "t-2", "title": "Käse"}'.encode("latin-1"), ":2: not UTF-8"),
        (b'{"id": "t-2", "title": ', ":2: not JSON"),
        (b'["t-2"]', ":2: not an object"),
        (b'{"id": "../x", "title": "x"}', ":2: '../x' is not a valid id"),
        (b'{"id": "t-2"}', ":2: a task needs"),
        (b'{"id": "t-2", "title": 5}', ":2: 'title' must be a string"),
        (b'{"id": "t-2", "title": "x", "labels": "a"}', ":2: 'labels' must be a list"),
        (b'{"id": "t-2", "title": "x", "status": "odd"}', ":2: 'odd' is not a status"),
        (b'{"id": "t-2", "title": "x", "size": NaN}', ":2: not JSON (NaN is not a JSON value)"),
        (b"<<<<<<< HEAD", ":2: a merge conflict"),
        (b"[" * 100_000, ":2: not JSON"),
    ],
)
def test_a_malformed_line_is_an_error_with_its_number_and_nothing_is_lost(
    repo: Path, kedge: Kedge, line: bytes, says: str
) -> None:
    content = b'{"id":"t-1","title":"one"}\n' + line + b"\n"
    tasks_file(repo).write_bytes(content)
    for args in (["task", "list"], ["task", "add", "x"], ["task", "claim", "t-1"]):
        assert_clear(kedge(*args, code=1), code=1, says=f".kedge/tasks.jsonl{says}")
    assert tasks_file(repo).read_bytes() == content


def test_a_directory_that_cannot_be_written_is_an_error(repo: Path, kedge: Kedge) -> None:
    (repo / ".kedge").write_text("in the way")
    assert_clear(kedge("task", "add", "x", code=1), code=1, says=".kedge")
    assert (repo / ".kedge").read_text() == "in the way"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_is_an_error(repo: Path, kedge: Kedge) -> None:
    tasks_file(repo).write_text('{"id":"t-1","title":"one"}\n')
    (repo / ".kedge").chmod(0o500)
    try:
        assert_clear(kedge("task", "add", "x", code=1), code=1, says="permission denied")
        assert kedge.json("task", "show", "t-1")["title"] == "one"
    finally:
        (repo / ".kedge").chmod(0o700)


@pytest.mark.parametrize("name", [".kedge/tasks.jsonl", ".kedge/ledger", ".kedge/locks"])
def test_a_link_to_elsewhere_in_the_project_is_not_followed(
    repo: Path, kedge: Kedge, name: str
) -> None:
    tasks_file(repo).write_text("")
    kedge("task", "add", "x", "--id", "t-1")
    kedge("task", "claim", "t-1")
    path = repo / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(repo / ".git" / ("config" if name.endswith("jsonl") else ""))
    before = (repo / ".git" / "config").read_bytes()
    listing = sorted(p.name for p in (repo / ".git").iterdir())
    kedge("task", "close", "t-1", code=None)
    assert (repo / ".git" / "config").read_bytes() == before
    assert sorted(p.name for p in (repo / ".git").iterdir()) == listing


def test_a_dangling_link_creates_no_file_elsewhere(
    repo: Path, kedge: Kedge, tmp_path: Path
) -> None:
    (repo / ".kedge").mkdir()
    (repo / ".kedge" / ".gitattributes").symlink_to(tmp_path / "made")
    assert_clear(kedge("task", "add", "x", code=1), code=1, says="leads out of")
    assert not (tmp_path / "made").exists()
    assert not (repo / ".kedge" / "tasks.jsonl").exists()


@pytest.mark.parametrize("name", ["tasks.jsonl", "config.toml"])
def test_a_pipe_is_not_waited_for(repo: Path, kedge: Kedge, name: str) -> None:
    (repo / ".kedge").mkdir()
    os.mkfifo(repo / ".kedge" / name)
    assert_clear(kedge("task", "list", code=1), code=1, says=f"{name} is not a regular file")


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


def test_a_second_writer_waits_and_names_the_first(repo: Path, kedge: Kedge) -> None:
    from kedge.host.files import lock

    kedge("task", "add", "one")
    with lock(repo / ".kedge" / "locks" / "tasks.lock"):
        ran = kedge("task", "add", "two", code=1, env={"KEDGE_TASKS_LOCK_TIMEOUT": "0.3"})
        assert_clear(ran, code=1, says=f"locked by process {os.getpid()}")
        assert len(kedge.json("task", "list")) == 1
    kedge("task", "add", "two")


def test_git_ignores_the_locks(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "one")
    from support import git

    seen = git(repo, "status", "--porcelain", "-uall").replace("?? ", "").split()
    assert seen == [".kedge/.gitattributes", ".kedge/tasks.jsonl"]


def test_two_branches_with_changed_tasks_merge(repo: Path, kedge: Kedge) -> None:
    from support import git

    def commit() -> None:
        git(repo, "add", "-A")
        git(repo, "commit", "--quiet", "-m", "tasks")

    kedge("task", "add", "epic", "--id", "E-1", "--type", "epic")
    for name in ("T-1", "T-2"):
        kedge("task", "add", "x", "--id", name, "--epic", "E-1")
    commit()
    git(repo, "switch", "--quiet", "-c", "other")
    kedge("task", "close", "T-1", "--reason", "theirs")
    kedge("task", "add", "new there", "--id", "T-3")
    commit()
    git(repo, "switch", "--quiet", "main")
    kedge("task", "close", "T-2")
    kedge("task", "add", "new here", "--id", "T-4")
    commit()
    git(repo, "merge", "--quiet", "-m", "both", "other")
    ran = kedge("task", "list", "--json")
    states = {task["id"]: task["status"] for task in ran.data}
    assert states == {"E-1": "open", "T-1": "done", "T-2": "done", "T-3": "open", "T-4": "open"}
    assert len(ran.document["warnings"]) == 2
    assert kedge("task", "close", "T-1").out == "T-1 is done\nepic E-1 is now done\n"
    assert kedge.json("task", "show", "T-1")["close_reason"] == "theirs"
    kedge("task", "update", "T-1", "--title", "y")
    kedge("task", "update", "T-2", "--title", "y")
    ran = kedge("task", "list", "--json")
    assert len(ran.data) == 5
    assert ran.document["warnings"] == []


def test_one_of_many_claimants_gets_the_task(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "x", "--id", "T-1")
    for names in ([""] * 5, [f"--as=agent-{n}" for n in range(5)]):
        children = [
            subprocess.Popen(
                [sys.executable, "-m", "kedge", "task", "claim", "T-1", *filter(None, [name])],
                cwd=repo,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for name in names
        ]
        assert sorted(child.wait(60) for child in children) == [0, 1, 1, 1, 1]
        kedge("task", "reopen", "T-1")


def test_an_unpaired_surrogate_in_an_unknown_field_is_kept(repo: Path, kedge: Kedge) -> None:
    tasks_file(repo).write_text('{"id": "t-1", "title": "x", "odd": "\\ud800"}\n')
    kedge("task", "claim", "t-1")
    assert json.loads(tasks_file(repo).read_text())["odd"] == "\ud800"
