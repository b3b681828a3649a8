"""A program that is followed line by line while it runs, and can be stopped at any moment.

    with running.start(["agent"], input=b"the prompt") as child:
        for line in child.lines(deadline=time.monotonic() + 60, idle=10):
            ...
    child.ended

One loop, no thread: between two lines the limits are looked at, also when none comes. When the
`with` is left, nothing that came from the program runs any more, however it was left.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kedge.host import group, proc
from kedge.host.record import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen  # noqa: TID251 - the type alone
    from typing import IO, Any

TIME, IDLE, CANCELLED = "time", "idle", "cancelled"
GRACE = 0.5  # seconds between SIGTERM and SIGKILL
LONGEST = 32 << 20  # bytes of a line; what is more is dropped
TAIL = 1 << 16  # bytes of standard error that are kept
_CHUNK = 1 << 16
_POLL = 0.1
_DRAIN = 0.5
NEVER = float("inf")


class Line(NamedTuple):
    """One line without its end. `error` is for one of standard error, `cut` for one too long."""

    data: bytes
    error: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why a program was stopped before its end: `time`, `idle`, `cancelled`, or a caller's word."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended. `code` is negative for a signal; `errors` is the last of its stderr."""

    code: int
    seconds: float
    errors: bytes = b""
    stopped: Stopped | None = None


@contextlib.contextmanager
def start(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    input: bytes = b"",  # noqa: A002 - the word subprocess uses
    grace: float = GRACE,
) -> Iterator[Child]:
    """Start a program in a session of its own, with `input` as all of its standard input."""
    mark = os.urandom(12).hex()
    given = group.marked(os.environ if env is None else env, mark)
    with proc.signals_held_back() as let_through:
        child = Child(proc.started(argv, cwd, given, piped=True), mark, input, grace)
        try:
            let_through()
            yield child
        finally:
            child.end()


