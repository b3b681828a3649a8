"""Measure what a hook costs an agent: one event as a command, with 10,000 steps in the store.

    benchmarks/hooks.py [--rounds N] [--steps N]

The status line of Claude Code has the same budget.

The yardstick is an empty Python of the same interpreter, in the same rounds. The session of the
events has a tenth of the steps; the rest belong to other sessions. A message of the user starts
work aside, which is not waited for.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from _measure import YARDSTICK, clean_environment

from kedge.context import status_line
from kedge.context.agent_hooks import HOOK_FILE
from kedge.drift.watch import sensor
from kedge.store import sessions, sqlite

HOOK = [sys.executable, "-I", "-S", str(HOOK_FILE), "claude"]
STATUS_LINE = [sys.executable, "-I", "-S", str(status_line.SCRIPT)]
GOAL = (
    "Tokens expire too early: fix the expiry in src/auth/token.py, and add a test for the clock "
    "skew. Don't touch the database schema, and no new dependencies."
)
MEDIAN, TAIL = 4.0, 6.0  # of the yardstick
PATIENCE = 60.0  # seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--steps", type=int, default=10_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        root = Path(scratch).resolve() / "repo"
        root.mkdir()
        subprocess.run(["git", "init", "--quiet", "."], cwd=root, check=True)
        fill(root, args.steps)
        times = measure(root, clean_environment(Path(scratch)), args.rounds)
    return 0 if report(times, args.steps) else 1


def fill(root: Path, count: int) -> None:
    """Fill the store with sessions: edits and commands on a few hundred files, some adrift."""
    for number in range(10):
        session = f"session-{number}"
        send(root, {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": GOAL})
        for step in range(count // 10):
            tool, given = call(step + number)
            event = {"session_id": session, "tool_name": tool, "tool_input": given}
            event |= {"tool_use_id": f"t{step}", "hook_event_name": "PreToolUse"}
            send(root, event)


def call(number: int) -> tuple[str, dict[str, str]]:
    folder = ("src/auth", "src/api", "tests/auth", "docs", "src/web")[number % 5]
    path = f"{folder}/part{number % 97}.py"
    if number % 3 == 2:
        return "Bash", {"command": f"python -m pytest -q tests/auth/test_part{number % 97}.py"}
    text = f"def expiry_{number}(now, skew):\n    return now + {number} * skew\n"
    return "Edit", {"file_path": path, "old_string": "pass", "new_string": text}


def send(root: Path, event: dict[str, Any]) -> None:
    home = root / ".git" / "kedge"
    told = {"cwd": str(root), "transcript_path": "", **event}
    sensor.answer_event(str(root), str(home), "claude", told, None, unattended=False)


def events(root: Path) -> dict[str, dict[str, Any]]:
    edit = {
        "file_path": str(root / "src/auth/token.py"),
        "old_string": "return issued + TTL",
        "new_string": "return issued + TTL + SKEW\n",
    }
    write = {"file_path": str(root / "db/schema.sql"), "content": "drop table tokens;\n"}
    command = {"command": "cd src && python -m pytest -q ../tests/auth 2>&1 | tail -n 20"}
    return {
        "PreToolUse Edit": {"tool_name": "Edit", "tool_input": edit},
        "PreToolUse Bash": {"tool_name": "Bash", "tool_input": command},
        "PreToolUse Read": {"tool_name": "Read", "tool_input": {"file_path": "src/auth/token.py"}},
        "PreToolUse Write, forbidden": {"tool_name": "Write", "tool_input": write},
        "PostToolUse Edit": {"tool_name": "Edit", "tool_input": edit, "tool_response": {}},
        "UserPromptSubmit": {"prompt": GOAL},
    }


def measure(root: Path, env: dict[str, str], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"python3 -I -c pass": []}
    for number in range(rounds + 3):
        for name, argv, data in make_calls(root, number):
            begin = time.perf_counter()
            subprocess.run(argv, cwd=root, env=env, input=data, capture_output=True, check=True)
            if number >= 3:
                times.setdefault(name, []).append(time.perf_counter() - begin)
        wait_for_work_aside(root / ".git" / "kedge")
    return times


def wait_for_work_aside(home: Path) -> None:
    """Wait for the process that a message started: it works beside the agent, not beside us."""
    late = time.monotonic() + PATIENCE
    with closing(sqlite.connect(home)[0]) as db:
        while sessions.find_unread(db) and time.monotonic() < late:
            time.sleep(0.02)
    time.sleep(0.5)  # until it holds its lock
    for path in (home / "aside").glob("*"):
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)


def make_calls(root: Path, number: int) -> Iterator[tuple[str, list[str], bytes]]:
    yield "python3 -I -c pass", YARDSTICK, b""
    for name, event in events(root).items():
        told = {"session_id": "session-9", "cwd": str(root), "transcript_path": "", **event}
        told["hook_event_name"] = name.split()[0]
        told["tool_use_id"] = f"{name.replace('Post', 'Pre')}-{number}"
        if "prompt" in told:
            told["prompt"] += f" This is message {number}."
        yield name, HOOK, json.dumps(told).encode()
    shown = {"session_id": "session-9", "workspace": {"project_dir": str(root)}}
    yield "status line", STATUS_LINE, json.dumps(shown).encode()


def report(times: dict[str, list[float]], steps: int) -> bool:
    base = statistics.median(times["python3 -I -c pass"])
    print(f"\na hook as a command, {steps:,} steps in the store\n{'':30}{'p50':>9}{'p95':>9}")
    fine = True
    for name, values in times.items():
        ordered = sorted(values)
        middle = statistics.median(ordered) / base
        tail = ordered[int(len(ordered) * 0.95)] / base
        over = middle > MEDIAN or tail > TAIL
        fine = fine and not over
        print(f"{name:30}{middle:8.2f}×{tail:8.2f}×{'  over' if over else ''}")
    print(f"budget: {MEDIAN:g}× and {TAIL:g}×; 1× is {base * 1000:.1f} ms")
    return fine


if __name__ == "__main__":
    sys.exit(main())
