"""Running a check: what it printed, how it ended, how long it took."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kedge.errors import FileError, InvalidValue, ProgramError
from kedge.handoff.checks.text import Keeper
from kedge.host import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NOT_FOUND, NOT_STARTED = 127, 126  # as a shell says it

# Words that mean the same with and without a shell: no operator, no variable, no pattern.
_PLAIN = re.compile(r"""(?:[\w@%+=:,./ -]|'[^']*'|"[^"$`\\]*")+""", re.ASCII)
_BUILT_IN = re.compile(
    r"[.:]|alias|case|cd|command|eval|exec|exit|export|for|if|set|source|trap|type|ulimit|umask"
    r"|unset|until|wait|while"
)


@dataclass(frozen=True, slots=True)
class Ran:
    """A check that ran. `exit_code` is negative for a signal, and None where nobody knows it.

    `log` is what is kept of the output, stdout and stderr in their order; `log_digest` is the
    SHA-256 of all of it, as it was printed.
    """

    command: str
    directory: str
    exit_code: int | None
    seconds: float | None
    timed_out: bool
    log: bytes
    log_size: int
    log_digest: str


def run(
    command: Sequence[str] | str,
    cwd: Path,
    *,
    timeout: float | None,
    env: Mapping[str, str] | None = None,
    on_output: Callable[[bytes], None] | None = None,
    root: Path | None = None,
    grace: float = proc.GRACE,
) -> Ran:
    """Run a check to its end or to the time-out, and leave nothing of its process group running.

    A text is split into words and started as it is; where it holds anything that only a shell
    understands, `sh -c` runs it, with a shell's own rules (the exit code of `a | b` is b's).
    A program that cannot be started is a check that failed: exit code 127, or 126. Output goes
    to `on_output` as it arrives. `env` is the whole environment. The directory is told relative
    to `root`.
    """
    argv, shown = words(command)
    if not cwd.is_dir():
        raise FileError(f"no directory {os.fspath(cwd)!r}", hint="a check runs in a directory")
    keeper, digest = Keeper(), _sha256()

    def take(chunk: bytes) -> None:
        keeper.add(chunk)
        digest.update(chunk)
        if on_output is not None:
            on_output(chunk)

    try:
        done = proc.stream(argv, take, cwd=cwd, env=env, timeout=timeout, grace=grace)
    except ProgramError as error:
        missing = isinstance(error.__cause__, FileNotFoundError)
        take(f"{error.message}\n".encode("utf-8", "replace"))
        done = proc.Finished(NOT_FOUND if missing else NOT_STARTED, b"", b"", 0.0, False)
    return Ran(
        shown,
        _told(cwd, root),
        done.code,
        round(done.seconds, 3),
        done.timed_out,
        keeper.log(),
        keeper.size,
        digest.hexdigest(),
    )


def imported(
    log: bytes, command: str, *, directory: str = ".", exit_code: int | None = None
) -> Ran:
    """A check that somebody else ran, of which there is the log."""
    keeper, digest = Keeper(), _sha256()
    keeper.add(log)
    digest.update(log)
    kept = keeper.log()
    return Ran(command, directory, exit_code, None, False, kept, len(log), digest.hexdigest())


def words(command: Sequence[str] | str) -> tuple[list[str], str]:
    """What is started for a command, and the command as text."""
    if isinstance(command, str):
        text = command.strip()
        if "\0" in text or not text:
            raise InvalidValue(f"{command!r} is no command")
        return (["sh", "-c", text] if needs_shell(text) else shlex.split(text)), text
    argv = list(command)
    if not argv or not argv[0] or any("\0" in word for word in argv):
        raise InvalidValue(f"{argv!r} is no command")
    return argv, shlex.join(argv)


def needs_shell(text: str) -> bool:
    """Whether a command means something else without a shell; in doubt it does."""
    if _PLAIN.fullmatch(text) is None:
        return True
    first = text.split(maxsplit=1)[0]
    return "=" in first or _BUILT_IN.fullmatch(first) is not None


def _told(cwd: Path, root: Path | None) -> str:
    if root is not None and cwd.resolve().is_relative_to(root.resolve()):
        return cwd.resolve().relative_to(root.resolve()).as_posix()
    return cwd.as_posix()


def _sha256() -> Any:
    from hashlib import sha256

    return sha256()
