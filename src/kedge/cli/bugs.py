"""Logs of bugs in kedge, ready to be pasted into a report."""

from __future__ import annotations

import os
import platform
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from kedge import __version__
from kedge.errors import KedgeError
from kedge.host import clock, files, project
from kedge.host.redact import redact

KEEP = 20


class Bug(KedgeError):
    code = "bug"
    exit_code = 3


def report(error: Exception, argv: Sequence[str], directory: Path) -> Bug:
    """Write a log without secrets and return an error that names it."""
    text = redact(
        f"kedge {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"{clock.now()}\n"
        f"arguments: {list(argv)!r}\n\n{''.join(traceback.format_exception(error))}"
    )
    path = _write(text, directory)
    what = redact(f"{type(error).__name__}: {error}").splitlines()[0][:200]
    return Bug(
        f"a bug in kedge: {what}",
        hint=f"please report it with {path}" if path else "no log could be written anywhere",
        data={"log": str(path) if path else None},
    )


def _write(text: str, directory: Path) -> Path | None:
    name = f"bug-{clock.now().replace(':', '')}-{os.getpid()}.log"
    for home in _log_homes(directory):
        path = home / "logs" / name
        try:
            files.write_atomic(path, text.encode("utf-8", "backslashreplace"), mode=0o600)
        except KedgeError:
            continue
        for old in sorted(path.parent.glob("bug-*.log"))[:-KEEP]:
            old.unlink(missing_ok=True)
        return path
    return None


def _log_homes(directory: Path) -> Iterator[Path]:
    """Yield the directories that may hold the log, best first."""
    try:
        yield project.find(directory).home()
    except (KedgeError, OSError):
        if os.environ.get(project.HOME_VARIABLE):
            yield Path(os.environ[project.HOME_VARIABLE])
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    home = Path(os.environ.get("HOME", ""))
    if state.is_absolute():
        yield state / "kedge"
    elif home.is_absolute():
        yield home / ".local" / "state" / "kedge"
    yield Path(tempfile.gettempdir()) / f"kedge-{os.getuid()}"
