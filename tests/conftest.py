"""Every test works in scratch directories, with a scratch HOME and no settings of the user.

The run as a whole must leave nothing: no process that it started, no file of its own.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_MARK = "TESTS_OF_KEDGE"

_RAM_DISK = Path("/dev/shm")
_ENOUGH = 4 << 30  # bytes
_OF_THE_USER = (
    "GIT_", "KEDGE_", "XDG_", "ANTHROPIC_", "OPENAI_", "CLAUDE", "CODEX_", "GEMINI_", "OPENCODE",
    "AI_AGENT", "COPILOT_", "CURSOR_",
)  # fmt: skip
_LAST_WORK = 10.0  # seconds for what the last hooks started aside


def _is_usable(directory: Path) -> bool:
    """True if the directory has room and programs in it can be run."""
    if not os.access(directory, os.W_OK) or shutil.disk_usage(directory).free < _ENOUGH:
        return False
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        script = Path(scratch, "script")
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
        try:
            return subprocess.run([script], check=False).returncode == 0
        except OSError:
            return False


if _MARK not in os.environ:
    # The suite makes and removes a hundred thousand files: on some disks that is half of its time.
    _parent = _RAM_DISK if _is_usable(_RAM_DISK) else None
    _top = Path(tempfile.mkdtemp(prefix="kedge-tests-", dir=_parent))
    (_top / "home").mkdir()
    (_top / "tmp").mkdir()
    os.environ[_MARK] = str(_top)
    os.environ["TMPDIR"] = str(_top / "tmp")
    os.environ["HOME"] = str(_top / "home")
    os.environ["NO_COLOR"] = "1"
    for _name in list(os.environ):
        if _name.startswith(_OF_THE_USER):
            del os.environ[_name]
    os.environ["XDG_STATE_HOME"] = str(_top / "state")
    for _who in ("AUTHOR", "COMMITTER"):
        os.environ[f"GIT_{_who}_NAME"] = "Tess"
        os.environ[f"GIT_{_who}_EMAIL"] = "tess@example.org"
tempfile.tempdir = os.environ["TMPDIR"]
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts background jobs
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # as nohup starts a program
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile(
    "kedge",
    deadline=None,
    database=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("kedge")

pytest_plugins = ["support", "clients"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return
    top = Path(os.environ[_MARK])
    late = time.monotonic() + _LAST_WORK
    while _processes() and time.monotonic() < late:
        time.sleep(0.1)
    left = _processes() + _files(top)
    shutil.rmtree(top, ignore_errors=True)
    if left:
        session.exitstatus = 1
        print("\nthe tests left behind:", *left, sep="\n  ")


def _processes() -> list[str]:
    found = []
    mark = f"{_MARK}={os.environ[_MARK]}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != os.getpid() and mark in (entry / "environ").read_bytes():
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found.append(f"process {entry.name}: {command}")
        except OSError:
            continue
    return found


def _files(top: Path) -> list[str]:
    strays = [p for p in (top / "tmp").iterdir() if not p.name.startswith("pytest-of-")]
    return [f"file {path}" for path in (*strays, *(top / "home").iterdir())]
