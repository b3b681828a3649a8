"""How hooks and `kedge serve` find each other: a fixed port, a token, and who is on duty.

`kedge init --daemon` chooses the port and the token. While `kedge serve` runs on that port, it is
on duty: its process is in a file, which the hooks' commands look at to keep quiet.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from pathlib import Path
from typing import NamedTuple

from kedge.errors import FileError
from kedge.host import files
from kedge.host.digest import digest

FILE, PID = "daemon.json", "daemon.pid"
STATE = "serve.json"  # of the process that serves, with its port
KEY = "dashboard.key"  # of the link that opens the dashboard
HEALTH = "/kedge/health"
TOKEN_HEADER = "X-Kedge-Token"  # noqa: S105 - the name of a header
# headers of an event, and the variables of the agent's environment that they have
VARIABLES = {
    "X-Kedge-Task": "KEDGE_TASK",
    "X-Kedge-Run": "KEDGE_RUN",
    "X-Kedge-Judge": "KEDGE_JUDGE",
}
_PORTS = 20_000, 10_000  # the first and how many: below those that systems give away
_LOOK_SECONDS = 1.0
_LONGEST_PID = 20  # digits


class Daemon(NamedTuple):
    """Where the hooks of a repository send their events."""

    port: int
    token: str


def read(home: Path) -> Daemon | None:
    """Return the port and the token for the repository's hooks, if they were chosen."""
    try:
        port, token = json.loads(_read_file(home / FILE))
    except (ValueError, TypeError, RecursionError):
        return None
    return Daemon(port, token) if _is_port(port) and isinstance(token, str) else None


def _read_file(path: Path) -> bytes:
    """Return the bytes of a file; of what is missing, or is not a file, none."""
    try:
        return files.read_bytes(path) or b""
    except FileError:
        return b""


def _is_port(value: object) -> bool:
    return isinstance(value, int) and 0 < value < 1 << 16


def choose(home: Path) -> Daemon:
    """Return the port and the token for the repository's hooks; without any, choose them."""
    known = read(home)
    if known is not None:
        return known
    first, count = _PORTS
    number = int(digest([str(home.resolve()).encode()])[:8], 16) % count
    port = next((p for p in range(first + number, first + number + 100) if _is_free(p)), 0)
    return Daemon(port or first + number, secrets.token_urlsafe(24))


def save(home: Path, chosen: Daemon) -> None:
    """Save the port and the token, for nobody else to read."""
    if read(home) != chosen:
        data = json.dumps([chosen.port, chosen.token]).encode()
        files.write_atomic(home / FILE, data, mode=0o600)


def go_on_duty(home: Path) -> None:
    """Say that this process answers the hooks."""
    files.write_atomic(home / PID, f"{os.getpid()}\n".encode(), mode=0o600)


def is_on_duty(home: Path) -> bool:
    """True if hooks' commands leave the events to this process."""
    return _read_pid(home) == os.getpid()


def end_duty(home: Path) -> None:
    """Take back that this process answers the hooks."""
    if is_on_duty(home):
        (home / PID).unlink(missing_ok=True)


def relieve_dead(home: Path) -> None:
    """Let the commands answer again if the process on duty is gone, is another, or hangs."""
    pid = _read_pid(home)
    if pid is None:
        return
    known = read(home)
    if known is None or _ask_pid(known.port) != pid:
        (home / PID).unlink(missing_ok=True)


def is_served(home: Path) -> bool:
    """True if a process answers the hooks now."""
    known, pid = read(home), _read_pid(home)
    return known is not None and pid is not None and _ask_pid(known.port) == pid


def is_serving(home: Path) -> bool:
    """True if `kedge serve` runs for the repository with its proxy, on whatever port."""
    try:
        state = json.loads(_read_file(home / STATE))
        named = state["proxy"] is True and _is_port(state["port"])
        return named and _ask_pid(state["port"]) == state["pid"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _read_pid(home: Path) -> int | None:
    """Return the process on duty; None if there is no such file, 0 if it names no process."""
    if not (home / PID).exists():
        return None
    text = _read_file(home / PID).strip()
    return int(text) if text.isdigit() and len(text) < _LONGEST_PID else 0


def _ask_pid(port: int) -> int | None:
    """Return the process that answers as kedge's server on a port, if one does in time."""
    request = f"GET {HEALTH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    answer = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_LOOK_SECONDS) as connection:
            connection.sendall(request.encode())
            while len(answer) < 10_000 and (data := connection.recv(4096)):
                answer += data
        pid = json.loads(answer.partition(b"\r\n\r\n")[2])["pid"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if isinstance(pid, int) else None


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
