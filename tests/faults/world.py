"""A scratch project in which a command runs, is killed, and runs again."""

from __future__ import annotations

import os
import resource
import runpy
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import fake_bd

from faults import tracer
from faults.tracer import Traced
from kedge.testing.fake_agent import FakeAgent

_DATE = "2026-01-02T03:04:05+00:00"


@dataclass(frozen=True)
class Ended:
    """How a command ended; `code` is None if it was killed."""

    code: int | None
    out: str
    err: str
    calls: list[str]


@dataclass(frozen=True)
class Command:
    """A command that writes: its arguments, its input, and what is done before it."""

    name: str
    argv: tuple[str, ...]
    prepare: Callable[[World], None]
    stdin: str = ""
    hook: bool = False  # the arguments are those of hook.py
    backend: str = "jsonl"
    then: tuple[str, ...] = ()  # what a user runs after a kill, if not the command again
    costly: bool = False  # takes seconds: fewer kills


def _copy_file(source: str, target: str) -> None:
    if stat.S_ISFIFO(os.lstat(source).st_mode):
        os.mkfifo(target)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


@dataclass
class World:
    """A directory with a repository, a home, and files outside of both."""

    top: Path
    backend: str = "jsonl"
    env: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)  # arguments that are known only by then

    @property
    def root(self) -> Path:
        return self.top / "repo"

    @property
    def home(self) -> Path:
        return self.top / "home"

    @property
    def outside(self) -> Path:
        return self.top / "outside"

    @property
    def data(self) -> Path:
        """Where kedge keeps its database."""
        return self.root / ".git" / "kedge"

    def create(self) -> None:
        """Make the project: a few files of the user, committed."""
        shutil.rmtree(self.top, ignore_errors=True)
        for directory in (self.root, self.home, self.outside):
            directory.mkdir(parents=True)
        (self.outside / "canary").write_text("outside\n")
        fake_bd.install(self.top / "bin")
        for name, text in _FILES.items():
            self.write(name, text)
        self.git("init", "--quiet", "--initial-branch=main", "--template=")
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "first")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def save(self) -> None:
        """Keep the present state for `restore`."""
        self._copy(self.top, self._saved)

    def restore(self) -> None:
        self._copy(self._saved, self.top)

    @property
    def _saved(self) -> Path:
        return self.top.with_name(self.top.name + ".saved")

    @staticmethod
    def _copy(source: Path, target: Path) -> None:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, symlinks=True, copy_function=_copy_file)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": f"{self.top / 'bin'}:{os.environ.get('PATH', os.defpath)}",
            "TMPDIR": str(self.outside),
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_NAME": "Tess" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "tess@example.org" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_DATE": _DATE for who in ("AUTHOR", "COMMITTER")},
            "KEDGE_TASKS_BACKEND": self.backend,
            **self.env,
        }

    def git(self, *args: str) -> str:
        ended = self.execute(["git", *args])
        if ended.code != 0:
            raise AssertionError(f"git {' '.join(args)}: {ended.code}: {ended.err}{ended.out}")
        return ended.out

    def kedge(self, *args: str, stdin: str = "", code: int = 0) -> str:
        """Run kedge in preparation of a command; anything but this exit code is an error."""
        ended = self.run(Command(args[0], args, lambda _: None, stdin))
        if ended.code != code:
            raise AssertionError(f"kedge {' '.join(args)}: {ended.code}: {ended.err}{ended.out}")
        return ended.out

    def run(
        self,
        command: Command,
        kill_at: int | None = None,
        *,
        alone: bool = False,
        limit: int | None = None,
    ) -> Ended:
        """Run a command and all that it starts to the end, or to the kill.

        With `limit`, files cannot grow beyond that many bytes.
        """

        def start() -> NoReturn:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            argv = tuple(self.words.get(word, word) for word in command.argv)
            (self._start_hook if command.hook else self._start_kedge)(argv)

        return self._trace(start, command.stdin, kill_at, alone)

    def execute(self, argv: list[str], stdin: str = "") -> Ended:
        """Run any other program."""

        def start() -> NoReturn:
            os.execvpe(argv[0], argv, self.environment)

        return self._trace(start, stdin, None, False)

    def _trace(
        self, start: Callable[[], NoReturn], stdin: str, kill_at: int | None, alone: bool
    ) -> Ended:
        streams = Path(tempfile.gettempdir(), f"streams-{os.getpid()}")
        streams.mkdir(exist_ok=True)
        paths = [streams / name for name in ("in", "out", "err")]
        paths[0].write_bytes(stdin.encode("utf-8", "surrogateescape"))

        def begin() -> NoReturn:
            os.chdir(self.root)
            for number, path in enumerate(paths):
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
                opened = os.open(path, flags, 0o600)
                os.dup2(opened, number)
                os.close(opened)
            start()

        traced: Traced = tracer.trace(begin, kill_at, alone=alone, ignore=str(streams))
        out, err = (path.read_bytes().decode("utf-8", "replace") for path in paths[1:])
        if traced.timed_out:
            err += f"still at work after {tracer.TIME_LIMIT:g} s\n"
        return Ended(traced.code, out, err, traced.calls)

    def _start_kedge(self, argv: tuple[str, ...]) -> NoReturn:
        _become(self.environment, ["kedge", *argv])
        sys.path[0] = str(Path.cwd())
        try:
            runpy.run_module("kedge", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)
        os._exit(0)

    def _start_hook(self, argv: tuple[str, ...]) -> NoReturn:
        import kedge

        program = Path(str(kedge.__file__)).with_name("hook.py")
        words = [sys.executable, "-I", str(program), *argv]
        os.execve(words[0], words, self.environment)

    def install_agent(self, *parts: Mapping[str, object]) -> str:
        """Write a fake agent that plays these parts; return its program."""
        agent = FakeAgent(self.top / "agent", "claude", list(parts))
        return " ".join(map(str, agent.program))


def _become(environment: Mapping[str, str], argv: list[str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = argv


def import_everything() -> None:
    """Import kedge before the forks, so that each command need not."""
    from forked_kedge import _import_everything

    _import_everything()


_FILES = {
    "AGENTS.md": "# Team\n\nOur own text.  \n",
    "app.py": "import lib.boat\n\n\ndef sail():\n    return lib.boat.haul()\n",
    "lib/boat.py": "def haul():\n    return 1\n",
    "check.sh": "test -f ok\n",
    "Makefile": "check:\n\tsh check.sh\n",
    ".gitignore": "*.log\n",
    "notes.log": "ignored by git, kept by the user\n",
    ".claude/settings.json": '{\n  "model": "opus"\n}\n',
}
