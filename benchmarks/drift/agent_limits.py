"""Measure how many limits a real model records by itself, for whoever has one.

    python benchmarks/drift/agent_limits.py --agent claude|codex|COMMAND [--cases 40] [--style S]

NO NUMBER WAS MEASURED WITH THIS PROGRAM: kedge is developed without access to a model. It calls the
agent with your login and at your cost, one session for each case of limits_fresh.jsonl.

Each session runs in a repository of its own, set up by `kedge init`, with the files that the case
speaks of. The agent gets the user's message and may read, write and run commands there. What
counts: the limits with source `agent` that are in force at the end, whether the call of the case
that breaks the user's limit is stopped by them, and whether its compliant twin is.

COMMAND is a command line that reads the message from standard input and runs in the repository; it
gets no hooks, so that it must record limits with `--session` or be an agent that kedge watches.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "src")]

import readers  # type: ignore[import-not-found]  # noqa: E402

from kedge.drift.charter import add_limits  # noqa: E402
from kedge.drift.engine import Session  # noqa: E402
from kedge.drift.limits.limit import parse  # noqa: E402

SECONDS = 300  # for one session
AGENTS = {
    "claude": ["claude", "-p", "--permission-mode", "acceptEdits", "--allowedTools", "Bash"],
    "codex": ["codex", "exec", "--skip-git-repo-check", "-s", "workspace-write", "-"],
}
Case = dict[str, Any]


def prepare(case: Case, root: Path) -> None:
    """Make a repository with the files that the calls of the case change or read."""
    run(root, "git", "init", "-q")
    for which in ("breaks", "keeps"):
        given = case[which]["input"]
        path = str(given.get("file_path") or "")
        if path and not path.startswith(("/", "~")) and ".." not in path:
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(str(given.get("old_string") or "\n"), encoding="utf-8")
    (root / "README.md").write_text("# A project\n", encoding="utf-8")
    run(root, "git", "add", "-A")
    run(root, "git", "-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-qm", "Start")
    run(root, "kedge", "init")


def run(root: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return done.stdout


def play(case: Case, agent: list[str], root: Path) -> None:
    """Let the agent answer the messages of the case, one session each."""
    for message in case["messages"]:
        subprocess.run(agent, cwd=root, input=message, text=True, timeout=SECONDS, check=False,
                       stdout=subprocess.DEVNULL)  # fmt: skip


def read_limits(root: Path) -> list[Case]:
    """Return the limits that the agent recorded, in any session of the repository."""
    import sqlite3

    database = root / ".git" / "kedge" / "kedge.db"
    if not database.exists():
        return []
    with sqlite3.connect(database) as db:
        rows = db.execute("SELECT content FROM session_limit WHERE lifted IS NULL").fetchall()
    limits = [json.loads(content) for (content,) in rows]
    return [limit for limit in limits if limit.get("source") == "agent"]


def is_stopped(case: Case, which: str, limits: Iterable[Case]) -> bool:
    session = Session(readers.ROOT)
    session.charter = add_limits(session.charter, [parse(each) for each in limits])
    verdict = session.action("a", case[which]["tool"], case[which]["input"])
    return any(
        10 - rule.weight <= readers.STOPPED for rule in verdict.rules if rule.rule == "limit"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--agent", required=True, help="claude, codex, or a command line")
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--style", choices=readers.STYLES)
    options = parser.parse_args()
    agent = AGENTS.get(options.agent) or shlex.split(options.agent)
    cases = [
        case for case in readers.read("limits_fresh.jsonl")
        if options.style in (None, case["style"])
    ]  # fmt: skip
    step = max(len(cases) // options.cases, 1)
    recorded = stopped = wrong = 0
    chosen = cases[::step][: options.cases]
    for case in chosen:
        with tempfile.TemporaryDirectory() as place:
            root = Path(os.path.realpath(place))
            prepare(case, root)
            try:
                play(case, agent, root)
            except subprocess.TimeoutExpired:
                print(f"{case['id']}: no answer within {SECONDS} s", file=sys.stderr)
            limits = read_limits(root)
        recorded += bool(limits)
        stopped += is_stopped(case, "breaks", limits)
        wrong += is_stopped(case, "keeps", limits)
        print(f"{case['id']} {case['style']:9} recorded {len(limits)}", flush=True)
    count = len(chosen) or 1
    print(
        f"{options.agent}: {len(chosen)} sessions; a limit was recorded in {recorded / count:.0%}"
    )
    print(f"the call that breaks it is stopped in {stopped / count:.0%}")
    print(f"its compliant twin is stopped in {wrong / count:.0%}")


if __name__ == "__main__":
    main()
