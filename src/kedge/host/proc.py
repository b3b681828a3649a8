"""Programs, started in a process group of their own and ended with all of it."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from kedge.errors import ProgramError
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GRACE = 2.0
_CHUNK = 1 << 16
_POLL = 0.1  # how soon the end of a leader is seen whose children keep its pipes open
_DRAIN = 0.5
_FOREVER = float("inf")


class Finished(NamedTuple):
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
    on_output: Callable[[str, bytes], None] | None = None,
    grace: float = GRACE,
) -> Finished:
    """Run a program to its end, or to the time-out, and leave nothing of its group running.

    Output is given to `on_output("stdout" | "stderr", chunk)` as it arrives when that is set,
    and collected otherwise. On a time-out, on an exception in `on_output` and on an interrupt
    the whole group gets SIGTERM, and SIGKILL after `grace` seconds.
    """
    begin = time.monotonic()
    deadline = _FOREVER if timeout is None else begin + timeout
    collected: dict[str, list[bytes]] = {"stdout": [], "stderr": []}

    def take(stream: str, chunk: bytes) -> None:
        if on_output is None:
            collected[stream].append(chunk)
        else:
            on_output(stream, chunk)

    timed_out = True
    with signals_held_back() as let_through:
        child = started(argv, cwd, env, piped=input is not None)
        try:
            let_through()
            timed_out = not _follow(child, input, deadline, take)
        finally:
            end_group(child, grace if timed_out else 0.0)
    return Finished(
        child.returncode,
        b"".join(collected["stdout"]),
        b"".join(collected["stderr"]),
        time.monotonic() - begin,
        timed_out,
    )


def started(
    argv: Sequence[str | os.PathLike[str]],
    cwd: Path | None,
    env: Mapping[str, str] | None,
    *,
    piped: bool,
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [os.fspath(a) for a in argv],
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        missing = os.fspath(error.filename or argv[0])
        raise ProgramError(
            f"no program or directory {missing!r}", hint="check its spelling, and PATH"
        ) from error
    except (OSError, ValueError) as error:
        raise ProgramError(
            f"cannot start {os.fspath(argv[0])!r}: {error}",
            hint="check that it is a program that you may run, and what it is given",
        ) from error


@contextlib.contextmanager
def signals_held_back() -> Iterator[Callable[[], None]]:
    """Until the given function is called, no signal raises an exception.

    One inside of Popen would leave a program running that nobody knows of.
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
                # One that is ignored stays so: the program inherits that.
                if callable(handler := signal.getsignal(number)):
                    handlers[number] = handler
                    signal.signal(number, lambda got, _: held.append(got))
        yield let_through
    finally:
        let_through()


def end_group(child: subprocess.Popen[bytes], grace: float = GRACE) -> None:
    """End the child and every process of its group; return when the child is reaped."""
    try:
        if grace > 0:
            _signal(child.pid, signal.SIGTERM)
            _await_group(child, time.monotonic() + grace)
    finally:  # also when a second interrupt cuts the grace short
        _signal(child.pid, signal.SIGKILL)
        child.wait()
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _await_group(child: subprocess.Popen[bytes], deadline: float) -> None:
    """Wait for all of the group: a shell may be gone at once while what it runs cleans up."""
    pause = 0.001
    # A leader that is not reaped would count as one that runs.
    while (child.poll() is None or _signal(child.pid, 0)) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(pause * 2, 0.05)


def _signal(group: int, number: int) -> bool:
    """Whether there was anyone to signal."""
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
    """Feed and drain the pipes until the child has ended. False when time ran out."""
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
                # Its output is in the pipes; a grandchild that keeps them open gets no more time.
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
    try:
        return pending[os.write(fd, pending[:_CHUNK]) :]
    except BlockingIOError:
        return pending
    except BrokenPipeError:
        return pending[:0]


def stream(
    argv: Sequence[str | os.PathLike[str]],
    on_output: Callable[[bytes], None],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    grace: float = GRACE,
) -> Finished:
    """As `run`, but both outputs go through one pipe, so that their order is kept."""
    begin = time.monotonic()
    timed_out = True
    with signals_held_back() as let_through:
        try:
            child = subprocess.Popen(
                [os.fspath(a) for a in argv],
                cwd=cwd,
                env=None if env is None else dict(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ProgramError(
                f"cannot start {os.fspath(argv[0])!r}: {error}",
                hint="check its spelling, and PATH, and that you may run it",
            ) from error
        try:
            let_through()
            deadline = _FOREVER if timeout is None else begin + timeout
            timed_out = not _follow(child, None, deadline, lambda _, chunk: on_output(chunk))
        finally:
            end_group(child, grace if timed_out else 0.0)
    return Finished(child.returncode, b"", b"", time.monotonic() - begin, timed_out)
