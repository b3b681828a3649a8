"""The edge: output, errors and exit codes are the same for every command."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import Kedge, assert_clear


def test_listing_in_a_pipe_imports_no_terminal_code(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "one")
    code = (
        "import sys\n"
        "from kedge.cli.edge import run\n"
        "assert run(['task', 'ready']) == 0\n"
        "sys.exit('rich was imported' if 'rich' in sys.modules else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repo, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "one" in done.stdout


@pytest.mark.parametrize(
    ("args", "code", "name"),
    [
        (["task", "show", "nope"], 1, "task-not-found"),
        (["task", "show", "../x"], 1, "invalid-value"),
        (["task", "frobnicate"], 2, "usage"),
        (["frobnicate"], 2, "usage"),
        (["task", "add"], 2, "usage"),
        (["task", "add", "x", "--priority", "P9"], 2, "usage"),
        (["task", "list", "--frobnicate"], 2, "usage"),
        (["-C", "nowhere", "task", "list"], 2, "usage"),
    ],
)
def test_every_failure_is_one_json_document_or_two_lines(
    kedge: Kedge, args: list[str], code: int, name: str
) -> None:
    document = kedge("--json", *args, code=code).document
    assert document["success"] is False
    assert document["code"] == name
    assert document["hint"]
    assert_clear(kedge(*args, code=code), code=code, says=document["error"])


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_closed_streams_are_not_a_bug(repo: Path, kedge: Kedge, closed: str) -> None:
    kedge("task", "add", "one")
    for args in ("task list", "--json task list", "task show nope", "--help"):
        shell = f"{sys.executable} -m kedge {args} {closed}"
        done = subprocess.run(["sh", "-c", shell], cwd=repo, capture_output=True, timeout=60)
        assert done.returncode == (1 if "nope" in args else 0), done
        assert b"Traceback" not in done.stderr
    assert not (repo / ".git" / "kedge").exists()


def test_warnings_are_not_on_standard_output(repo: Path, kedge: Kedge) -> None:
    tasks = repo / "tasks"
    tasks.mkdir()
    (tasks / "broken.task.yaml").write_text("title: [\n")
    (tasks / "T-1.task.yaml").write_text("title: fine\n")
    ran = kedge("task", "list")
    assert ran.out.startswith("T-1\t")
    assert ran.err.startswith("warning: ")
    assert kedge("-q", "task", "list").err == ""
    assert len(kedge("task", "list", "--json").document["warnings"]) == 1


def test_the_directory_option_selects_the_project(repo: Path, kedge: Kedge, tmp_path: Path) -> None:
    kedge("task", "add", "here", "--id", "t-1")
    ran = kedge("-C", str(repo), "task", "list", cwd=tmp_path)
    assert ran.out.startswith("t-1\t")


def test_a_bug_leaves_a_log_without_secrets(repo: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    code = (
        "import sys\n"
        "from kedge.tasks import board\n"
        f"def broken(self): raise RuntimeError('token is {token}')\n"
        "board.Board.tasks = broken\n"
        "from kedge.cli.edge import run\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    for flags in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-c", code, "task", "list", "--search", token, *flags],
            cwd=repo,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 3
        assert "Traceback" not in done.stdout + done.stderr
        logs = sorted((repo / ".git" / "kedge" / "logs").iterdir())
        text = logs[-1].read_text()
        assert "RuntimeError" in text
        assert "Traceback" in text
        assert token not in text
        assert stat.S_IMODE(logs[-1].stat().st_mode) == 0o600
        if flags:
            document = json.loads(done.stdout)
            assert document["code"] == "bug"
            assert document["data"]["log"] == str(logs[-1])
            assert token not in done.stdout
        else:
            assert str(logs[-1]) in done.stderr
            assert token not in done.stderr


def test_old_bug_logs_are_deleted(repo: Path) -> None:
    logs = repo / ".git" / "kedge" / "logs"
    logs.mkdir(parents=True)
    for number in range(30):
        (logs / f"bug-2000-01-01T0000{number:02}Z-1.log").write_text("old")
    code = (
        "from pathlib import Path\n"
        "from kedge.cli.bugs import report\n"
        "print(report(ValueError('x'), [], Path('.')).data['log'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repo, capture_output=True, text=True, check=True
    )
    left = sorted(logs.iterdir())
    assert len(left) == 20
    assert str(left[-1]) == done.stdout.strip()


def test_a_closed_pipe_is_not_an_error(repo: Path, kedge: Kedge) -> None:
    lines = "".join(json.dumps({"id": f"t-{n}", "title": "x" * 200}) + "\n" for n in range(2000))
    (repo / ".kedge").mkdir()
    (repo / ".kedge" / "tasks.jsonl").write_text(lines)
    child = subprocess.Popen(
        [sys.executable, "-m", "kedge", "task", "list"],
        cwd=repo,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout and child.stderr
    child.stdout.readline()
    child.stdout.close()
    errors = child.stderr.read()
    child.stderr.close()
    assert child.wait(60) == 141
    assert errors == b""


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_an_interrupt_is_reported(repo: Path, flags: list[str]) -> None:
    (repo / ".kedge" / "locks").mkdir(parents=True)
    lock = repo / ".kedge" / "locks" / "tasks.lock"
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl,sys,time\n"
            f"f = open({str(lock)!r}, 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True)\n"
            "time.sleep(60)",
        ],
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout
        holder.stdout.readline()
        start = (  # a background job ignores the signal by default
            "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
            "from kedge.cli.edge import run; sys.exit(run(sys.argv[1:]))"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", start, "task", "add", "x", *flags],
            cwd=repo,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "KEDGE_TASKS_LOCK_TIMEOUT": "50"},
        )
        time.sleep(1.5)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    finally:
        holder.kill()
        holder.communicate()
    assert child.returncode == 130
    if flags:
        assert json.loads(out)["code"] == "interrupted"
    else:
        assert err.decode().splitlines() == ["error: interrupted"]


def test_json_is_valid_in_every_encoding(repo: Path, kedge: Kedge) -> None:
    kedge("task", "add", "Käse 🚢 \x9b", "--id", "t-1")
    for encoding in ("ascii", "latin-1", "utf-8"):
        done = subprocess.run(
            [sys.executable, "-m", "kedge", "--json", "task", "show", "t-1"],
            cwd=repo,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=True,
        )
        assert json.loads(done.stdout)["data"]["title"] == "Käse 🚢 \x9b"
        assert b"\x9b" not in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full device")
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_output_that_cannot_be_written_is_reported(
    repo: Path, kedge: Kedge, flags: list[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kedge", "task", "add", "x", *flags],
            cwd=repo,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "error: cannot write the output: no space left on device"
    assert len(kedge.json("task", "list")) == 1


def test_a_deleted_current_directory_is_reported(kedge: Kedge, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    shell = f"cd {gone} && rmdir {gone} && {sys.executable} -I -m kedge task list"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: the current directory was deleted\nhint: ")


def test_control_characters_in_data_are_not_printed(repo: Path, kedge: Kedge) -> None:
    (repo / ".kedge").mkdir()
    (repo / ".kedge" / "tasks.jsonl").write_text(
        json.dumps({"id": "t-1", "title": "a\x1b[31mred\x07", "description": "\x1b]0;x\x07"}) + "\n"
    )
    assert "\x1b" not in kedge("task", "list").out
    assert "\x1b" not in kedge("task", "show", "t-1").out
    assert "\x1b" not in kedge("task", "show", "\x1b[31m", code=1).err


def test_listings_are_tables_on_a_terminal(repo: Path, kedge: Kedge) -> None:
    import pty

    kedge("task", "add", "paint the hull", "--id", "t-1")
    reader, writer = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "kedge", "task", "list"], cwd=repo, stdout=writer, timeout=60
        )
        text = os.read(reader, 65536).decode()
    finally:
        os.close(writer)
        os.close(reader)
    assert done.returncode == 0
    lines = text.splitlines()
    assert lines[0].split() == ["id", "status", "prio", "type", "title"]
    assert "paint the hull" in text
    assert "\t" not in text


@pytest.mark.parametrize(
    ("typed", "code", "says"),
    [(b"n\n", 0, "nothing was deleted"), (b"\x04", 130, "error: interrupted")],
)
def test_a_question_can_be_answered_or_interrupted(
    repo: Path, kedge: Kedge, typed: bytes, code: int, says: str
) -> None:
    import pty

    kedge("task", "add", "paint", "--id", "t-1", "--description", "d", "--accept", "it is red")
    kedge("context", "init", "t-1")
    keyboard, stdin = pty.openpty()
    try:
        os.write(keyboard, typed)
        done = subprocess.run(
            [sys.executable, "-m", "kedge", "context", "purge", "t-1"],
            cwd=repo,
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        os.close(keyboard)
        os.close(stdin)
    assert done.returncode == code
    assert "Delete the context of t-1? [y/N]: " in done.stderr
    assert says in done.stdout + done.stderr
    assert [row["task"] for row in kedge("--json", "context", "list").data] == ["t-1"]


BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def read_terminal(directory: Path, *args: str) -> str:
    """Return what a command shows on a terminal, on both of its streams."""
    import pty

    reader, writer = pty.openpty()
    try:
        subprocess.run(
            [sys.executable, "-m", "kedge", *args],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer,
            timeout=60,
        )
        os.set_blocking(reader, False)
        return os.read(reader, 1 << 20).decode()
    finally:
        os.close(writer)
        os.close(reader)


def test_signs_that_turn_the_direction_of_text_do_not_reach_the_terminal(
    repo: Path, kedge: Kedge
) -> None:
    """With them, a terminal shows the letters of a command or a path in another order."""
    for number, sign in enumerate(BIDI):
        kedge("task", "add", f"paint{sign}it", "--id", f"t-{number}", "--description", f"a{sign}b")
    (repo / f"a{BIDI}b.py").write_text("def f(): ...\n")
    commands = [("task", "list"), ("task", "show", "t-7"), ("prompt", "--task", "t-7")]
    commands += [
        ("prompt", "t-7"),
        ("map",),
        ("map", "--print"),
        ("anchor",),
        ("task", "show", BIDI),
        ("retro", "t-7"),
        ("run", "--dry-run"),
    ]
    for command in commands:
        shown = read_terminal(repo, *command)
        assert shown
        assert not set(shown) & set(BIDI), (command, shown)
    assert "paint\\u202eit" in read_terminal(repo, "task", "list")


def test_half_a_character_in_a_task_is_no_bug(repo: Path, kedge: Kedge) -> None:
    (repo / ".kedge").mkdir()
    (repo / ".kedge" / "tasks.jsonl").write_text('{"id": "t", "title": "paint \\ud800"}\n')
    for command in (("retro", "t"), ("prompt", "t"), ("anchor", "t"), ("task", "show", "t")):
        assert kedge(*command).out
