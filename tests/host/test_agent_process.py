"""The process of an agent is found from its hook, also where a runtime runs the agent's script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kedge.host import agent_process

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
SOURCE = Path(agent_process.__file__).parents[2]
FIND = (
    f"import sys; sys.path[:0] = [{str(SOURCE)!r}]; from kedge.host import agent_process; "
    "print(agent_process.find_process(sys.argv[1]))"
)
START = """if True:
    import json, os, subprocess, sys
    print(os.getpid(), flush=True)
    sys.exit(subprocess.call(json.loads(sys.argv[1])))
"""


def find(tmp_path: Path, agent: str, *chain: tuple[str, str]) -> tuple[list[int], str]:
    """Start a chain of programs, each a runtime with a script, and a hook at its end.

    Return their ids and the process that the hook finds.
    """
    command = ["sh", "-c", '"$@"; true', "sh", sys.executable, "-c", FIND, agent]
    for runtime, script in reversed(chain):
        path = tmp_path / script
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(START)
        place = tmp_path / "bin" / runtime
        place.parent.mkdir(exist_ok=True)
        if not place.exists():
            place.symlink_to(sys.executable)
        command = [str(place), str(path), json.dumps(command)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    *ids, found = done.stdout.splitlines()
    return [*map(int, ids)], found


def test_a_script_of_a_runtime_is_known_by_its_name(tmp_path: Path) -> None:
    """Gemini CLI starts itself again: both are one agent, and the first is what a shell knows."""
    ids, found = find(
        tmp_path, "gemini", ("node", "other.js"), ("node", "a/gemini"), ("node", "b/gemini.js")
    )
    assert found.partition(" ")[0] == str(ids[1])
    assert agent_process.is_gone(found)


def test_an_agent_that_an_agent_started_is_another_one(tmp_path: Path) -> None:
    ids, found = find(
        tmp_path, "gemini", ("node", "gemini"), ("node", "run.js"), ("node", "gemini")
    )
    assert found.partition(" ")[0] == str(ids[2])


@pytest.mark.parametrize("script", ["notes/other.js", "gemini-notes/run.js"])
def test_another_program_is_not_the_agent(tmp_path: Path, script: str) -> None:
    assert find(tmp_path, "gemini", ("node", script))[1] == ""


def test_a_process_that_runs_is_not_gone() -> None:
    assert not agent_process.is_gone(agent_process.describe(os.getpid()))
