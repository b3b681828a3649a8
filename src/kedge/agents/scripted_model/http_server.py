"""Sockets and threads: each request goes to one function, which returns the reply."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kedge.agents.scripted_model.anthropic_messages import Event
from kedge.agents.scripted_model.reply import ModelReply, make_refusal

Respond = Callable[[str, str, Mapping[str, str], Any], ModelReply]


class HttpServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1 from `start` to `stop`, which leaves no connection and no thread."""

    daemon_threads = False  # so that server_close() joins them
    request_queue_size = 64

    def __init__(self, port: int, respond: Respond) -> None:
        self.respond = respond
        self.ending = threading.Event()
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
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
        """Ignore clients that go away."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: HttpServer

    def do_HEAD(self) -> None:
        self._respond()

    def do_GET(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
        """Print nothing: requests are recorded."""

    def _respond(self) -> None:
        try:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(text) if text else None
        except (ValueError, RecursionError) as error:
            self.close_connection = True
            self._send_body(make_refusal(400, f"not JSON: {error}", self.path))
            return
        headers = dict(self.headers.items())
        reply = self.server.respond(self.command, self.path, headers, body)
        self._pause(reply.before)
        if reply.events is not None:
            self._send_stream(reply, reply.events)
        elif reply.body is not None:
            self._send_body(reply)
        else:
            self.close_connection = True

    def _send_headers(self, reply: ModelReply, headers: Mapping[str, str]) -> None:
        self.send_response(reply.status)
        for name, value in {**headers, **reply.headers}.items():
            self.send_header(name, str(value))
        self.end_headers()

    def _send_body(self, reply: ModelReply) -> None:
        text = json.dumps(reply.body, ensure_ascii=False).encode()
        kind = "application/json"
        self._send_headers(reply, {"Content-Type": kind, "Content-Length": str(len(text))})
        if self.command != "HEAD":
            self.wfile.write(text)

    def _send_stream(self, reply: ModelReply, events: list[Event]) -> None:
        kind = "text/event-stream; charset=utf-8"
        self._send_headers(reply, {"Content-Type": kind, "Transfer-Encoding": "chunked"})
        for at, event in enumerate(events):
            self._pause(reply.between if at else 0)
            text = _frame(event)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        if reply.complete:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True

    def _pause(self, seconds: float) -> None:
        """Wait; if the server stops meanwhile, close the connection."""
        if seconds > 0 and self.server.ending.wait(seconds):
            raise ConnectionAbortedError


def _frame(event: Event) -> bytes:
    """Return the event of a stream. Gemini and chat completions have no types of events."""
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
