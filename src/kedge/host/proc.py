"""Run a program to its end in a process group of its own, and end the whole group with it.

`running` follows a program line by line instead.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kedge.errors import ProgramError
from kedge.host import deadline as deadlines

GRACE = 2.0
_CHUNK = 1 << 16
_POLL = 0.1  # seconds until we notice that a program ended whose children keep its pipes open
_DRAIN = 0.5  # seconds to read what is left in the pipes then
_FOREVER = float("inf")
_starting = threading.Lock()
_own: set[int] = set()  # programs that this process has started and not yet waited for


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program ended. `code` is negative for a signal, as in `subprocess`."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float
    timed_out: bool


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    input: bytes | None = None,  # noqa: A002 - the word subprocess uses
    timeout: float | None = None,
    on_output: Callable[[bytes], None] | None = None,
    grace: float = GRACE,
) -> ProgramResult:
    """Run a program until it ends or the time-out, and leave nothing of its group running.

    With `on_output`, each chunk of output is passed to it as it arrives, standard error included;
    otherwise output is collected. On a time-out, an exception in `on_output` or an interrupt the
    whole group gets SIGTERM, and SIGKILL after `grace` seconds. Where the process has a deadline of
    its own, the program gets no more than what is left of it.
    """
    begin = time.monotonic()
    left = deadlines.seconds_left()
    if left is not None:  # the process itself is to end: there is no time for a program's farewell
        timeout, grace = left if timeout is None else min(left, timeout), 0.0
    deadline = _FOREVER if timeout is None else begin + timeout
    collected: dict[str, list[bytes]] = {"stdout": [], "stderr": []}

    def take(stream: str, chunk: bytes) -> None:
        if on_output is None:
            collected[stream].append(chunk)
        else:
            on_output(chunk)

    timed_out = True
    with hold_signals() as let_through:
        merged = on_output is not None  # one pipe for both, so that their order is kept
        child = start(argv, cwd, env, piped=input is not None, merged=merged)
        try:
            let_through()
            timed_out = not _follow(child, input, deadline, take)
        finally:
            end_group(child, grace if timed_out else 0.0)
    return ProgramResult(
        child.returncode,
        b"".join(collected["stdout"]),
        b"".join(collected["stderr"]),
        time.monotonic() - begin,
        timed_out,
    )


def start(
    argv: Sequence[str | os.PathLike[str]],
    cwd: Path | None,
    env: Mapping[str, str] | None,
    *,
    piped: bool,
    merged: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a program with pipes for its output (one if `merged`), and its input if `piped`."""
    try:
        with _starting:
            child = subprocess.Popen(
                [os.fspath(a) for a in argv],
                cwd=cwd,
                env=None if env is None else dict(env),
                stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merged else subprocess.PIPE,
                start_new_session=True,
            )
            _own.add(child.pid)
        return child
    except FileNotFoundError as error:
        missing = os.fspath(error.filename or argv[0])
        raise ProgramError(
            f"no program or directory {missing!r}", hint="check its spelling, and PATH"
        ) from error
    except (OSError, ValueError) as error:
        raise ProgramError(
            f"cannot start {os.fspath(argv[0])!r}: {error}",
            hint="check that you may run it, and its arguments",
        ) from error


def list_own() -> set[int]:
    """Return the programs that this process has started and not yet waited for."""
    with _starting:
        return set(_own)


def wait(child: subprocess.Popen[bytes]) -> int:
    """Wait for a program's end, and return its exit code."""
    code = child.wait()
    _own.discard(child.pid)
    return code


@contextlib.contextmanager
def hold_signals() -> Iterator[Callable[[], None]]:
    """Hold back SIGINT and SIGTERM until the yielded function is called, or the block is left.

    An exception inside Popen would leave a program running that nothing can end.
    """
    held: list[int] = []
    handlers: dict[int, Any] = {}

    def let_through() -> None:
        while handlers:
            signal.signal(*handlers.popitem())
        while held:
            signal.raise_signal(held.pop())

    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                # An ignored signal stays ignored: the program inherits that.
                if callable(handler := signal.getsignal(number)):
                    handlers[number] = handler
                    signal.signal(number, lambda got, _: held.append(got))
        yield let_through
    finally:
        let_through()


def end_group(child: subprocess.Popen[bytes], grace: float = GRACE) -> None:
    """End the child and every process of its group, and wait until the child is reaped."""
    try:
        if grace > 0:
            _signal(child.pid, signal.SIGTERM)
            _await_group(child, time.monotonic() + grace)
    finally:  # also if a second interrupt cuts the grace period short
        _signal(child.pid, signal.SIGKILL)
        wait(child)
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _await_group(child: subprocess.Popen[bytes], deadline: float) -> None:
    """Wait for the whole group: a shell may end at once while the commands it ran clean up."""
    pause = 0.001
    # A leader that is not reaped would count as running.
    while (child.poll() is None or _signal(child.pid, 0)) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(pause * 2, 0.05)


def _signal(group: int, number: int) -> bool:
    """Signal the group; return False if it has no process left."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _follow(
    child: subprocess.Popen[bytes],
    data: bytes | None,
    deadline: float,
    take: Callable[[str, bytes], None],
) -> bool:
    """Feed and drain the pipes until the child has ended; return False at the deadline."""
    pending = memoryview(data or b"")
    drained = _FOREVER
    with selectors.DefaultSelector() as selector:
        for pipe, name in ((child.stdout, "stdout"), (child.stderr, "stderr")):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, name)
        if child.stdin is not None:
            os.set_blocking(child.stdin.fileno(), False)
            selector.register(child.stdin, selectors.EVENT_WRITE, "stdin")
        while selector.get_map():
            ended = child.poll() is not None
            now = time.monotonic()
            if ended:
                # Its output is in the pipes; a grandchild that keeps them open is not waited for.
                drained = min(drained, now + _DRAIN)
            left = (drained if ended else deadline) - now
            if left <= 0:
                return ended
            ready = selector.select(0 if ended else min(left, _POLL))
            if ended and not ready:
                return True
            for key, _ in ready:
                if key.data == "stdin":
                    pending = feed(key.fd, pending)
                    done = not pending
                else:
                    chunk = os.read(key.fd, _CHUNK)
                    done = not chunk
                    if chunk:
                        take(key.data, chunk)
                if done:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
    try:
        child.wait(None if deadline == _FOREVER else max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def feed(fd: int, pending: memoryview) -> memoryview:
    """Write what the pipe takes; return the rest, which is empty if nobody reads any more."""
    try:
        return pending[os.write(fd, pending[:_CHUNK]) :]
    except BlockingIOError:
        return pending
    except BrokenPipeError:
        return pending[:0]
