"""Run `kedge` in forks of a process that has imported it already.

Most of the time of a short command goes into starting Python and importing kedge, and the suite
runs thousands of them. A fork is a process of its own, with its own arguments, directory,
environment and streams, and it ends as a started one does.

The server is this file, run as a program. For each call it gets four file descriptors: standard
input, output and error, and a socket. The socket carries the request as JSON, then back the
process id and the exit code, a line each.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Python reads these when it starts, so a fork cannot have others.
_AT_START = ("PYTHON", "TZ", "LC_", "LANG", "LD_")


class ForkServer:
    """A process that has imported kedge, and forks for each call."""

    def __init__(self) -> None:
        self._environment = _find_start_values(os.environ)
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def can_run(self, environment: Mapping[str, str]) -> bool:
        """True if a fork can have this environment."""
        return _find_start_values(environment) == self._environment

    def run(
        self,
        args: Sequence[str],
        cwd: str,
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
        timeout: float,
    ) -> int:
        """Run a command with these standard streams, and return its exit code."""
        request = {"args": list(args), "cwd": cwd, "environment": dict(environment)}
        ours, theirs = socket.socketpair()
        with ours:
            with theirs, self._lock:
                _send_descriptors(self._socket, [*streams, theirs.fileno()])
            ours.sendall(json.dumps(request).encode())
            ours.shutdown(socket.SHUT_WR)
            ours.settimeout(timeout)
            with ours.makefile() as answers:
                child = int(answers.readline())
                try:
                    return int(answers.readline())
                except TimeoutError:
                    os.kill(child, signal.SIGKILL)
                    raise subprocess.TimeoutExpired(["kedge", *args], timeout) from None

    def close(self) -> None:
        self._socket.close()
        self._process.wait(60)


def _find_start_values(environment: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in environment.items() if key.startswith(_AT_START)}


def _send_descriptors(to: socket.socket, descriptors: list[int]) -> None:
    data = array.array("i", descriptors)
    to.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, data)])


def _import_everything() -> None:
    import kedge

    for module in pkgutil.walk_packages(kedge.__path__, "kedge."):
        if not module.name.startswith("kedge.testing") and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in ("click", "msgspec", "sqlite3", "tree_sitter", "yaml"):
        importlib.import_module(name)


def _serve(control: socket.socket) -> dict[str, Any] | None:
    """Fork for each request. Return it in the fork, and None in the server when it is to end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks below
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 4)
        if not message:
            return None
        if os.fork() == 0:
            control.close()
            return _start(descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _start(descriptors: list[int]) -> dict[str, Any]:
    """Fork the command, and return its request there; here, report how it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket(fileno=descriptors[3]) as caller:
        request: dict[str, Any] = json.loads(b"".join(iter(lambda: caller.recv(1 << 16), b"")))
        child = os.fork()
        if child == 0:
            for number, descriptor in enumerate(descriptors[:3]):
                os.dup2(descriptor, number)
                os.close(descriptor)
            return request
        for descriptor in descriptors[:3]:
            os.close(descriptor)
        with contextlib.suppress(BrokenPipeError):
            caller.sendall(f"{child}\n".encode())
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            caller.sendall(f"{code}\n".encode())
        os._exit(0)


def _main() -> None:
    _import_everything()
    gc.collect()
    gc.freeze()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if request is not None:
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["environment"])
        sys.argv[1:] = request["args"]
        sys.path[0] = str(Path.cwd())  # as `python -m` has it
        runpy.run_module("kedge", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
