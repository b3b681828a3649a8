"""Run a check: its output, its exit code, its duration."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kedge.errors import FileError, InvalidValue, ProgramError
from kedge.handoff.checks.output import OutputBuffer
from kedge.host import proc

NOT_FOUND, NOT_STARTED = 127, 126  # the exit codes of a shell
CHECKED = "KEDGE_CHECK"  # tells the programs that a check starts which directory it checks

# Words that mean the same with and without a shell: no operator, no variable, no pattern.
_PLAIN = re.compile(r"""(?:[\w@%+=:,./ -]|'[^']*'|"[^"$`\\]*")+""", re.ASCII)
_BUILT_IN = re.compile(
    r"[.:]|alias|case|cd|command|eval|exec|exit|export|for|if|set|source|trap|type|ulimit|umask"
    r"|unset|until|wait|while"
)


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A check that ran. `exit_code` is negative for a signal, None if it is unknown.

    `log` is the bounded output, stdout and stderr in their order; `log_digest` is the SHA-256 hash
    of all output.
    """

    command: str
    directory: str
    exit_code: int | None
    seconds: float | None
    timed_out: bool
    log: bytes
    log_size: int
    log_digest: str


def run_check(
    command: Sequence[str] | str,
    cwd: Path,
    *,
    timeout: float | None,
    env: Mapping[str, str] | None = None,
    on_output: Callable[[bytes], None] | None = None,
    root: Path | None = None,
    grace: float = proc.GRACE,
) -> CheckRun:
    """Run a check to its end or to the timeout, and leave nothing of its process group running.

    A string is split into words; if it needs a shell, `sh -c` runs it, with a shell's own rules
    (the exit code of `a | b` is b's). A program that cannot be started is a failed check with exit
    code 127 or 126. Output goes to `on_output` as it arrives. `env` is the whole environment. The
    recorded directory is relative to `root`.
    """
    argv, text = split_command(command)
    if not cwd.is_dir():
        raise FileError(
            f"there is no directory {os.fspath(cwd)!r}", hint="give a directory for the check"
        )
    buffer, digest = OutputBuffer(), _sha256()

    def take(chunk: bytes) -> None:
        buffer.add(chunk)
        digest.update(chunk)
        if on_output is not None:
            on_output(chunk)

    inner = {**(os.environ if env is None else env), CHECKED: os.fspath(root or cwd)}
    try:
        done = proc.run(argv, cwd=cwd, env=inner, timeout=timeout, on_output=take, grace=grace)
    except ProgramError as error:
        missing = isinstance(error.__cause__, FileNotFoundError)
        take(f"{error.message}\n".encode("utf-8", "replace"))
        done = proc.ProgramResult(NOT_FOUND if missing else NOT_STARTED, b"", b"", 0.0, False)
    return CheckRun(
        text,
        _relative_directory(cwd, root),
        done.code,
        round(done.seconds, 3),
        done.timed_out,
        buffer.log(),
        buffer.size,
        digest.hexdigest(),
    )


def import_log(
    log: bytes, command: str, *, directory: str = ".", exit_code: int | None = None
) -> CheckRun:
    """Return a run by someone else, from its log."""
    buffer, digest = OutputBuffer(), _sha256()
    buffer.add(log)
    digest.update(log)
    kept = buffer.log()
    return CheckRun(command, directory, exit_code, None, False, kept, len(log), digest.hexdigest())


def split_command(command: Sequence[str] | str) -> tuple[list[str], str]:
    """Return the arguments to start for a command, and the command as text."""
    if isinstance(command, str):
        text = command.strip()
        if "\0" in text or not text:
            raise InvalidValue(f"{command!r} is not a command")
        return (["sh", "-c", text] if needs_shell(text) else shlex.split(text)), text
    argv = list(command)
    if not argv or not argv[0] or any("\0" in word for word in argv):
        raise InvalidValue(f"{argv!r} is not a command")
    return argv, shlex.join(argv)


def needs_shell(text: str) -> bool:
    """True if a command would mean something else without a shell, or might."""
    if _PLAIN.fullmatch(text) is None:
        return True
    first = text.split(maxsplit=1)[0]
    return "=" in first or _BUILT_IN.fullmatch(first) is not None


def _relative_directory(cwd: Path, root: Path | None) -> str:
    if root is not None and cwd.resolve().is_relative_to(root.resolve()):
        return cwd.resolve().relative_to(root.resolve()).as_posix()
    return cwd.as_posix()


def _sha256() -> Any:
    from hashlib import sha256

    return sha256()
