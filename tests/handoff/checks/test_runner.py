"""Running a check: its output, its exit, and the processes it leaves."""

from __future__ import annotations

import hashlib
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.errors import FileError, InvalidValue
from kedge.handoff.checks.check_result import make_result
from kedge.handoff.checks.output import HEAD, TAIL
from kedge.handoff.checks.runner import needs_shell, run_check, split_command

SLACK = 30.0  # a guard against hanging, not a measure


def _py(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", f"import os, signal, sys, time\n{code}"]


def _runs(pid: int) -> bool:
    argv = ["ps", "-o", "stat=", "-p", str(pid)]
    state = subprocess.run(argv, capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


def _assert_gone(*pids: int) -> None:
    end = time.monotonic() + SLACK
    while left := [pid for pid in pids if _runs(pid)]:
        assert time.monotonic() < end, f"still running: {left}"
        time.sleep(0.02)


def test_a_run_records_command_directory_exit_code_and_log(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    ran = run_check("sh -c 'pwd; exit 3'", tmp_path / "sub", timeout=SLACK, root=tmp_path)
    out = f"{(tmp_path / 'sub').resolve()}\n".encode()
    assert (ran.command, ran.directory) == ("sh -c 'pwd; exit 3'", "sub")
    assert (ran.exit_code, ran.timed_out, ran.log) == (3, False, out)
    assert (ran.log_size, ran.log_digest) == (len(out), hashlib.sha256(out).hexdigest())
    assert ran.seconds is not None
    assert 0 <= ran.seconds < SLACK


def test_both_outputs_keep_their_order(tmp_path: Path) -> None:
    ran = run_check(
        "for i in 1 2 3 4 5 6 7 8; do echo o$i; echo e$i >&2; done", tmp_path, timeout=9
    )
    assert ran.log.decode().split() == [f"{x}{n}" for n in range(1, 9) for x in "oe"]


def test_output_is_seen_while_the_check_runs(tmp_path: Path) -> None:
    """The check continues only after its first line was seen."""
    seen = tmp_path / "seen"
    code = "print('one', flush=True)\nwhile not os.path.exists('seen'): time.sleep(0.01)"
    chunks: list[bytes] = []

    def watch(chunk: bytes) -> None:
        chunks.append(chunk)
        seen.touch()

    ran = run_check(_py(f"{code}\nprint('two')"), tmp_path, timeout=SLACK, on_output=watch)
    assert (ran.exit_code, ran.timed_out) == (0, False)
    assert b"two" not in chunks[0]
    assert b"".join(chunks) == ran.log == b"one\ntwo\n"


def test_colour_is_printed_and_not_stored(tmp_path: Path) -> None:
    shown: list[bytes] = []
    text = r"printf '\033[31mred\033[0m\n'"
    ran = run_check(text, tmp_path, timeout=SLACK, on_output=shown.append)
    assert b"".join(shown) == b"\x1b[31mred\x1b[0m\n"
    assert ran.log == b"red\n"
    assert ran.log_digest == hashlib.sha256(b"".join(shown)).hexdigest()


def test_a_flood_of_output_is_bounded(tmp_path: Path) -> None:
    lines, times = b"".join(b"line %07d\n" % n for n in range(80_000)), 20
    code = "lines = b''.join(b'line %07d\\n' % n for n in range(80_000))\n"
    code += f"for _ in range({times}): sys.stdout.buffer.write(lines)\n"
    code += "print('=== 3 passed in 1.0s ===')"
    ran = run_check(_py(code), tmp_path, timeout=600)
    whole = hashlib.sha256()
    for _ in range(times):
        whole.update(lines)
    whole.update(b"=== 3 passed in 1.0s ===\n")
    assert ran.log_size == len(lines) * times + 25 > 2 * (HEAD + TAIL)
    assert ran.log_digest == whole.hexdigest()
    assert len(ran.log) <= HEAD + TAIL + 100
    kept = ran.log.splitlines(keepends=True)
    assert kept[0] == b"line 0000000\n"
    (mark,) = (line for line in kept if line.startswith(b"[kedge: "))
    gone = ran.log_size - (len(ran.log) - len(mark))
    assert mark == b"[kedge: %d bytes of output left out]\n" % gone
    assert all(len(line) == 13 for line in kept[:-1] if line != mark)
    assert [one.text for one in make_result(ran).summaries] == ["pytest: 3 passed"]


def test_a_check_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    command = "trap '' TERM; echo $$; while :; do sleep 600; done"
    ran = run_check(command, tmp_path, timeout=1.5, grace=0.2)
    assert (ran.timed_out, ran.exit_code) == (True, -signal.SIGKILL)
    assert make_result(ran).passed is False
    assert make_result(ran).text.endswith(f"timed out after {ran.seconds:g} s")
    _assert_gone(int(ran.log))


def test_a_check_that_exits_with_0_after_the_timeout_has_not_passed(tmp_path: Path) -> None:
    command = "trap 'exit 0' TERM; while :; do sleep 600; done"
    ran = run_check(command, tmp_path, timeout=1.5, grace=SLACK)
    assert (ran.timed_out, ran.exit_code) == (True, 0)
    assert make_result(ran).passed is False


def test_child_processes_are_ended_with_the_check(tmp_path: Path) -> None:
    ran = run_check("sleep 600 & sleep 601 & echo $!; exit 0", tmp_path, timeout=SLACK)
    assert (ran.exit_code, ran.timed_out) == (0, False)
    _assert_gone(int(ran.log))


def test_child_processes_are_ended_at_the_timeout(tmp_path: Path) -> None:
    ran = run_check("sleep 600 & echo $!; wait", tmp_path, timeout=1.0)
    assert ran.timed_out
    _assert_gone(int(ran.log))


def test_an_interrupt_ends_the_whole_process_group(tmp_path: Path) -> None:
    seen: list[int] = []

    def interrupt(chunk: bytes) -> None:
        seen.append(int(chunk))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_check("sleep 600 & echo $!; wait", tmp_path, timeout=SLACK, on_output=interrupt)
    _assert_gone(*seen)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_check_that_dies_of_a_signal_has_a_negative_exit_code(
    tmp_path: Path, number: signal.Signals
) -> None:
    result = make_result(run_check(_py(f"os.kill(os.getpid(), {number})"), tmp_path, timeout=SLACK))
    assert (result.exit_code, result.passed) == (-number, False)
    assert result.text.endswith(f"ended by signal {int(number)}")


@pytest.mark.parametrize("command", ["no-such-program --x", ["no-such-program"], "./nowhere a"])
def test_a_missing_program_is_exit_code_127(tmp_path: Path, command: str | list[str]) -> None:
    ran = run_check(command, tmp_path, timeout=SLACK)
    assert ran.exit_code == 127
    assert b"no" in ran.log
    assert "could not be started" in make_result(ran).text
    in_a_shell = run_check(f"{split_command(command)[1]} && true", tmp_path, timeout=SLACK)
    assert in_a_shell.exit_code == 127


def test_a_program_that_cannot_be_executed_is_exit_code_126(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no program")
    ran = run_check("./data", tmp_path, timeout=SLACK)
    assert ran.exit_code == 126
    assert b"./data" in ran.log


def test_a_check_gets_no_input(tmp_path: Path) -> None:
    assert run_check("cat", tmp_path, timeout=SLACK).exit_code == 0


def test_a_check_gets_exactly_the_given_environment(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "ONLY": "this"}
    lines = run_check("env", tmp_path, timeout=SLACK, env=env).log.decode().splitlines()
    assert "ONLY=this" in lines
    assert not [line for line in lines if line.startswith("HOME=")]


def test_an_empty_command_is_refused(tmp_path: Path) -> None:
    for command in ("", "  \n", "a\0b", [], [""], ["a", "b\0"]):
        with pytest.raises(InvalidValue):
            run_check(command, tmp_path, timeout=1)
    with pytest.raises(FileError):
        run_check("true", tmp_path / "nowhere", timeout=1)


# With and without a shell


@pytest.mark.parametrize(
    "text",
    ["a && b", "a | b", "a > f", "A=1 b", "a $B", "a *.py", "cd a", "(a)", "a; b", "a &",
     "~/a", "a `b`", 'a "$B"', "a 'b", "a # b", "exit 3", "! a", "a\nb", "a \\b"],
)  # fmt: skip
def test_shell_syntax_needs_a_shell(text: str) -> None:
    assert needs_shell(text)
    assert split_command(text)[0] == ["sh", "-c", text]


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("pytest -q tests/a.py::test_b", ["pytest", "-q", "tests/a.py::test_b"]),
        ("pytest -k 'a and (b | c)'", ["pytest", "-k", "a and (b | c)"]),
        ('go test "-run=a b" ./...', ["go", "test", "-run=a b", "./..."]),
    ],
)
def test_plain_words_need_no_shell(text: str, argv: list[str]) -> None:
    assert split_command(text) == (argv, text)


@settings(max_examples=60)
@given(st.text("ab '\"$`\\*?~=#%{}|&;<>()[]!-./\n", min_size=1, max_size=12))
def test_words_are_split_as_a_shell_would(text: str) -> None:
    line = f"x {text}".rstrip()
    if not needs_shell(line):
        script = f"printf '%s\\0' {line}"
        out = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout
        assert out.decode().split("\0")[:-1] == shlex.split(line)
