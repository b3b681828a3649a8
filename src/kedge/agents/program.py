"""An agent's program on this machine."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from kedge.errors import ProgramError
from kedge.host import proc
from kedge.host.record import NamedTuple

TIMEOUT = 10.0
_PASSED = ("PATH", "LANG", "LC_ALL", "TMPDIR")
_VERSION = re.compile(rb"\b[0-9]+\.[0-9]+[0-9A-Za-z.+-]*")


def find(name: str) -> Path | None:
    """Where PATH has the program. What is not an absolute path may be the repository's own."""
    found = shutil.which(name)
    return Path(found) if found and Path(found).is_absolute() else None


def version(program: Path, *, timeout: float = TIMEOUT) -> str | None:
    """What the program says its version is; None when it says nothing of use, or not in time.

    It sees nothing of the project, and no variable that may hold a key.
    """
    env = {name: os.environ[name] for name in _PASSED if name in os.environ}
    env |= {"TERM": "dumb", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1"}
    # Some make themselves at home before they say a word.
    with tempfile.TemporaryDirectory(prefix="kedge-version-", ignore_cleanup_errors=True) as home:
        try:
            argv = [str(program), "--version"]
            done = proc.run(argv, cwd=Path("/"), env={**env, "HOME": home}, timeout=timeout)
        except ProgramError:
            return None
    said = _VERSION.search(done.stdout[:1000])
    return said.group().decode() if said and done.code == 0 and not done.timed_out else None


def settings_directory(variable: str, name: str) -> Path | None:
    """Where the agent keeps the user's settings: the variable says, or it is in the home."""
    if given := os.environ.get(variable):
        return Path(given)
    try:
        return Path.home() / name
    except RuntimeError:
        return None


class Launch(NamedTuple):
    """How to start an agent: its arguments, and the variables to add."""

    args: list[str]
    env: dict[str, str]


def clean_environment(home: Path) -> dict[str, str]:
    """What an agent may see when kedge tries it: no key, no proxy and no settings of the user."""
    temporary = home / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
    }
