"""Sockets and threads: every request goes to one function, and its reply back."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kedge.testing.fake_model.messages import Event
from kedge.testing.fake_model.reply import Reply, refusal

Respond = Callable[[str, str, Mapping[str, str], Any], Reply]


class Wire(ThreadingHTTPServer):
    """Listens on 127.0.0.1 from `begin` to `end`, which leaves no connection and no thread."""

    daemon_threads = False  # so that closing joins them
    request_queue_size = 64

    def __init__(self, port: int, respond: Respond) -> None:
        self.respond = respond
        self.ending = threading.Event()
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        if self.ending.is_set():
            return
        self.ending.set()
        self.shutdown()
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # it ended by itself
                continue
        self.server_close()
        self._thread.join()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no event."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Wire

    def do_HEAD(self) -> None:
        self._respond()

    def do_GET(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has there
        """Nothing: requests are kept, not printed."""

    def _respond(self) -> None:
        try:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(text) if text else None
        except (ValueError, RecursionError) as error:
            self.close_connection = True
            self._whole(refusal(400, f"not JSON: {error}", self.path))
            return
        headers = dict(self.headers.items())
        reply = self.server.respond(self.command, self.path, headers, body)
        self._pause(reply.before)
        if reply.events is not None:
            self._stream(reply, reply.events)
        elif reply.body is not None:
            self._whole(reply)
        else:
            self.close_connection = True

    def _start(self, reply: Reply, headers: Mapping[str, str]) -> None:
        self.send_response(reply.status)
        for name, value in {**headers, **reply.headers}.items():
            self.send_header(name, str(value))
        self.end_headers()

    def _whole(self, reply: Reply) -> None:
        text = json.dumps(reply.body, ensure_ascii=False).encode()
        kind = "application/json"
        self._start(reply, {"Content-Type": kind, "Content-Length": str(len(text))})
        if self.command != "HEAD":
            self.wfile.write(text)

    def _stream(self, reply: Reply, events: list[Event]) -> None:
        kind = "text/event-stream; charset=utf-8"
        self._start(reply, {"Content-Type": kind, "Transfer-Encoding": "chunked"})
        for at, event in enumerate(events):
            self._pause(reply.between if at else 0)
            data = json.dumps(event, ensure_ascii=False)
            text = f"event: {event['type']}\ndata: {data}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        if reply.whole:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def _pause(self, seconds: float) -> None:
        """Wait, unless the server ends: then there is nobody to answer."""
        if seconds > 0 and self.server.ending.wait(seconds):
            raise ConnectionAbortedError
