"""The server's input and output: one message a line, and a kedge process for each call.

A process can be ended when a client cancels, cannot harm the server, and gives the same answer as
the command in a terminal. At most a few run at once; further calls wait their turn.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from kedge.errors import KedgeError
from kedge.host import files, git, project, running
from kedge.mcp import protocol
from kedge.mcp.protocol import Act, Move, ReadFile, RequestId, Run, Send, Session, Stop

AGENT = "AI_AGENT"  # tells the commands that it is an agent who calls them
_AT_ONCE = 4
_LONGEST = 4 << 20  # bytes of a message
_LIMIT = 1800.0  # seconds for a call: closing a task runs its checks


class Server:
    """Serves one client until its end of the pipe is closed."""

    def __init__(self, directory: Path, source: IO[bytes], target: IO[bytes]) -> None:
        self._directory = directory
        self._source = source
        self._target = target
        self._lock = threading.Lock()  # of everything below, and of the target
        self._session = Session(homeless=_is_homeless(directory))
        self._children: dict[RequestId, running.Child] = {}
        self._stopped: set[RequestId] = set()
        self._closed = False

    def serve(self) -> None:
        """Answer until the client closes its end, or this process is asked to end."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            try:
                while line := self._source.readline(_LONGEST + 1):
                    self._take(line, pool)
            finally:
                with self._lock:
                    self._closed = True
                    for child in self._children.values():
                        child.stop()
                pool.shutdown(cancel_futures=True)

    def _take(self, line: bytes, pool: ThreadPoolExecutor) -> None:
        if len(line) > _LONGEST:
            while line and not line.endswith(b"\n"):
                line = self._source.readline(_LONGEST)
            line = b"a message that is too long"
        if not line.strip():
            return
        with self._lock:
            for act in self._session.receive(line):
                self._perform(act, pool)

    def _perform(self, act: Act, pool: ThreadPoolExecutor) -> None:
        match act:
            case Send(message):
                self._send(message)
            case Run() | ReadFile():
                pool.submit(self._answer, act)
            case Stop(request):
                self._stopped.add(request)
                if request in self._children:
                    self._children[request].stop()
            case Move(directory):
                if git.is_directory(Path(directory)):
                    self._directory = Path(directory)

    def _answer(self, act: Run | ReadFile) -> None:
        """Find the answer to a request, and send it if the client still waits for it."""
        try:
            if isinstance(act, Run):
                document, code = self._run(act)
            else:
                document, code = self._read(act), 0
        except Exception as error:  # noqa: BLE001 - the client gets an answer to each request
            document, code = protocol.describe_failure(f"kedge failed: {error}"), 1
        with self._lock:
            self._stopped.discard(act.request)
            for reply in self._session.finish(act.request, document, code):
                if isinstance(reply, Send):
                    self._send(reply.message)

    def _run(self, act: Run) -> tuple[dict[str, Any], int]:
        argv = [sys.executable, "-P", "-m", "kedge", "--json", *act.call.words]
        env = {**os.environ, AGENT: os.environ.get(AGENT) or "mcp"}
        data = act.call.input.encode("utf-8", "replace")
        output = b""
        with running.start(argv, cwd=self._directory, env=env, input=data) as child:
            with self._lock:
                self._children[act.request] = child
                if self._closed or act.request in self._stopped:
                    child.stop()
            try:
                lines = child.lines(deadline=time.monotonic() + _LIMIT)
                output = b"\n".join(line.data for line in lines if not line.error)
            finally:
                with self._lock:
                    self._children.pop(act.request, None)
        ended = child.end()
        try:
            document = json.loads(output)
        except ValueError:
            document = protocol.describe_failure("the command gave no answer", "kedge doctor")
        return document, ended.code

    def _read(self, act: ReadFile) -> dict[str, Any]:
        try:
            path = project.find(self._directory).own(act.name)
            data = files.read_bytes(path)
        except KedgeError as error:
            return protocol.describe_failure(error.message, error.hint or "")
        if data is None:
            return protocol.describe_failure(f"there is no .kedge/{act.name}", "kedge init")
        text = data.decode("utf-8", "replace")
        return {"success": True, "data": {"text": text}, "warnings": []}

    def _send(self, message: dict[str, Any]) -> None:
        if self._closed:
            return
        with contextlib.suppress(OSError, ValueError):  # the client is gone; the loop ends
            self._target.write(json.dumps(message).encode() + b"\n")
            self._target.flush()


def _is_homeless(directory: Path) -> bool:
    try:
        project.find(directory)
    except KedgeError:
        return True
    return False
