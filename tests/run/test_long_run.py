"""A long run: files, children and memory of kedge do not grow with the iterations."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from support import Kedge, git

ATTEMPTS = 5
# It notes the open files, children and kilobytes of memory of the process that started it.
AGENT = """\
cat >/dev/null
files=$(ls /proc/$PPID/fd | wc -l)
children=$(wc -w </proc/$PPID/task/$PPID/children)
memory=$(sed -n 's/^VmRSS:[^0-9]*\\([0-9]*\\) kB/\\1/p' /proc/$PPID/status)
echo "$files $children $memory" >>"{notes}"
echo "$KEDGE_TASK" >>work.txt
echo Done.
"""


class Resources(NamedTuple):
    files: int
    children: int
    memory: int


@pytest.mark.parametrize(("tasks", "warm"), [(5, 9), pytest.param(40, 19, marks=pytest.mark.long)])
def test_resources_do_not_grow_with_the_iterations(
    repo: Path, kedge: Kedge, tmp_path: Path, tasks: int, warm: int
) -> None:
    """Compare the last iteration with the one after which everything is loaded."""
    notes, agent = tmp_path / "notes", tmp_path / "agent.sh"
    agent.write_text(AGENT.format(notes=notes))
    rows = [{"id": f"t-{number}", "title": f"Task {number}"} for number in range(tasks)]
    (repo / "tasks.json").write_text(json.dumps({"tasks": rows}))
    kedge("task", "import", "tasks.json")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    options = ("--command", f"sh {agent}", "--attempts", str(ATTEMPTS), "--json")
    done = subprocess.run(
        [sys.executable, "-m", "kedge", "run", *options],
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
    assert (summary["failed"], summary["spent"]["iterations"]) == (tasks, tasks * ATTEMPTS)
    used = [Resources(*map(int, line.split())) for line in notes.read_text().splitlines()]
    assert len(used) == tasks * ATTEMPTS
    early, late = used[warm], used[-1]
    assert early.files > 3  # the numbers are real
    assert late.files <= early.files
    assert late.children <= early.children == 1
    assert late.memory <= early.memory * 1.2
