"""What the tests share: scratch repositories and the real `kedge` command."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import pytest
from forked_kedge import ForkServer

IDLE = 0.02  # seconds of CPU
TIMEOUT = 120.0  # seconds for one command


@dataclass(frozen=True)
class Ran:
    """How one call of `kedge` ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on standard output."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        assert set(value) == {"success", "data", "error", "code", "hint", "warnings"}
        return value

    @property
    def data(self) -> Any:
        document = self.document
        assert document["success"], document
        return document["data"]


@contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """A guard against work that grows with the square of its input, not a measure: the seconds of
    CPU that it may take, and more only where the machine is slow or busy just then."""
    start = time.process_time()
    yield
    taken = time.process_time() - start
    assert taken < seconds or taken < 2 * seconds * slowness()


def slowness() -> float:
    """How much longer than on an idle machine of 2024 a piece of work takes here and now."""
    times = []
    for _ in range(5):
        start = time.process_time()
        re.findall(r"\w+", "moor the ship, weigh the anchor\n" * 20_000)
        times.append(time.process_time() - start)
    return max(statistics.median(times) / IDLE, 1.0)


_KILLED_AT = """
import os, sys
from kedge.host import files
left = int(sys.argv.pop(1))
for name in ("replace", "fsync", "ftruncate", "write"):
    real = getattr(os, name)
    def act(*args, real=real, **more):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return real(*args, **more)
    setattr(os, name, act)
import pathlib
def replace(self, target):
    os.replace(self, target)
pathlib.Path.replace = replace
from kedge.cli.edge import run
sys.exit(run(sys.argv[1:]))
"""


def run_killed_at(write: int, *args: str) -> subprocess.CompletedProcess[bytes]:
    """Run kedge and end it, with exit code 9, just before it writes for that time from 0 on."""
    argv = [sys.executable, "-c", _KILLED_AT, str(write), *args]
    return subprocess.run(argv, capture_output=True, timeout=60)


def git(directory: Path, *args: str) -> str:
    done = subprocess.run(
        ["git", *args], cwd=directory, capture_output=True, check=True, text=True, timeout=60
    )
    return done.stdout


_server: ForkServer | None = None


def pytest_sessionfinish() -> None:
    if _server is not None:
        _server.close()


def _run_kedge(
    args: tuple[str, ...], cwd: Path, environment: dict[str, str], data: bytes | None
) -> Ran:
    global _server  # noqa: PLW0603 - one for all tests of this process
    if _server is None:
        _server = ForkServer()
    if not _server.can_run(environment):
        done = subprocess.run(
            [sys.executable, "-m", "kedge", *args],
            cwd=cwd,
            env=environment,
            input=data,
            stdin=subprocess.DEVNULL if data is None else None,
            capture_output=True,
            timeout=TIMEOUT,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
    with TemporaryFile() as out, TemporaryFile() as err, _open_input(data) as stdin:
        streams = (stdin.fileno(), out.fileno(), err.fileno())
        code = _server.run(args, str(cwd), environment, streams, TIMEOUT)
        out.seek(0)
        err.seek(0)
        return Ran(code, out.read().decode(), err.read().decode())


@contextmanager
def _open_input(data: bytes | None) -> Iterator[IO[bytes]]:
    """Open what a command reads: a pipe with these bytes, or nothing."""
    if data is None:
        with Path(os.devnull).open("rb") as nothing:
            yield nothing
        return
    read, write = os.pipe()

    def feed() -> None:
        with suppress(BrokenPipeError), os.fdopen(write, "wb") as pipe:
            pipe.write(data)

    feeder = threading.Thread(target=feed)
    with os.fdopen(read, "rb") as pipe:
        feeder.start()
        yield pipe
    feeder.join()


def wait_for_aside(home: Path) -> None:
    """Wait until nothing works aside for the sessions of a project, given by kedge's home.

    A hook that a message starts leaves a process that records errors, runs git and writes to the
    database. Tests that look at any of these call this first.
    """
    late = time.monotonic() + TIMEOUT
    while _find_aside(os.fsencode(home.resolve())):
        assert time.monotonic() < late
        time.sleep(0.02)


def _find_aside(home: bytes) -> bool:
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if home in words and any(b"aside_process" in word for word in words):
                return True
            if is_starting(entry):
                return True
    return False


def is_starting(process: Path) -> bool:
    """Tell whether a Python program, given by its folder in /proc, is only just being started.

    Its command line and its environment are empty for that moment.
    """
    python = Path(sys.executable).resolve()
    return not (process / "cmdline").read_bytes() and (process / "exe").readlink() == python


class Kedge:
    """The command, run as a user runs it, in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(
        self,
        *args: str,
        code: int | None = 0,
        input: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Ran:
        data = input.encode() if isinstance(input, str) else input
        ran = _run_kedge(args, cwd or self.directory, {**os.environ, **(env or {})}, data)
        assert "Traceback" not in ran.out + ran.err, ran
        if code is not None:
            assert ran.code == code, ran
        return ran

    def json(self, *args: str, **more: Any) -> Any:
        return self(*args, "--json", **more).data


def assert_clear(ran: Ran, *, code: int, says: str) -> None:
    """A refusal as documented: its exit code, one line that says what, one that says what to do."""
    assert ran.code == code, ran
    lines = [line for line in ran.err.splitlines() if not line.startswith("warning: ")]
    assert len(lines) == 2, ran
    assert lines[0].startswith("error: "), ran
    assert says in lines[0], ran
    assert lines[1].startswith("hint: "), ran
    assert len(lines[1]) > len("hint: "), ran
    assert ran.out == "", ran


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """An empty git repository."""
    path = tmp_path / "repo"
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch=main")
    return path


@pytest.fixture
def kedge(repo: Path) -> Kedge:
    return Kedge(repo)
