"""A long run: what kedge holds does not grow with the iterations."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from support import Kedge, git

TASKS, ATTEMPTS = 40, 5
# It notes what the process that started it holds: open files, children, kilobytes of memory.
AGENT = """\
cat >/dev/null
files=$(ls /proc/$PPID/fd | wc -l)
children=$(wc -w </proc/$PPID/task/$PPID/children)
memory=$(sed -n 's/^VmRSS:[^0-9]*\\([0-9]*\\) kB/\\1/p' /proc/$PPID/status)
echo "$files $children $memory" >>"{notes}"
echo "$KEDGE_TASK" >>work.txt
echo Done.
"""


class Held(NamedTuple):
    files: int
    children: int
    memory: int


@pytest.mark.long
def test_two_hundred_iterations_hold_no_more_than_twenty(
    repo: Path, kedge: Kedge, tmp_path: Path
) -> None:
    notes, agent = tmp_path / "notes", tmp_path / "agent.sh"
    agent.write_text(AGENT.format(notes=notes))
    tasks = [{"id": f"t-{number}", "title": f"Task {number}"} for number in range(TASKS)]
    (repo / "tasks.json").write_text(json.dumps({"tasks": tasks}))
    kedge("task", "import", "tasks.json")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    asked = ("--command", f"sh {agent}", "--attempts", str(ATTEMPTS), "--json")
    done = subprocess.run(
        [sys.executable, "-m", "kedge", "run", *asked],
        cwd=repo,
        env={**os.environ, "KEDGE_RUN_FAILURES": "1000", "KEDGE_CONTEXT_COMMANDS": '["false"]'},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 1, done
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["failed"], summary["spent"]["iterations"]) == (TASKS, TASKS * ATTEMPTS)
    held = [Held(*map(int, line.split())) for line in notes.read_text().splitlines()]
    assert len(held) == TASKS * ATTEMPTS
    early, late = held[19], held[-1]
    assert early.files > 3  # it was looked at
    assert late.files <= early.files
    assert late.children <= early.children == 1
    assert late.memory <= early.memory * 1.2
