"""An agent's installation on this machine: its program, version and settings directory."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kedge.errors import ProgramError
from kedge.host import proc

TIMEOUT = 10.0
_INHERITED = ("PATH", "LANG", "LC_ALL")
_VERSION = re.compile(rb"\b[0-9]+\.[0-9]+[0-9A-Za-z.+-]*")


def find_program(name: str) -> Path | None:
    """Return where PATH has the program. A relative path may be the repository's: None."""
    path = shutil.which(name)
    return Path(path) if path and Path(path).is_absolute() else None


def find_version(name: str) -> str | None:
    """Return the version of the program on PATH; None if there is none, or it prints none."""
    program = find_program(name)
    return read_version(program) if program else None


def read_version(program: Path, *, timeout: float = TIMEOUT) -> str | None:
    """Return the version that the program prints; None if it prints none in time.

    The program sees nothing of the project, and no variable that may hold a key.
    """
    env = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    env |= {"TERM": "dumb", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1"}
    # Some agents write to the home directory even for --version.
    with tempfile.TemporaryDirectory(prefix="kedge-version-", ignore_cleanup_errors=True) as home:
        try:
            argv = [str(program), "--version"]
            env |= {"HOME": home, "TMPDIR": home}
            done = proc.run(argv, cwd=Path("/"), env=env, timeout=timeout)
        except ProgramError:
            return None
    match = _VERSION.search(done.stdout[:1000])
    if match is None or done.code or done.timed_out:
        return None
    return match.group().decode().rstrip(".")  # Copilot ends a sentence with it


def settings_directory(variable: str, name: str) -> Path | None:
    """Return the user's settings directory: the variable's value, or `name` in the home."""
    if value := os.environ.get(variable):
        return Path(value)
    try:
        return Path.home() / name
    except RuntimeError:
        return None


@dataclass(frozen=True, slots=True)
class ProbeCall:
    """How to start an agent for a probe: its arguments, and variables to add."""

    args: list[str]
    env: dict[str, str]


def make_clean_environment(home: Path) -> dict[str, str]:
    """Return the environment of a probe: no keys, no proxy, no settings of the user."""
    temporary = home / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
    }
