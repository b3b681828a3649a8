"""The process in which the watch works, so that judging takes no time from the streams.

`WatchProcess` starts it and asks it questions; `main` is the process itself, which answers each in
a thread. Both ends speak in pickled frames over its standard input and output. It ends with its
input, so it never outlives the server.
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
_SIZE = struct.Struct("!I")
_THREADS = 16
_BUSY_SECONDS = 6.0  # to wait for other writers; a stream waits no longer than its own limit
_END_SECONDS = 3.0  # for what is being judged when the server ends


class WatchFailed(KedgeError):
    """The process did not answer, or with an error, which the message names."""

    code = "watch-failed"


class WatchProcess:
    """Asks the process of the watch, and starts it where it does not run. `policy` is in force
    instead of the setting."""

    def __init__(self, root: Path, policy: str | None) -> None:
        self._args = str(root), policy or ""
        self._child: asyncio.subprocess.Process | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._number = 0
        self._starting = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    async def ask(self, name: str, *args: Any) -> Any:
        """Return the answer of one of the recorder's functions. Raise WatchFailed without one."""
        child = self._child or await self.start()
        assert child.stdin is not None  # noqa: S101 - it was asked for
        self._number += 1
        number, answer = self._number, asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            child.stdin.write(_pack((number, name, args)))
            return await answer
        finally:
            self._waiting.pop(number, None)

    async def start(self) -> asyncio.subprocess.Process:
        """Start the process unless it runs."""
        async with self._starting:
            if self._child is None:
                sources = os.path.realpath(__file__).removesuffix("/kedge/proxy/watch_process.py")
                self._child = await asyncio.create_subprocess_exec(
                    sys.executable, "-I", "-c", _PROGRAM, sources, *self._args,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    start_new_session=True,  # a terminal's Ctrl-C ends the server, and this with it
                )  # fmt: skip
                self._reading = asyncio.create_task(self._read(self._child))
            return self._child

    async def close(self) -> None:
        """End the process once it has answered, or after a moment."""
        child, self._child = self._child, None
        if child is None or self._reading is None:
            return
        assert child.stdin is not None  # noqa: S101 - as above
        child.stdin.close()
        await asyncio.wait([self._reading], timeout=_END_SECONDS + 1)
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
        await child.wait()

    async def _read(self, child: asyncio.subprocess.Process) -> None:
        """Hand out answers until the process ends; what waits for one then fails."""
        assert child.stdout is not None  # noqa: S101 - as above
        try:
            while True:
                (size,) = _SIZE.unpack(await child.stdout.readexactly(_SIZE.size))
                number, value, error = pickle.loads(await child.stdout.readexactly(size))  # noqa: S301 - from our own process
                waiting = self._waiting.get(number)
                if waiting is None or waiting.done():
                    continue
                if error:
                    waiting.set_exception(WatchFailed(error))
                else:
                    waiting.set_result(value)
        except asyncio.IncompleteReadError:
            pass
        finally:
            if self._child is child:
                self._child = None  # the next question starts another one
            code = await child.wait()
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(WatchFailed(f"the watch ended with code {code}"))


def main(root: str, policy: str) -> None:
    """Answer questions until the input ends."""
    sqlite.BUSY_SECONDS = _BUSY_SECONDS
    own = project.find(Path(root))
    recorder = Recorder(own, policy or None)
    names = [name for name in dir(recorder) if not name.startswith("_")]
    functions = {name: getattr(recorder, name) for name in names}
    _answer_all(functions, sys.stdin.buffer, sys.stdout.buffer)


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
    while head := questions.read(_SIZE.size):
        data = questions.read(*_SIZE.unpack(head)) if len(head) == _SIZE.size else b""
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
    return _SIZE.pack(len(data)) + data
