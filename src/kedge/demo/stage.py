"""The scratch directory of the demo, the commands that run in it, and its end.

Everything is below one directory: the project, the agent, a home, temporary files. Commands get an
environment that holds nothing of the user's but PATH, and a mark by which whatever they start is
found again. A signal ends the demo at any moment, and leaves neither a process nor a file.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import kedge
from kedge.demo import agent, project
from kedge.errors import FileError, KedgeError, ProgramError
from kedge.host import proc, process_tree, running

PREFIX = "kedge-demo-"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 300.0  # seconds; a guard against hanging
_PAUSES = (0.0, 0.05, 0.1)  # seconds; a process that is just being started is found a moment later
_PYTHON = "import sys; sys.path.insert(0, sys.argv.pop(1)); from {module} import main; {call}"
_SOURCES = Path(kedge.__file__).parent.parent


class ShellResult(NamedTuple):
    """A command that ran, its exit code, and its output."""

    command: str
    code: int
    lines: tuple[str, ...]


class Stage:
    """A scratch directory: `root` is the project in it."""

    def __init__(self, top: Path, mark: str) -> None:
        self.top = top
        self.root = top / project.NAME
        self._env = process_tree.add_mark(_make_environment(top), mark)

    def set_up(self, client: str, program: str) -> None:
        """Make the project with its history, and the programs `kedge` and `agent`."""
        for name in ("bin", "fallback", "home", "tmp", "agent-home", project.NAME):
            (self.top / name).mkdir()
        _write_program(self.top / "bin" / "kedge", "kedge.__main__", "main()")
        call = "sys.exit(main(sys.argv[1:]))"
        home = str(self.top / "agent-home")
        _write_program(self.top / "agent", agent.__name__, call, client, program, home)
        python = self.top / "fallback" / "python3"  # last on PATH, for machines without one
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        python.chmod(0o755)
        self._git("init", "--quiet", "--initial-branch=main")
        self._git("config", "user.name", "Demo")
        self._git("config", "user.email", "demo@localhost")
        for commit in project.HISTORY:
            for name, text in commit.files.items():
                path = self.root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                path.chmod(0o755 if text.startswith("#!") else 0o644)
            self._git("add", ".")
            self._git("commit", "--quiet", "-m", commit.subject)

    def run(self, command: str, on_line: Callable[[str], None]) -> ShellResult:
        """Run a shell command in the project; `on_line` gets each line of its output."""
        lines = []
        argv = ["sh", "-c", command]
        deadline = time.monotonic() + _PATIENCE
        with running.start(argv, cwd=self.root, env=self._env) as child:
            for line in child.lines(deadline=deadline):
                text = line.data.decode("utf-8", "replace")
                lines.append(text)
                on_line(text)
        return ShellResult(command, child.end().code, tuple(lines))

    def _git(self, *args: str) -> None:
        done = proc.run(["git", *args], cwd=self.root, env=self._env, timeout=_PATIENCE)
        if done.code:
            message = done.stderr.decode("utf-8", "replace").strip()
            raise KedgeError(f"git {args[0]} failed: {message}", hint="kedge needs git 2.30")


@contextlib.contextmanager
def open_stage(*, keep: bool) -> Iterator[Stage]:
    """Yield a stage, and remove it. `keep` leaves its directory, unless the demo is interrupted.

    It is left after an error of kedge as well, to find out why.
    """
    mark = os.urandom(12).hex()
    top = Path(tempfile.gettempdir()).resolve() / f"{PREFIX}{mark[:8]}"
    with _end_on_signals() as guard:
        kept = False
        try:
            try:
                _make_directory(top)
                yield Stage(top, mark)
                kept = keep
            except KedgeError:
                kept = keep
                raise
            finally:
                guard.closed = True
        finally:
            _clear(top, mark, keep=kept and not guard.interrupted)


def _make_directory(top: Path) -> None:
    try:
        top.mkdir(mode=0o700)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileError(
            f"cannot make {top}: {reason}", hint="name another directory with TMPDIR"
        ) from error


class _Guard:
    """Turns the first signal into KeyboardInterrupt. Once `closed`, signals are ignored."""

    def __init__(self) -> None:
        self.closed = False
        self.interrupted = False

    def stop(self, *_: object) -> None:
        if not self.closed:
            self.closed = self.interrupted = True
            raise KeyboardInterrupt


@contextlib.contextmanager
def _end_on_signals() -> Iterator[_Guard]:
    guard = _Guard()
    old = {
        one: signal.signal(one, guard.stop)
        for one in _SIGNALS
        if signal.getsignal(one) is not signal.SIG_IGN
    }
    try:
        yield guard
    finally:
        for one, handler in old.items():
            signal.signal(one, handler)


def _clear(top: Path, mark: str, *, keep: bool) -> None:
    """End every process of the demo; remove its directory unless it is kept."""
    for pause in _PAUSES:
        time.sleep(pause)
        process_tree.end_marked(mark)
        if not keep:
            shutil.rmtree(top, ignore_errors=True)


def _make_environment(top: Path) -> dict[str, str]:
    """Return the environment of all commands: of the user's own there is only PATH."""
    found = [one for one in os.get_exec_path() if Path(one).is_absolute()]
    return {
        "PATH": os.pathsep.join([str(top / "bin"), *found, str(top / "fallback")]),
        "HOME": str(top / "home"),
        "TMPDIR": str(top / "tmp"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def _write_program(path: Path, module: str, call: str, *args: str) -> None:
    """Write a program that runs a function of this kedge, wherever it is installed."""
    code = _PYTHON.format(module=module, call=call)
    words = shlex.join([sys.executable, "-I", "-c", code, str(_SOURCES), *args])
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)


def find_program(client: str) -> str:
    """Return the installed client; empty for the scripted one."""
    if client == agent.SCRIPT:
        return ""
    found = agent.find_client(client)
    if found is None:
        raise ProgramError(
            f"{client} is not on PATH", hint=f"install {client}, or leave out --agent"
        )
    return str(found)