class Child:
    """A program that runs. Made by `start`."""

    def __init__(self, process: Popen[bytes], mark: str, data: bytes, grace: float) -> None:
        self._process = process
        self._mark = mark
        self._grace = grace
        self._begin = time.monotonic()
        self._pending = memoryview(data)
        self._asked: str | None = None
        self._stopped: Stopped | None = None
        self._members: list[int] = []
        self._kill_at = NEVER
        self._tail = b""
        self._quiet = 0.0
        self._ended: Ended | None = None
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = os.pipe()
        stdin, stdout, stderr = _pipes(process)
        for fd in (self._wake, self._waker, stdin.fileno()):
            os.set_blocking(fd, False)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._selector.register(stdin, selectors.EVENT_WRITE)
        for pipe, error in ((stdout, False), (stderr, True)):
            self._selector.register(pipe, selectors.EVENT_READ, _Splitter(error))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> Ended | None:
        """How it ended; None while it runs."""
        return self._ended

    def stop(self, reason: str = CANCELLED) -> None:
        """Ask for its end. `lines` sees to it at once, and gives what is still said meanwhile.

        A signal handler or another thread may call this; the first reason counts.
        """
        if self._asked is None:
            self._asked = reason
            with contextlib.suppress(OSError):  # it has ended, or is awake
                os.write(self._waker, b"!")

    def bear(self, seconds: float) -> None:
        """It has said that it will be silent so long: the next silence may last that."""
        self._quiet = max(self._quiet, seconds)

    def lines(self, *, deadline: float = NEVER, idle: float = NEVER) -> Iterator[Line]:
        """What it says, as it is said, until it ends or is stopped.

        `deadline` is a moment of `time.monotonic`; `idle` is how many seconds of silence on both
        outputs are borne.
        """
        heard, drained = time.monotonic(), NEVER
        self._quiet = 0.0
        while self._ended is None:
            now = time.monotonic()
            gone = self._process.poll() is not None
            if gone:  # what it said is in the pipes; who keeps them open gets no more time
                drained = min(drained, now + _DRAIN)
            else:
                self._enforce(now, deadline, heard + max(idle, self._quiet))
            ready = self._selector.select(
                0 if gone else self._pause(now, deadline, heard + max(idle, self._quiet))
            )
            for key, _ in ready:
                if key.fd == self._wake:
                    os.read(self._wake, _CHUNK)
                elif key.data is None:
                    self._feed(key)
                elif chunk := os.read(key.fd, _CHUNK):
                    heard, self._quiet = time.monotonic(), 0.0
                    yield from self._split(key.data, chunk)
                else:
                    self._close(key.fileobj)
                    yield from key.data.rest()
            if gone and (not ready or now >= drained):
                yield from self._rest()
                self.end()

    def end(self) -> Ended:
        """End all that came from it, and let go of its pipes. Whatever it still says is lost."""
        if self._ended is not None:
            return self._ended
        try:
            if self._process.poll() is None:
                self._terminate(self._asked or CANCELLED)
                while self._process.poll() is None and time.monotonic() < self._kill_at:
                    time.sleep(0.005)
        finally:  # also when a second interrupt cuts the grace short; a third one waits
            with proc.signals_held_back():
                group.kill(self.pid, self._mark, self._members)
                code = self._process.wait()
                self._let_go()
                seconds = time.monotonic() - self._begin
                self._ended = Ended(code, seconds, self._tail, self._stopped)
        return self._ended

    def _let_go(self) -> None:
        for key in list(self._selector.get_map().values()):
            if key.fd != self._wake:
                self._close(key.fileobj)
        self._selector.close()
        os.close(self._wake)
        os.close(self._waker)

    def _enforce(self, now: float, deadline: float, silent: float) -> None:
        if self._stopped is not None:
            if now >= self._kill_at:
                group.kill(self.pid, self._mark, self._members)
                self._kill_at = now + _POLL
            return
        reason = self._asked or (TIME if now >= deadline else IDLE if now >= silent else None)
        if reason:
            self._terminate(reason)

    def _terminate(self, reason: str) -> None:
        if self._stopped is None:
            self._stopped = Stopped(reason)
            self._kill_at = time.monotonic() + self._grace
            # Whom it has started is seen while it lives; what it forgot, the mark will show.
            self._members = group.members(self.pid, self._mark)
            group.send(self.pid, signal.SIGTERM, self._members)

    def _pause(self, now: float, deadline: float, silent: float) -> float:
        """How long nothing has to be looked at. Closed pipes tell of an end that is near."""
        nearly = len(self._selector.get_map()) == 1
        limits = (self._kill_at,) if self._stopped else (deadline, silent)
        return max(0.0, min(now + (0.005 if nearly else _POLL), *limits) - now)

    def _feed(self, key: selectors.SelectorKey) -> None:
        self._pending = proc.feed(key.fd, self._pending)
        if not self._pending:
            self._close(key.fileobj)

    def _close(self, pipe: Any) -> None:
        self._selector.unregister(pipe)
        with contextlib.suppress(OSError):  # standard input that nobody reads
            pipe.close()

    def _split(self, splitter: _Splitter, chunk: bytes) -> Iterator[Line]:
        if splitter.error:
            self._tail = (self._tail + chunk)[-TAIL:]
        yield from splitter.feed(chunk)

    def _rest(self) -> Iterator[Line]:
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                yield from key.data.rest()


def _pipes(process: Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert process.stdin and process.stdout and process.stderr  # noqa: S101 - so it was started
    return process.stdin, process.stdout, process.stderr


class _Splitter:
    """Bytes in, lines out. However long a line is, it costs no more than `LONGEST`."""

    def __init__(self, error: bool) -> None:
        self.error = error
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[Line]:
        *whole, last = chunk.split(b"\n")
        for piece in whole:
            self._add(piece)
            yield self._taken()
        self._add(last)

    def rest(self) -> Iterator[Line]:
        if self._size:
            yield self._taken()

    def _add(self, piece: bytes) -> None:
        if self._size < LONGEST:
            self._parts.append(piece[: LONGEST - self._size])
        self._size += len(piece)

    def _taken(self) -> Line:
        data = b"".join(self._parts)
        line = Line(data.removesuffix(b"\r"), self.error, self._size > LONGEST)
        self._parts, self._size = [], 0
        return line
