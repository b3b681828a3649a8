"""Follow a program line by line while it runs, and stop it at any time.

    with running.start(["agent"], input=b"the prompt") as child:
        for line in child.lines(deadline=time.monotonic() + 60, idle=10):
            ...
    child.ended

One loop, no thread: the limits are checked between lines, also while no line comes. However the
`with` block is left, no process that the program started is still running.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kedge.host import orphans, proc, process_tree

if TYPE_CHECKING:
    from subprocess import Popen  # noqa: TID251 - the type alone


TIME, IDLE, CANCELLED = "time", "idle", "cancelled"
GRACE = 0.5  # seconds between SIGTERM and SIGKILL
LONGEST = 32 << 20  # bytes of a line; the rest is dropped
TAIL = 1 << 16  # bytes of standard error in `Ended.errors`
SINGLE = 10_000  # lines of a stream; after them, many may come as one
_CHUNK = 1 << 16
_POLL = 0.1  # seconds between two checks of the limits
_DRAIN = 0.5  # seconds to read what is left in the pipes after the program's end
NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its line break; `cut` if it was too long.

    It is from standard error if `error`, from the program's log if `log`.
    """

    data: bytes
    error: bool = False
    cut: bool = False
    log: bool = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why a program was stopped: `time`, `idle`, `cancelled`, or a caller's own reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended. `code` is negative for a signal; `errors` is the tail of its stderr."""

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
    log: Path | None = None,
) -> Iterator[Child]:
    """Start a program in a session of its own, with `input` as its whole standard input.

    `log` is a file that the program appends lines to: they are followed like its output.
    """
    mark = os.urandom(12).hex()
    marked = process_tree.add_mark(os.environ if env is None else env, mark)
    with proc.hold_signals() as let_through:
        child = Child(proc.start(argv, cwd, marked, piped=True), mark, input, grace, log)
        try:
            let_through()
            yield child
        finally:
            child.end()


class Child:
    """A running program, created by `start`."""

    def __init__(
        self, process: Popen[bytes], mark: str, data: bytes, grace: float, log: Path | None
    ) -> None:
        self._process = process
        self._log = None if log is None else _Log(log)
        self._mark = mark
        self._grace = grace
        self._begin = time.monotonic()
        self._pending = memoryview(data)
        self._stop_reason: str | None = None
        self._stopped: Stopped | None = None
        self._members: list[int] = []
        self._kill_at = NEVER
        self._tail = b""
        self._quiet = 0.0
        self._mark_of_lines: bytes | None = None
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
        """How the program ended; None while it runs."""
        return self._ended

    def stop(self, reason: str = CANCELLED) -> None:
        """Request the program's end. `lines` ends it at once, and yields its output until then.

        A signal handler or another thread may call this; the first reason counts.
        """
        if self._stop_reason is None:
            self._stop_reason = reason
            with contextlib.suppress(OSError):  # the program has ended, or the loop is awake
                os.write(self._waker, b"!")

    def allow_silence(self, seconds: float) -> None:
        """Allow the next silence to last this long, whatever `idle` says."""
        self._quiet = max(self._quiet, seconds)

    def lines(
        self, *, deadline: float = NEVER, idle: float = NEVER, mark: bytes | None = None
    ) -> Iterator[Line]:
        """Yield the program's output as it arrives, until it ends or is stopped.

        `deadline` is a value of `time.monotonic`; `idle` is the number of seconds without output,
        on either stream, after which the program is stopped.

        With a `mark`, a flood of lines costs little. Of standard output, lines without the mark may
        be left out; if it is empty, and of standard error, the lines after the first `SINGLE` may
        come many at a time, as one with line breaks in it.
        """
        self._mark_of_lines = mark
        last_output, drained = time.monotonic(), NEVER
        self._quiet = 0.0
        while self._ended is None:
            orphans.reap()
            now = time.monotonic()
            gone = self._process.poll() is not None
            silent = last_output + max(idle, self._quiet)
            if gone:  # its output is in the pipes; a child that keeps them open is not waited for
                drained = min(drained, now + _DRAIN)
            else:
                self._enforce(now, deadline, silent)
            ready = self._selector.select(0 if gone else self._pause(now, deadline, silent))
            for key, _ in ready:
                if key.fd == self._wake:
                    os.read(self._wake, _CHUNK)
                elif key.data is None:
                    self._feed(key)
                elif chunk := os.read(key.fd, _CHUNK):
                    last_output, self._quiet = time.monotonic(), 0.0
                    yield from self._split(key.data, chunk)
                else:
                    self._close(key.fileobj)
                    yield from key.data.rest()
            if self._log is not None:
                yield from self._log.read()
            if gone and (not ready or now >= drained):
                yield from self._rest()
                self.end()

    def end(self) -> Ended:
        """End the program and everything it started, and close its pipes. Unread output is lost."""
        if self._ended is not None:
            return self._ended
        try:
            if self._process.poll() is None:
                self._terminate(self._stop_reason or CANCELLED)
                while self._process.poll() is None and time.monotonic() < self._kill_at:
                    time.sleep(0.005)
        finally:  # also if a second interrupt cuts the grace period short; a third one is held back
            with proc.hold_signals():
                process_tree.kill(self.pid, self._mark, self._members)
                code = proc.wait(self._process)
                self._close_all()
                seconds = time.monotonic() - self._begin
                self._ended = Ended(code, seconds, self._tail, self._stopped)
        return self._ended

    def _close_all(self) -> None:
        for key in list(self._selector.get_map().values()):
            if key.fd != self._wake:
                self._close(key.fileobj)
        self._selector.close()
        os.close(self._wake)
        os.close(self._waker)

    def _enforce(self, now: float, deadline: float, silent: float) -> None:
        if self._stopped is not None:
            if now >= self._kill_at:
                process_tree.kill(self.pid, self._mark, self._members)
                self._kill_at = now + _POLL
            return
        reason = self._stop_reason or (TIME if now >= deadline else IDLE if now >= silent else None)
        if reason:
            self._terminate(reason)

    def _terminate(self, reason: str) -> None:
        if self._stopped is None:
            self._stopped = Stopped(reason)
            self._kill_at = time.monotonic() + self._grace
            # Its children are found while it lives; orphans are found later, by the mark.
            self._members = process_tree.members(self.pid, self._mark)
            process_tree.send(self.pid, signal.SIGTERM, self._members)

    def _pause(self, now: float, deadline: float, silent: float) -> float:
        """Return how long to wait for output. Closed pipes mean that the end is near."""
        pipes_closed = len(self._selector.get_map()) == 1
        limits = (self._kill_at,) if self._stopped else (deadline, silent)
        return max(0.0, min(now + (0.005 if pipes_closed else _POLL), *limits) - now)

    def _feed(self, key: selectors.SelectorKey) -> None:
        self._pending = proc.feed(key.fd, self._pending)
        if not self._pending:
            self._close(key.fileobj)

    def _close(self, pipe: Any) -> None:
        self._selector.unregister(pipe)
        with contextlib.suppress(OSError):  # unsent input that nobody reads any more
            pipe.close()

    def _split(self, splitter: _Splitter, chunk: bytes) -> Iterator[Line]:
        if splitter.error:
            self._tail = (self._tail + chunk)[-TAIL:]
        mark = self._mark_of_lines
        yield from splitter.feed(chunk, b"" if splitter.error and mark else mark)

    def _rest(self) -> Iterator[Line]:
        for key in list(self._selector.get_map().values()):
            if key.data is not None:
                yield from key.data.rest()
        if self._log is not None:
            yield from self._log.read()


