"""Start-up time: `kedge --help`, and `kedge task ready` on 1,000 tasks."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from _measure import KEDGE, YARDSTICK, clean_environment, interleaved, report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        root = Path(scratch)
        subprocess.run(["git", "init", "--quiet", "."], cwd=root, check=True)
        write_tasks(root, 1000)
        commands = {
            "python3 -I -c pass": YARDSTICK,
            "kedge --help": [*KEDGE, "--help"],
            "kedge task ready (1,000 tasks)": [*KEDGE, "task", "ready"],
            "kedge task ready --json": [*KEDGE, "task", "ready", "--json"],
            "kedge task list": [*KEDGE, "task", "list"],
            "kedge config show": [*KEDGE, "config", "show"],
        }
        times = interleaved(commands, root, clean_environment(root), rounds)
    budgets = {"kedge --help": 8.0, "kedge task ready (1,000 tasks)": 10.0}
    return 0 if report("start-up", times, budgets) else 1


def write_tasks(root: Path, count: int) -> None:
    """Write realistic tasks: prose, criteria, chains of dependencies, epics."""
    lines = []
    for number in range(count):
        lines.append(
            json.dumps(
                {
                    "id": f"t-{number}",
                    "title": f"Let the harbour list berth {number} by draught and tide",
                    "type": "epic" if number % 50 == 0 else "feature",
                    "status": "done" if number % 5 == 1 else "open",
                    "priority": f"P{number % 5}",
                    "description": "A skipper wants to see which berths are deep enough. " * 8,
                    "acceptance": ["berths are sorted", "a berth without depth comes last"],
                    "labels": ["harbour"],
                    "epic": f"t-{number - number % 50}" if number % 50 else None,
                    "depends_on": [f"t-{number - 1}"] if number % 10 == 2 else [],
                    "scope_in": ["src/harbour/"],
                    "created_at": f"2026-01-01T00:00:{number % 60:02}.000000Z",
                }
            )
        )
    (root / ".kedge").mkdir()
    (root / ".kedge" / "tasks.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
