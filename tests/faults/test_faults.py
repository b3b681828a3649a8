"""A small sample of each kind of fault, as `make faults` tries it, and that the tool sees one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from faults.commands import every_command
from faults.tool import KINDS

TOOL = Path(__file__).parents[2] / "tools" / "faults"
TESTS = Path(__file__).parents[1]

needs_tracing = pytest.mark.skipif(
    sys.platform != "linux", reason="kills are made with ptrace and seccomp, which Linux has"
)

# A program that is not atomic, in a process of its own: a tracer waits for every child there is.
_TORN = """
import os, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from faults import tracer
path = Path({path!r})

def start():
    child = os.fork()
    if child == 0:
        with path.open("wb") as file:
            file.write(b"first")
            file.flush()
            file.write(b"second")
            file.flush()
        os._exit(0)
    os.waitpid(child, 0)
    os._exit(0)

whole = tracer.trace(start)
assert whole.code == 0 and path.read_bytes() == b"firstsecond", whole
for at, left in enumerate([b"firstsecond", b"", b"first"]):
    killed = tracer.trace(start, at)
    assert killed.code is None and len(killed.calls) == at + 1, killed
    assert path.read_bytes() == left, (at, path.read_bytes())
alone = tracer.trace(start, 1, alone=True)
assert alone.code is None and path.read_bytes() == b"firstsecond", alone
"""


def run_tool(*args: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, str(TOOL), *args]
    return subprocess.run(argv, capture_output=True, text=True, timeout=300)


@needs_tracing
@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_faults_does_no_harm(kind: str) -> None:
    ran = run_tool(kind, "--sample", "--workers", "1")
    if ran.returncode == 2:
        pytest.skip(ran.stderr)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    counts = next(line for line in ran.stdout.splitlines() if line.startswith(f"{kind} "))
    assert int(counts.split()[1]) >= (1 if kind == "hooks" else 8)
    assert counts.split()[3] == "0"


@needs_tracing
def test_a_process_is_killed_before_the_call_that_was_asked_for(tmp_path: Path) -> None:
    code = _TORN.format(tests=str(TESTS), path=str(tmp_path / "file"))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    if "CannotTrace" in ran.stderr:
        pytest.skip(ran.stderr)
    assert ran.returncode == 0, ran.stderr


@needs_tracing
def test_an_unknown_command_is_not_taken_for_a_success() -> None:
    ran = run_tool("kills", "--command", "no such command")
    assert ran.returncode == 2
    assert ran.stderr.startswith("make faults: ")


def test_commands_have_different_names() -> None:
    names = [one.name for one in every_command()]
    assert len(names) == len(set(names)) > 70