def _pipes(process: Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert process.stdin and process.stdout and process.stderr  # noqa: S101 - proc.start makes them
    return process.stdin, process.stdout, process.stderr


class _Log:
    """The lines that a program appends to a file, which may not be there yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._splitter = _Splitter(error=False)

    def read(self) -> Iterator[Line]:
        """Yield the lines that are complete since the last call; none if it cannot be read."""
        with contextlib.suppress(OSError):
            if self._path.stat().st_size <= self._read:
                return
            with self._path.open("rb") as file:
                file.seek(self._read)
                while chunk := file.read(_CHUNK):
                    self._read += len(chunk)
                    for line in self._splitter.feed(chunk, b""):
                        yield replace(line, log=True)


def _keep_marked(lines: bytes, mark: bytes) -> Iterator[bytes]:
    """Yield the lines that have the mark, each with its line break."""
    at = lines.find(mark)
    while at >= 0:
        start, end = lines.rfind(b"\n", 0, at) + 1, lines.find(b"\n", at)
        end = len(lines) if end < 0 else end
        yield lines[start:end] + b"\n"
        at = lines.find(mark, end)


class _Splitter:
    """Splits bytes into lines. A line uses at most `LONGEST` bytes of memory."""

    def __init__(self, error: bool) -> None:
        self.error = error
        self._parts: list[bytes] = []
        self._size = 0
        self._count = 0

    def feed(self, chunk: bytes, mark: bytes | None) -> Iterator[Line]:
        """Yield the lines that end in the chunk; those that begin in it need the mark."""
        first, newline, rest = chunk.partition(b"\n")
        if newline and mark:
            whole, _, last = rest.rpartition(b"\n")
            chunk = b"%b\n%b" % (first, b"".join(_keep_marked(whole, mark)) + last)
        if newline and mark == b"" and self._count > SINGLE:
            whole, _, last = chunk.rpartition(b"\n")
            lines = [whole]
        else:
            *lines, last = chunk.split(b"\n")
        self._count += len(lines)
        for piece in lines:
            self._add(piece)
            yield self._take()
        self._add(last)

    def rest(self) -> Iterator[Line]:
        if self._size:
            yield self._take()

    def _add(self, piece: bytes) -> None:
        if self._size < LONGEST:
            self._parts.append(piece[: LONGEST - self._size])
        self._size += len(piece)

    def _take(self) -> Line:
        data = b"".join(self._parts)
        line = Line(data.removesuffix(b"\r"), self.error, self._size > LONGEST)
        self._parts, self._size = [], 0
        return line
