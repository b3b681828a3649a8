"""Running programs: complete output, no deadlock, and no process of the group left."""

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


class _Boom(Exception):
    pass


def _py(code: str, *args: object) -> list[str]:
    return [sys.executable, "-S", "-c", f"import os, signal, sys, time\n{code}", *map(str, args)]


def _await(path: Path) -> str:
    """Return what a process wrote into the file, once it ends with a line break."""
    end = time.monotonic() + SLACK
    while time.monotonic() < end:
        if path.exists() and (text := path.read_text()).endswith("\n"):
            return text
        time.sleep(0.01)
    pytest.fail(f"{path.name} was not written")


def _runs(pid: int) -> bool:
    """True if the process runs and is not a zombie."""
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
def test_a_signal_is_reported_as_a_negative_code(number: signal.Signals) -> None:
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


def test_a_program_without_input_reads_nothing() -> None:
    assert proc.run(["cat"]).stdout == b""
    assert proc.run(["cat"], input=b"").stdout == b""
    assert proc.run(["cat"], input=b"a\0b").stdout == b"a\0b"


def test_input_arrives_whole() -> None:
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
def test_input_that_nobody_reads_does_no_harm(code: str) -> None:
    done = proc.run(_py(code), input=b"x" * (5 * MB), timeout=60)
    assert (done.code, done.timed_out) == (3, False)


def test_a_slow_reader_gets_all_input() -> None:
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


def test_output_is_passed_on_as_it_arrives(tmp_path: Path) -> None:
    """The program continues only after its first output was received."""
    received = tmp_path / "received"
    seen = bytearray()

    def listen(chunk: bytes) -> None:
        seen.extend(chunk)
        received.touch()

    code = (
        "print('first', flush=True)\n"
        "while not os.path.exists(sys.argv[1]):\n"
        "    time.sleep(0.01)\n"
        "print('second', file=sys.stderr)\n"
    )
    done = proc.run(_py(code, received), on_output=listen, timeout=SLACK)
    assert (done.code, done.timed_out) == (0, False)
    assert seen == b"first\nsecond\n"
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_slow_listener_gets_all_output_also_after_the_time_out(tmp_path: Path) -> None:
    """What the program wrote is in the pipes when it has ended."""
    end, received, begin = tmp_path / "end", bytearray(), time.monotonic()

    def listen(chunk: bytes) -> None:
        _await(end)
        time.sleep(max(0.0, begin + 2.5 - time.monotonic()))
        received.extend(chunk)

    script = f"head -c 30000 /dev/zero; head -c 25000 /dev/zero >&2; echo >{end}"
    done = proc.run(["sh", "-c", script], on_output=listen, timeout=2)
    assert (done.code, done.timed_out) == (0, False)
    assert len(received) == 55_000


@pytest.mark.parametrize(("trap", "end"), [(":", signal.SIGTERM), ("trap '' TERM", signal.SIGKILL)])
def test_a_time_out_ends_the_whole_group(tmp_path: Path, trap: str, end: signal.Signals) -> None:
    """The leader, its child and its grandchild, also if they all ignore SIGTERM."""
    place = tmp_path / "pids"
    inner = 'sleep 300 & echo $PPID $$ $! > "$0"; wait; wait'
    script = f'{trap}; sh -c "$1" "$0" & wait; wait; sleep 300'
    done = proc.run(["sh", "-c", script, str(place), inner], timeout=1.5, grace=0.3)
    assert done.timed_out
    assert done.code == -end
    assert 1.5 <= done.seconds < 1.5 + 0.3 + SLACK
    pids = [int(pid) for pid in _await(place).split()]
    assert len(set(pids)) == 3
    _assert_gone(*pids)


def test_output_up_to_the_time_out_is_kept() -> None:
    done = proc.run(["sh", "-c", "echo before; exec sleep 300"], timeout=1.5, grace=0.1)
    assert (done.timed_out, done.stdout) == (True, b"before\n")


