"""The process in which the watch works, so that judging takes no time from the streams.

`WatchProcess` starts it and asks it questions; `main` is the process itself, which answers each in
a thread. Both ends speak in pickled frames over two pipes, which are its standard input and output
until it puts them aside: what is printed in it then goes to standard error. It ends with its input,
so it never outlives the server. A damaged answer ends it as well: nothing after it can be trusted.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from kedge.errors import KedgeError
from kedge.host import project
from kedge.proxy.recording import Recorder
from kedge.store import sqlite

HOOK = "hook_"  # what answers hooks waits for no stream
_PROGRAM = """\
import sys
sys.path.insert(0, sys.argv.pop(1))
from kedge.proxy.watch_process import main
main(*sys.argv[1:])
"""
_HEAD = struct.Struct("!4sI")  # of a frame: the mark, and the size of what follows
_MARK = b"\0kg\xff"
_LARGEST = 64 << 20  # bytes of an answer
_THREADS = 16
_BUSY_SECONDS = 6.0  # to wait for other writers; a stream waits no longer than its own limit
_END_SECONDS = 3.0  # for what is being judged when the server ends


class WatchFailed(KedgeError):
    """The process did not answer, or with an error, which the message names."""

    code = "watch-failed"


@dataclass(slots=True, eq=False)
class _Child:
    """One process, and those who wait for its answers."""

    process: asyncio.subprocess.Process
    waiting: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    reading: asyncio.Task[None] | None = None


class WatchProcess:
    """Asks the process of the watch, and starts it where it does not run. `policy` is in force
    instead of the setting."""

    def __init__(self, root: Path, policy: str | None) -> None:
        self._args = str(root), policy or ""
        self._child: _Child | None = None
        self._number = 0
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        return self._child.process.pid if self._child is not None else None

    async def ask(self, name: str, *args: Any) -> Any:
        """Return the answer of one of the recorder's functions. Raise WatchFailed without one."""
        child = self._child or await self._start()
        assert child.process.stdin is not None  # noqa: S101 - it was asked for
        self._number += 1
        number, answer = self._number, asyncio.get_running_loop().create_future()
        child.waiting[number] = answer
        try:
            child.process.stdin.write(_pack((number, name, args)))
            return await answer
        finally:
            child.waiting.pop(number, None)

    async def start(self) -> None:
        """Start the process unless it runs."""
        await self._start()

    async def _start(self) -> _Child:
        async with self._starting:
            if self._child is None:
                sources = os.path.realpath(__file__).removesuffix("/kedge/proxy/watch_process.py")
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-I", "-c", _PROGRAM, sources, *self._args,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    start_new_session=True,  # a terminal's Ctrl-C ends the server, and this with it
                )  # fmt: skip
                self._child = _Child(process)
                self._child.reading = asyncio.create_task(self._read(self._child))
            return self._child

    async def close(self) -> None:
        """End the process once it has answered, or after a moment."""
        child, self._child = self._child, None
        if child is None or child.reading is None:
            return
        assert child.process.stdin is not None  # noqa: S101 - as above
        child.process.stdin.close()
        await child.reading

    async def _read(self, child: _Child) -> None:
        """Hand out answers until the process ends; what waits for one then fails."""
        assert child.process.stdout is not None  # noqa: S101 - as above
        fault = ""
        try:
            while True:
                number, value, error = await _read_frame(child.process.stdout)
                waiting = child.waiting.get(number)
                if waiting is None or waiting.done():
                    continue
                if error:
                    waiting.set_exception(WatchFailed(error))
                else:
                    waiting.set_result(value)
        except asyncio.IncompleteReadError:
            pass  # it ends
        except Exception as error:  # noqa: BLE001 - bytes that nobody meant can raise anything
            fault = f"the watch gave a damaged answer: {type(error).__name__}: {error}"
        finally:
            if self._child is child:
                self._child = None  # the next question starts another one
            code = await _end(child.process, at_once=bool(fault))
            for waiting in child.waiting.values():
                if not waiting.done():
                    waiting.set_exception(WatchFailed(fault or f"the watch ended with code {code}"))


async def _read_frame(answers: asyncio.StreamReader) -> tuple[int, Any, str]:
    """Return the number of a question, its answer, and the error instead of one."""
    mark, size = _HEAD.unpack(await answers.readexactly(_HEAD.size))
    if mark != _MARK or size > _LARGEST:
        raise ValueError("not a frame")
    number, value, error = pickle.loads(await answers.readexactly(size))  # noqa: S301 - from our own process
    return number, value, error


async def _end(process: asyncio.subprocess.Process, *, at_once: bool) -> int:
    """Wait for the end of a process and return its code; kill it at once, or after a moment."""
    if not at_once:
        with suppress(TimeoutError):
            return await asyncio.wait_for(process.wait(), _END_SECONDS + 1)
    with suppress(ProcessLookupError):
        process.kill()
    return await process.wait()


def main(root: str, policy: str) -> None:
    """Answer questions until the input ends."""
    questions, answers = _take_pipes()
    sqlite.BUSY_SECONDS = _BUSY_SECONDS
    own = project.find(Path(root))
    recorder = Recorder(own, policy or None)
    names = [name for name in dir(recorder) if not name.startswith("_")]
    functions = {name: getattr(recorder, name) for name in names}
    _answer_all(functions, questions, answers)


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Return the two pipes. Nothing else in the process, and no program it starts, reaches them."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)  # what is printed goes to the server's standard error
    return questions, answers


def _answer_all(
    functions: Mapping[str, Callable[..., Any]], questions: BinaryIO, answers: BinaryIO
) -> None:
    writing = threading.Lock()

    def answer(number: int, name: str, args: tuple[Any, ...]) -> None:
        value, error = None, ""
        try:
            value = functions[name](*args)
        except Exception as fault:  # noqa: BLE001 - who asked reports it
            error = f"{type(fault).__name__}: {fault}"
        with writing, suppress(OSError):  # the server is gone
            answers.write(_pack((number, value, error)))
            answers.flush()

    streams, hooks = (ThreadPoolExecutor(_THREADS) for _ in range(2))
    while head := questions.read(_HEAD.size):
        data = questions.read(_HEAD.unpack(head)[1]) if len(head) == _HEAD.size else b""
        try:
            number, name, args = pickle.loads(data)  # noqa: S301 - from our own process
        except (EOFError, pickle.UnpicklingError):
            break  # the server died while it wrote
        (hooks if name.startswith(HOOK) else streams).submit(answer, number, name, args)
    late = threading.Timer(_END_SECONDS, os._exit, (1,))
    late.daemon = True
    late.start()
    for threads in (streams, hooks):
        threads.shutdown()


def _pack(value: Any) -> bytes:
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return _HEAD.pack(_MARK, len(data)) + data
