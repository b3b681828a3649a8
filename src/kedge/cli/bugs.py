"""The log that a bug leaves, fit to be pasted into a report."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from kedge import __version__
from kedge.errors import KedgeError
from kedge.host import clock, files, project
from kedge.host.redact import redact

KEEP = 20


def write_log(error: BaseException, argv: Sequence[str], directory: Path) -> Path | None:
    """Write what happened, without secrets, where it can be written; None where nowhere can."""
    trace = "".join(traceback.format_exception(error))
    text = redact(
        f"kedge {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"{clock.now()}\n"
        f"arguments: {list(argv)!r}\n\n{trace}"
    )
    name = f"bug-{clock.now().replace(':', '')}-{os.getpid()}.log"
    for place in _places(directory):
        path = place / "logs" / name
        try:
            files.write_atomic(path, text.encode("utf-8", "backslashreplace"), mode=0o600)
        except KedgeError:
            continue
        _forget_old(path.parent)
        return path
    sys.stderr.write(text)
    return None


def _places(directory: Path) -> Iterator[Path]:
    try:
        yield project.find(directory.absolute()).home()
    except (KedgeError, OSError):
        named = os.environ.get(project.HOME_VARIABLE)
        if named:
            yield Path(named)
    state = os.environ.get("XDG_STATE_HOME")
    yield (Path(state) if state else Path.home() / ".local" / "state") / "kedge"
    yield Path(tempfile.gettempdir()) / f"kedge-{os.getuid()}"


def _forget_old(logs: Path) -> None:
    for path in sorted(logs.glob("bug-*.log"))[:-KEEP]:
        path.unlink(missing_ok=True)