def test_a_group_that_is_ended_has_time_to_clean_up(tmp_path: Path) -> None:
    """Also what a shell started, although the shell itself ends at once."""
    clean = (
        "def end(*_):\n"
        "    time.sleep(0.3)\n"
        "    os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT), b'clean')\n"
        "    os._exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "os.write(1, b'ready')\n"
        "time.sleep(300)\n"
    )

    def listen(chunk: bytes) -> None:
        raise _Boom(chunk.decode())

    mark = tmp_path / "mark"
    argv = ["sh", "-c", '"$@" & sleep 300', "sh", *_py(clean, mark)]
    with pytest.raises(_Boom, match="ready"):
        proc.run(argv, on_output=listen, grace=SLACK)
    assert mark.read_bytes() == b"clean"


def test_a_program_that_ends_in_time_has_not_timed_out() -> None:
    assert proc.run(["sleep", "0.1"], timeout=SLACK).timed_out is False


def test_closed_pipes_are_not_the_end(tmp_path: Path) -> None:
    code = "os.close(1); os.close(2); time.sleep(float(sys.argv[1])); os._exit(5)"
    done = proc.run(_py(code, 0.2), timeout=SLACK)
    assert (done.code, done.timed_out) == (5, False)
    done = proc.run(_py(code, 300), timeout=0.5, grace=0.1)
    assert done.timed_out


@pytest.mark.parametrize("grandchild", ["sleep 300", "yes", "while :; do echo x; sleep 0.01; done"])
def test_a_grandchild_that_keeps_the_pipes_open_is_not_waited_for(
    tmp_path: Path, grandchild: str
) -> None:
    place = tmp_path / "pid"
    received = bytearray()

    def listen(chunk: bytes) -> None:
        received.extend(chunk)
        time.sleep(0.02)  # so that there is always more to read

    script = f"echo leader; ({grandchild}) & echo $! > {place}; exit 4"
    done = proc.run(["sh", "-c", script], timeout=SLACK, on_output=listen)
    assert (done.code, done.timed_out) == (4, False)
    assert done.seconds < SLACK
    assert received.startswith(b"leader\n")
    _assert_gone(int(_await(place)))


def test_an_exception_in_the_listener_ends_the_group(tmp_path: Path) -> None:
    place = tmp_path / "pids"

    def listen(chunk: bytes) -> None:
        raise _Boom(chunk.decode())

    script = f"sleep 300 & echo $$ $! > {place}; echo now; wait"
    with pytest.raises(_Boom, match="now"):
        proc.run(["sh", "-c", script], on_output=listen, grace=0.2)
    _assert_gone(*map(int, _await(place).split()))


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_ends_the_group(tmp_path: Path, times: int) -> None:
    """A second one ends a program that ignores the first, before its grace period is over."""
    place, term = tmp_path / "pids", tmp_path / "term"
    code = (
        "from kedge.host import proc\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "grace = 600.0 if sys.argv[3] == '2' else 0.2\n"
        "script = f\"trap 'echo >{sys.argv[2]}' TERM; trap '' INT; sleep 300 & \"\n"
        'script += f"echo $$ $! >{sys.argv[1]}; while :; do sleep 0.1; done"\n'
        "try:\n"
        "    proc.run(['sh', '-c', script], grace=grace)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(42)\n"
    )
    child = subprocess.Popen([a for a in _py(code, place, term, times) if a != "-S"])
    try:
        pids = [int(pid) for pid in _await(place).split()]
        child.send_signal(signal.SIGINT)
        if times == 2:
            _await(term)  # the first interrupt was handled
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
def test_an_interrupt_during_the_start_ends_the_group(
    tmp_path: Path, number: signal.Signals
) -> None:
    """The program is running by then, and only the interrupted call knows of it."""
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


def test_signal_handlers_are_restored() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    proc.run(["true"])
    with pytest.raises(ProgramError):
        proc.run(["no-such-program"])
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_program_that_cannot_start_is_an_error_with_a_hint(tmp_path: Path) -> None:
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
    """No descriptor and no zombie, as seen from inside the process that ran them."""
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
