"""A provider that sends exactly the bytes that a test gives it, and keeps what it got."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from typing import NamedTuple

PATIENCE = 30.0
Step = bytes | float | str  # bytes to send; seconds to wait; `reset` the connection or `wait`


class Got(NamedTuple):
    """One request: its first line, its headers in order, and its body."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]


class Upstream(ExitStack):
    """Answers each request with the steps that `reply` returns for it."""

    def __init__(
        self, reply: Callable[[Got], list[Step]], tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__()
        self.reply = reply
        self._tls = tls
        self.requests: list[Got] = []
        self.gone = threading.Event()  # the other side closed a connection that `wait`ed
        self.sent = 0  # bytes that were taken from us
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._accept)
        self._workers: list[threading.Thread] = []
        self._thread.start()
        self.callback(self._end)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _end(self) -> None:
        self._ending.set()
        with suppress(OSError):
            socket.create_connection(self._listener.getsockname()).close()
        self._thread.join()
        self._listener.close()
        for worker in self._workers:
            worker.join(PATIENCE)

    def _accept(self) -> None:
        while not self._ending.is_set():
            connection, _ = self._listener.accept()
            worker = threading.Thread(target=self._serve, args=(connection,))
            self._workers.append(worker)
            worker.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(0.1)
        with closing(connection), suppress(OSError):
            if self._tls is not None:
                connection.settimeout(PATIENCE)
                connection = self._tls.wrap_socket(connection, server_side=True)
            data = b""
            while not self._ending.is_set():
                data = self._read_until(connection, data, b"\r\n\r\n")
                head, _, data = data.partition(b"\r\n\r\n")
                line, *lines = head.decode("latin-1").split("\r\n")
                headers = [
                    (name, value.strip())
                    for name, _, value in (text.partition(":") for text in lines)
                ]
                got = Got(line, headers, b"")
                size = int((got.header("content-length") or ["0"])[0])
                while len(data) < size:
                    data += self._receive(connection)
                if got.header("transfer-encoding"):
                    data = self._read_until(connection, data, b"0\r\n\r\n")
                    size = data.index(b"0\r\n\r\n") + 5
                got, data = got._replace(body=data[:size]), data[size:]
                self.requests.append(got)
                for step in self.reply(got):
                    self._do(connection, step)

    def _do(self, connection: socket.socket, step: Step) -> None:
        if isinstance(step, bytes):
            view = memoryview(step)
            while view and not self._ending.is_set():
                with suppress(TimeoutError):
                    taken = connection.send(view[: 1 << 16])
                    self.sent += taken
                    view = view[taken:]
        elif isinstance(step, float):
            time.sleep(step)
        elif step == "reset":
            linger = b"\x01\0\0\0\0\0\0\0"
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            raise ConnectionResetError
        elif step == "close":
            raise ConnectionAbortedError
        elif step == "wait":
            try:
                self._receive(connection)
            except OSError:
                self.gone.set()
                raise

    def _read_until(self, connection: socket.socket, data: bytes, mark: bytes) -> bytes:
        while mark not in data:
            data += self._receive(connection)
        return data

    def _receive(self, connection: socket.socket) -> bytes:
        while not self._ending.is_set():
            try:
                data = connection.recv(1 << 16)
            except TimeoutError:
                continue
            if not data:
                break
            return data
        raise ConnectionAbortedError


def chunk(data: bytes) -> bytes:
    """Return data as one chunk of a body in chunks."""
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST = b"0\r\n\r\n"
STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


def receive_all(connection: socket.socket) -> Iterator[bytes]:
    """Yield what arrives until the other side closes; raises if it resets the connection."""
    while data := connection.recv(1 << 16):
        yield data


def send_raw(port: int, request: bytes) -> bytes:
    """Send a request and return all bytes of the answer, until the connection is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        return b"".join(receive_all(connection))
