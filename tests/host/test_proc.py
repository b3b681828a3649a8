"""Programs: all of their output, no deadlock, and nothing of their group left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kedge.errors import ProgramError
from kedge.host import proc

MB = 1 << 20
SLACK = 20.0  # a guard against hanging, not a measure


def _py(code: str, *args: object) -> list[str]:
    return [sys.executable, "-S", "-c", f"import os, signal, sys, time\n{code}", *map(str, args)]


def _await(path: Path) -> str:
    """What a process writes into the file, with its last line break."""
    end = time.monotonic() + SLACK
    while time.monotonic() < end:
        if path.exists() and (text := path.read_text()).endswith("\n"):
            return text
        time.sleep(0.01)
    pytest.fail(f"{path.name} was not written")


def _runs(pid: int) -> bool:
    """Whether the process is there and no zombie that waits for its parent."""
    if Path("/proc/self/stat").exists():
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
        except (FileNotFoundError, ProcessLookupError):
            return False
    else:
        argv = ["ps", "-o", "stat=", "-p", str(pid)]
        state = subprocess.run(argv, capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.strip().startswith("Z")


def _assert_gone(*pids: int) -> None:
    end = time.monotonic() + SLACK
    while left := [pid for pid in pids if _runs(pid)]:
        assert time.monotonic() < end, f"still running: {left}"
        time.sleep(0.02)


def test_output_and_exit_code() -> None:
    done = proc.run(["sh", "-c", "printf out; printf err >&2; exit 7"])
    assert (done.code, done.stdout, done.stderr, done.timed_out) == (7, b"out", b"err", False)
    assert 0 < done.seconds < SLACK
    assert proc.run(["true"]).code == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1])
def test_the_end_by_a_signal_is_a_negative_code(number: signal.Signals) -> None:
    done = proc.run(["sh", "-c", f"kill -{number.name.removeprefix('SIG')} $$"])
    assert done.code == -number
    assert done.timed_out is False


def test_directory_and_environment(tmp_path: Path) -> None:
    done = proc.run(
        ["sh", "-c", 'pwd; echo "$ONLY"; env'],
        cwd=tmp_path,
        env={"ONLY": "this", "PATH": os.environ["PATH"]},
    )
    here, only, *rest = done.stdout.decode().splitlines()
    assert Path(here) == tmp_path.resolve()
    assert only == "this"
    assert not [line for line in rest if line.startswith("HOME=")]


def test_a_program_reads_nothing_unless_given() -> None:
    assert proc.run(["cat"]).stdout == b""
    assert proc.run(["cat"], input=b"").stdout == b""
    assert proc.run(["cat"], input=b"a\0b").stdout == b"a\0b"


def test_input_comes_back_whole() -> None:
    data = bytes(range(256)) * (5 * MB // 256)
    assert proc.run(["cat"], input=data, timeout=60).stdout == data


@pytest.mark.parametrize(
    "code",
    [
        "sys.exit(3)",
        "os.close(0); time.sleep(0.2); sys.exit(3)",
        "time.sleep(0.2); sys.exit(3)",
        "os.read(0, 10); sys.exit(3)",
    ],
    ids=["ends", "closes", "ignores", "reads a little"],
)
def test_input_that_is_not_read(code: str) -> None:
    done = proc.run(_py(code), input=b"x" * (5 * MB), timeout=60)
    assert (done.code, done.timed_out) == (3, False)


def test_input_to_a_slow_reader() -> None:
    code = (
        "total = 0\n"
        "while data := os.read(0, 400_000):\n"
        "    total += len(data)\n"
        "    time.sleep(0.005)\n"
        "print(total)\n"
    )
    done = proc.run(_py(code), input=b"x" * (5 * MB), timeout=60)
    assert (done.code, done.stdout) == (0, b"%d\n" % (5 * MB))


def test_much_output_on_both_pipes_while_there_is_input() -> None:
    code = (
        "def write(fd, byte):\n"
        "    for _ in range(20):\n"
        "        left = memoryview(byte * (1 << 20))\n"
        "        while left:\n"
        "            left = left[os.write(fd, left):]\n"
        "write(2, b'e')\n"
        "write(1, b'o')\n"
        "while os.read(0, 1 << 20):\n"
        "    pass\n"
    )
    done = proc.run(_py(code), input=b"i" * (5 * MB), timeout=60)
    assert (done.code, done.timed_out) == (0, False)
    assert done.stdout == b"o" * (20 * MB)
    assert done.stderr == b"e" * (20 * MB)


def test_output_is_given_as_it_arrives(tmp_path: Path) -> None:
    """The program goes on only when its first words have been heard."""
    heard = tmp_path / "heard"
    seen = {"stdout": b"", "stderr": b""}

    def listen(stream: str, chunk: bytes) -> None:
        seen[stream] += chunk
        heard.touch()

    code = (
        "print('first', flush=True)\n"
        "while not os.path.exists(sys.argv[1]):\n"
        "    time.sleep(0.01)\n"
        "print('second', file=sys.stderr)\n"
    )
    done = proc.run(_py(code, heard), on_output=listen, timeout=SLACK)
    assert (done.code, done.timed_out) == (0, False)
    assert seen == {"stdout": b"first\n", "stderr": b"second\n"}
    assert (done.stdout, done.stderr) == (b"", b"")


def test_nothing_is_lost_to_a_listener_that_is_slow() -> None:
    """All that the program wrote is in the pipes when it has ended, past its time-out too."""
    heard = bytearray()

    def listen(_: str, chunk: bytes) -> None:
        time.sleep(0.5)
        heard.extend(chunk)

    script = "head -c 60000 /dev/zero; head -c 50000 /dev/zero >&2"
    done = proc.run(["sh", "-c", script], on_output=listen, timeout=0.8)
    assert (done.code, done.timed_out) == (0, False)
    assert len(heard) == 110_000


@pytest.mark.parametrize(("trap", "end"), [(":", signal.SIGTERM), ("trap '' TERM", signal.SIGKILL)])
def test_a_time_out_ends_the_whole_group(tmp_path: Path, trap: str, end: signal.Signals) -> None:
    """The leader, its child and its grandchild, also when none of them heeds SIGTERM."""
    place = tmp_path / "pids"
    inner = 'sleep 300 & echo $PPID $$ $! > "$0"; wait; wait'
    script = f'{trap}; sh -c "$1" "$0" & wait; wait; sleep 300'
    done = proc.run(["sh", "-c", script, str(place), inner], timeout=0.5, grace=0.3)
    assert done.timed_out
    assert done.code == -end
    assert 0.5 <= done.seconds < 0.5 + 0.3 + SLACK
    pids = [int(pid) for pid in _await(place).split()]
    assert len(set(pids)) == 3
    _assert_gone(*pids)


def test_output_up_to_the_time_out_is_kept() -> None:
    done = proc.run(["sh", "-c", "echo said; exec sleep 300"], timeout=0.5, grace=0.1)
    assert (done.timed_out, done.stdout) == (True, b"said\n")


def test_a_time_out_lets_the_group_clean_up(tmp_path: Path) -> None:
    """Also what a shell runs, which is itself gone at once."""
    clean = (
        "def end(*_):\n"
        "    time.sleep(0.3)\n"
        "    print('clean', file=open(sys.argv[1], 'w'))\n"
        "    os._exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print('up', flush=True)\n"
        "time.sleep(300)\n"
    )
    mark = tmp_path / "mark"
    argv = ["sh", "-c", '"$@" & sleep 300', "sh", *_py(clean, mark)]
    done = proc.run(argv, timeout=0.7, grace=2.0)
    assert (done.timed_out, done.stdout) == (True, b"up\n")
    assert mark.read_text() == "clean\n"


def test_an_end_within_the_time_is_no_time_out() -> None:
    assert proc.run(["sleep", "0.1"], timeout=SLACK).timed_out is False


def test_closed_pipes_are_not_the_end(tmp_path: Path) -> None:
    code = "os.close(1); os.close(2); time.sleep(float(sys.argv[1])); os._exit(5)"
    done = proc.run(_py(code, 0.2), timeout=SLACK)
    assert (done.code, done.timed_out) == (5, False)
    done = proc.run(_py(code, 300), timeout=0.5, grace=0.1)
    assert done.timed_out


@pytest.mark.parametrize("grandchild", ["sleep 300", "yes", "while :; do echo x; sleep 0.01; done"])
def test_a_grandchild_with_the_pipes_does_not_hold_up_the_end(
    tmp_path: Path, grandchild: str
) -> None:
    place = tmp_path / "pid"
    heard = bytearray()

    def listen(_: str, chunk: bytes) -> None:
        heard.extend(chunk)
        time.sleep(0.02)  # so that there is always more to read

    script = f"echo leader; ({grandchild}) & echo $! > {place}; exit 4"
    done = proc.run(["sh", "-c", script], timeout=SLACK, on_output=listen)
    assert (done.code, done.timed_out) == (4, False)
    assert done.seconds < SLACK
    assert heard.startswith(b"leader\n")
    _assert_gone(int(_await(place)))


class _Boom(Exception):
    pass


def test_an_exception_of_the_listener_ends_the_group(tmp_path: Path) -> None:
    place = tmp_path / "pids"

    def listen(stream: str, chunk: bytes) -> None:
        raise _Boom(chunk.decode())

    script = f"sleep 300 & echo $$ $! > {place}; echo now; wait"
    with pytest.raises(_Boom, match="now"):
        proc.run(["sh", "-c", script], on_output=listen, grace=0.2)
    _assert_gone(*map(int, _await(place).split()))


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_ends_the_group(tmp_path: Path, times: int) -> None:
    """Twice, for those who cannot wait out the grace of a program that ignores the first."""
    place = tmp_path / "pids"
    code = (
        "from kedge.host import proc\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "grace = 60.0 if sys.argv[2] == '2' else 0.2\n"
        "script = f\"trap '' TERM INT; sleep 300 & echo $$ $! > {sys.argv[1]}; wait; wait\"\n"
        "try:\n"
        "    proc.run(['sh', '-c', script], grace=grace)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(42)\n"
    )
    child = subprocess.Popen([a for a in _py(code, place, times) if a != "-S"])
    try:
        pids = [int(pid) for pid in _await(place).split()]
        child.send_signal(signal.SIGINT)
        if times == 2:
            time.sleep(0.3)
            assert _runs(pids[0])
            child.send_signal(signal.SIGINT)
        assert child.wait(SLACK) == 42
        _assert_gone(*pids)
    finally:
        child.kill()
        child.wait()
        for pid in filter(_runs, map(int, _await(place).split())):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_it_is_started_ends_the_group(
    tmp_path: Path, number: signal.Signals
) -> None:
    """The program runs by then, and nothing but the call that is cut off knows of it."""
    place = tmp_path / "pid"
    code = (
        "from kedge.host import proc\n"
        "def end(*_):\n"
        "    raise KeyboardInterrupt\n"
        "signal.signal(int(sys.argv[2]), end)\n"
        "def cut_off(frame, event, what):\n"
        "    if event == 'c_return' and what.__name__ == 'fork_exec':\n"
        "        while not os.path.exists(sys.argv[1]):\n"
        "            time.sleep(0.01)\n"
        "        signal.raise_signal(int(sys.argv[2]))\n"
        "sys.setprofile(cut_off)\n"
        "try:\n"
        "    proc.run(['sh', '-c', 'echo $$ > \"$0\"; exec sleep 300', sys.argv[1]], grace=0.2)\n"
        "except KeyboardInterrupt:\n"
        "    assert signal.getsignal(int(sys.argv[2])) is end\n"
        "    sys.exit(42)\n"
    )
    argv = [a for a in _py(code, place, int(number)) if a != "-S"]
    try:
        assert subprocess.run(argv, timeout=SLACK).returncode == 42
        _assert_gone(int(_await(place)))
    finally:
        for pid in filter(_runs, map(int, _await(place).split())):
            os.kill(pid, signal.SIGKILL)


def test_handlers_of_signals_are_as_before() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    proc.run(["true"])
    with pytest.raises(ProgramError):
        proc.run(["no-such-program"])
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_what_cannot_be_started_is_said(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    for argv, cwd, says in (
        (["no-such-program"], None, "no program or directory 'no-such-program'"),
        ([str(tmp_path / "none")], None, f"no program or directory '{tmp_path}/none'"),
        (["true"], tmp_path / "none", f"no program or directory '{tmp_path}/none'"),
        (["true"], script, "Not a directory"),
        ([str(script)], None, "Permission denied"),
        ([str(tmp_path)], None, "Permission denied"),
        (["echo", "a\0b"], None, "null byte"),
        (["echo", "x" * (64 * MB)], None, "too long"),
        (["echo", "\ud800"], None, "surrogates not allowed"),
    ):
        with pytest.raises(ProgramError) as caught:
            proc.run(argv, cwd=cwd)
        assert says in caught.value.message
        assert caught.value.hint


def test_nothing_is_left_after_many_runs(tmp_path: Path) -> None:
    """No descriptor, no zombie: seen from inside a process that did it all."""
    code = (
        "import subprocess\n"
        "from kedge.errors import ProgramError\n"
        "from kedge.host import proc\n"
        "def state():\n"
        "    return sorted(os.listdir('/dev/fd'))\n"
        "proc.run(['true'], input=b'x')\n"
        "before = state()\n"
        "for n in range(50):\n"
        "    if n % 10 == 0:\n"
        "        proc.run(['sleep', '300'], input=b'x', timeout=0.02, grace=0.1)\n"
        "    elif n % 10 == 1:\n"
        "        try:\n"
        "            proc.run(['no-such-program'], input=b'x')\n"
        "        except ProgramError:\n"
        "            pass\n"
        "    else:\n"
        "        proc.run(['sh', '-c', 'sleep 300 & echo x'], input=b'x' * 100_000)\n"
        "assert state() == before, (before, state())\n"
        "try:\n"
        "    os.waitpid(-1, os.WNOHANG)\n"
        "    sys.exit('a child is left')\n"
        "except ChildProcessError:\n"
        "    print('clean')\n"
    )
    argv = [a for a in _py(code) if a != "-S"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "clean\n"), done.stderr
