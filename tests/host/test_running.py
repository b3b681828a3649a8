"""Programs followed line by line: limits hold, and no process is left running."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kedge.errors import ProgramError
from kedge.host import process_tree, running
from kedge.host.running import CANCELLED, IDLE, TIME, Child, Line, Stopped

SLACK = 20.0  # a guard against hanging, not a measure
SLEEP = "import time; time.sleep(3600)"


def py(code: str, *args: object) -> list[str]:
    return [sys.executable, "-S", "-c", f"import os, signal, sys, time\n{code}", *map(str, args)]


def run(argv: list[str], *, input: bytes = b"", **limits: Any) -> tuple[list[Line], Child]:
    with running.start(argv, input=input) as child:
        lines = list(child.lines(**limits))
    return lines, child


def text(lines: list[Line], *, error: bool = False) -> list[bytes]:
    return [line.data for line in lines if line.error is error]


def runs(pid: int) -> bool:
    argv = ["ps", "-o", "stat=", "-p", str(pid)]
    state = subprocess.run(argv, capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


def assert_gone(*pids: int) -> None:
    end = time.monotonic() + SLACK
    while left := [pid for pid in pids if runs(pid)]:
        assert time.monotonic() < end, f"still running: {left}"
        time.sleep(0.02)


def pids(lines: list[Line]) -> list[int]:
    return [int(one) for line in text(lines) for one in line.split() if one.isdigit()]


def test_lines_of_both_streams_and_the_exit_code_are_reported() -> None:
    lines, child = run(["sh", "-c", "echo one; echo two >&2; printf 'three\\r\\nfour'; exit 7"])
    assert text(lines) == [b"one", b"three", b"four"]
    assert text(lines, error=True) == [b"two"]
    assert child.ended is not None
    assert (child.ended.code, child.ended.errors, child.ended.stopped) == (7, b"two\n", None)


def test_a_line_arrives_as_soon_as_it_is_written(tmp_path: Path) -> None:
    """The program continues only after its first line was received."""
    received = tmp_path / "received"
    code = (
        "print('first', flush=True)\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
        "print('second')\n"
    )
    with running.start(py(code, received)) as child:
        lines = child.lines(deadline=time.monotonic() + SLACK)
        assert next(lines).data == b"first"
        received.touch()
        assert next(lines).data == b"second"
        assert list(lines) == []
    assert child.ended is not None
    assert child.ended.stopped is None


def test_the_whole_input_arrives_and_then_ends() -> None:
    data = bytes(range(256)) * 20_000
    code = "import hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    lines, _ = run(py(code), input=data)
    assert text(lines) == [hashlib.sha256(data).hexdigest().encode()]
    assert text(run(["cat"])[0]) == []


@pytest.mark.parametrize("code", ["sys.exit(3)", "os.close(0); time.sleep(0.2); sys.exit(3)"])
def test_input_that_nobody_reads_does_no_harm(code: str) -> None:
    _, child = run(py(code), input=b"x" * (5 << 20))
    assert child.ended is not None
    assert (child.ended.code, child.ended.stopped) == (3, None)


def test_much_output_on_both_streams_is_read() -> None:
    code = (
        "for n in range(3000):\n"
        "    print('o' * 1000, n)\n"
        "    print('e' * 1000, n, file=sys.stderr)\n"
    )
    lines, child = run(py(code), input=b"x" * (1 << 20))
    assert len(text(lines)) == len(text(lines, error=True)) == 3000
    assert text(lines)[-1].endswith(b" 2999")
    assert child.ended is not None
    assert len(child.ended.errors) == running.TAIL
    assert child.ended.errors.endswith(b" 2999\n")


def test_a_line_that_is_too_long_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "LONGEST", 1000)
    lines, _ = run(py("sys.stdout.write('x' * 300_000 + chr(10) + 'y' * 1000 + chr(10) + 'z')"))
    assert [(len(line.data), line.cut) for line in lines] == [
        (1000, True),
        (1000, False),
        (1, False),
    ]


def test_a_flood_of_lines_without_the_mark_costs_little() -> None:
    """An agent may print gigabytes of short lines, each of which costs time where it is read."""
    flood = ["sh", "-c", "yes aaaaaaaa | head -c 9000000; printf '\\n{1}\\nz\\n {2}'"]
    start = time.process_time()
    with running.start(flood) as child:
        every = text(list(child.lines()))
    whole = time.process_time() - start
    with running.start(flood) as child:
        kept = text(list(child.lines(mark=b"{")))
    marked = time.process_time() - start - whole
    assert len(every) > 1_000_000 > 50_000 > len(kept)
    assert [one for one in kept if b"{" in one] == [b"{1}", b" {2}"]
    assert marked < whole / 4


@pytest.mark.parametrize("redirect", ["", ">&2"])
def test_a_flood_of_lines_may_come_many_at_a_time(redirect: str) -> None:
    flood = ["sh", "-c", f"{{ yes aaaaaaaa | head -c 9000000; printf 'z\\n\\nlast'; }} {redirect}"]
    start = time.process_time()
    with running.start(flood) as child:
        every = list(child.lines())
    whole = time.process_time() - start
    with running.start(flood) as child:
        some = list(child.lines(mark=b""))
    joined = time.process_time() - start - whole
    assert len(every) > 1_000_000 > 50_000 > len(some) > running.SINGLE
    error = bool(redirect)
    assert b"\n".join(text(some, error=error)) == b"\n".join(text(every, error=error))
    assert joined < whole / 4


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64])
def test_lines_with_the_mark_are_whole_wherever_the_output_is_divided(size: int) -> None:
    data = b"noise\n{one}\n\nx{two\ntail}\n{{three\n\n" * 3 + b"{last"
    splitter = running._Splitter(error=False)
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    lines = [line.data for chunk in chunks for line in splitter.feed(chunk, b"{")]
    lines += [line.data for line in splitter.rest()]
    expected = [line for line in data.split(b"\n") if b"{" in line]
    assert [line for line in lines if b"{" in line] == expected


def test_a_line_of_twenty_megabytes_arrives_whole() -> None:
    lines, _ = run(py("sys.stdout.write('x' * (20 << 20) + chr(10))"))
    assert [(len(line.data), line.cut) for line in lines] == [(20 << 20, False)]


@pytest.mark.parametrize("ignores", [False, True])
def test_a_program_is_stopped_at_its_deadline(ignores: bool) -> None:
    code = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if ignores else ""
    code += "print(os.getpid(), flush=True)\nwhile True: print('.', flush=True); time.sleep(0.05)"
    with running.start(py(code)) as child:
        next(child.lines())  # by now it ignores the signal
        assert next(child.lines()).data == b"."
        list(child.lines(deadline=time.monotonic() + 0.3))
    assert child.ended is not None
    assert child.ended.stopped == Stopped(TIME)
    assert child.ended.code == (-signal.SIGKILL if ignores else -signal.SIGTERM)
    assert_gone(child.pid)


def test_a_silent_program_is_stopped() -> None:
    _, child = run(py(SLEEP), idle=0.3, deadline=time.monotonic() + SLACK)
    assert child.ended is not None
    assert child.ended.stopped == Stopped(IDLE)
    assert_gone(child.pid)


def test_output_on_either_stream_ends_a_silence() -> None:
    code = "for _ in range(12): print('.', file=sys.stderr, flush=True); time.sleep(0.2)"
    with running.start(py(code)) as child:
        next(child.lines())
        assert len(list(child.lines(idle=2))) == 11
    assert child.ended is not None
    assert (child.ended.code, child.ended.stopped) == (0, None)


def test_an_allowed_silence_may_be_longer_once(tmp_path: Path) -> None:
    go = tmp_path / "go"
    code = (
        "print('ready', flush=True)\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
        "for pause in (2, 3600): print('.', flush=True); time.sleep(pause)\n"
    )
    count = 0
    with running.start(py(code, go)) as child:
        next(child.lines())
        go.touch()
        for _ in child.lines(idle=1, deadline=time.monotonic() + SLACK):
            count += 1
            if count == 1:
                child.allow_silence(SLACK)
    assert count == 2
    assert child.ended is not None
    assert child.ended.stopped == Stopped(IDLE)


def test_a_flood_of_output_does_not_delay_a_limit() -> None:
    code = "while True: sys.stdout.write('x' * 100_000 + '\\n')"
    with running.start(py(code)) as child:
        next(child.lines())
        for _ in child.lines(deadline=time.monotonic() + 0.3):
            pass
    assert child.ended is not None
    assert child.ended.stopped == Stopped(TIME)


def test_output_written_during_shutdown_is_kept() -> None:
    # A handler must not use a buffered stream: it may interrupt the code that is writing to it.
    code = (
        "def end(*_): os.write(1, b'bye\\n'); os._exit(5)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "os.write(1, b'hello\\n')\n"
        "time.sleep(3600)"
    )
    lines = []
    with running.start(py(code), grace=SLACK) as child:
        for line in child.lines():
            lines.append(line.data)
            child.stop("enough")
            child.stop("again")
    assert lines == [b"hello", b"bye"]
    assert child.ended is not None
    assert (child.ended.code, child.ended.stopped) == (5, Stopped("enough"))


def test_another_thread_can_stop_a_program() -> None:
    with running.start(py(SLEEP)) as child:
        threading.Timer(0.2, child.stop).start()
        assert list(child.lines(deadline=time.monotonic() + SLACK)) == []
    assert child.ended is not None
    assert child.ended.stopped == Stopped(CANCELLED)


# Each starts a process, in its own group or outside of it.
LEFT = {
    "in its group": "import subprocess as s\nc = s.Popen([sys.executable, '-c', sys.argv[1]])",
    "in a session of its own": (
        "import subprocess as s\n"
        "c = s.Popen([sys.executable, '-c', sys.argv[1]], start_new_session=True,"
        " stdin=s.DEVNULL, stdout=s.DEVNULL, stderr=s.DEVNULL)"
    ),
}
DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(3600)"


@pytest.mark.parametrize("how", LEFT)
@pytest.mark.parametrize("end", ["exits", "is stopped", "is left"])
def test_processes_that_it_started_end_with_it(how: str, end: str) -> None:
    code = LEFT[how] + "\nprint(c.pid, flush=True)\n"
    code += "os._exit(0)" if end == "exits" else "time.sleep(3600)"
    lines = []
    with running.start(py(code, DEAF)) as child:
        for line in child.lines(deadline=time.monotonic() + SLACK):
            lines.append(line)
            if end == "is left":
                break
            if end == "is stopped":
                child.stop()
    (started,) = pids(lines)
    assert_gone(started, child.pid)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="found by its environment")
def test_an_orphan_is_found_by_its_environment() -> None:
    code = (
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        null = os.open(os.devnull, os.O_RDWR)\n"
        "        print(os.getpid(), flush=True)\n"
        "        [os.dup2(null, fd) for fd in (0, 1, 2)]\n"
        "        os.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "time.sleep(0.3)\n"
    )
    lines, child = run(py(code, DEAF), idle=SLACK)
    (started,) = pids(lines)
    assert child.ended is not None
    assert child.ended.code == 0
    assert_gone(started)


def test_nested_programs_have_the_marks_of_both() -> None:
    env = process_tree.add_mark(process_tree.add_mark({"A": "b"}, "outer"), "inner")
    assert env == {"A": "b", process_tree.VARIABLE: "outer inner"}


def test_an_exception_ends_the_program() -> None:
    with pytest.raises(ZeroDivisionError), running.start(py(SLEEP)) as child:
        raise ZeroDivisionError
    assert child.ended is not None
    assert_gone(child.pid)


def test_a_second_interrupt_cuts_the_grace_period_short(tmp_path: Path) -> None:
    mark = tmp_path / "terminated"
    deaf = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: os.close(os.open(sys.argv[1], os.O_CREAT)))\n"
        "os.write(1, b'ready\\n')\n"
        "while True: time.sleep(1)\n"
    )
    code = (
        "import signal, sys\n"
        "from kedge.host import running\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored\n"
        "try:\n"
        "    with running.start([sys.executable, '-c', *sys.argv[1:]], grace=600) as child:\n"
        "        for line in child.lines():\n"
        "            print(child.pid, flush=True)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    argv = [sys.executable, "-c", code, deaf, str(mark)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as caller:
        assert caller.stdout is not None
        inner = int(caller.stdout.readline())
        caller.send_signal(signal.SIGINT)
        end = time.monotonic() + SLACK
        while not mark.exists():  # the first interrupt was handled
            assert time.monotonic() < end
            time.sleep(0.01)
        assert runs(inner)
        caller.send_signal(signal.SIGINT)
        assert caller.stdout.read() == b"interrupted\n"
    assert_gone(inner)


def test_no_descriptor_and_no_zombie_is_left() -> None:
    def open_now() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    before = open_now()
    for argv in (["true"], ["sh", "-c", "exec 1>&- 2>&-; sleep 0.1"], py(SLEEP)):
        run(argv, deadline=time.monotonic() + 1)
    with pytest.raises(ProgramError), running.start(["no-such-program-at-all"]):
        pass
    assert open_now() == before
    with suppress(ChildProcessError):  # raised if this process has no children at all
        assert os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def test_arguments_are_not_interpreted_by_a_shell(tmp_path: Path) -> None:
    word = "$(touch no) `touch no` ; touch no"
    lines, _ = run(["printf", "%s\n", word])
    assert text(lines) == [word.encode()]


def test_a_log_is_followed_until_the_end(tmp_path: Path) -> None:
    """Lines appended to a file arrive while the program runs, and the last ones at its end."""
    log, seen = tmp_path / "below" / "log", tmp_path / "seen"
    code = f"""
import pathlib, time
log = pathlib.Path({str(log)!r}); log.parent.mkdir()
log.write_text('one\\ntw')
while not pathlib.Path({str(seen)!r}).exists(): time.sleep(0.01)
print('out')
with log.open('a') as file: file.write('o\\nthree\\nunfinished')
"""
    lines = []
    with running.start(py(code), log=log) as child:
        for line in child.lines(deadline=time.monotonic() + SLACK):
            seen.touch()
            lines.append((line.data, line.log))
    assert sorted(lines) == [(b"one", True), (b"out", False), (b"three", True), (b"two", True)]
