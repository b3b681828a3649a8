"""The time of snapshots, compared with git's own `add -A` and `status`.

`take` and `read_tree` with 40,000 untracked files, with an empty and with a filled private index;
`read_tree` with `compare` where 10 of 50,000 tracked files changed.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from _measure import report

from kedge.handoff.snapshot import snapshots
from kedge.host import project

WORDS = ["harbour", "berth", "draught", "tide", "skipper", "anchor", "return", "self", "for", "in"]
PER_DIRECTORY = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--untracked", type=int, default=40_000)
    parser.add_argument("--tracked", type=int, default=50_000)
    parser.add_argument(
        "--rounds", type=int, default=3, help="cold runs; warm runs are four times as many"
    )
    args = parser.parse_args()
    for name in [name for name in os.environ if name.startswith(("GIT_", "KEDGE_"))]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        os.environ["HOME"] = scratch
        os.environ["GIT_CONFIG_NOSYSTEM"] = "1"
        within = measure_untracked(Path(scratch) / "untracked", args.untracked, args.rounds)
        within &= measure_tracked(Path(scratch) / "tracked", args.tracked, args.rounds * 4)
    return 0 if within else 1


def measure_untracked(root: Path, count: int, rounds: int) -> bool:
    make_files(root, count)
    time.sleep(1.5)  # so that every file is older than the index
    own = root.parent / "own"
    found = project.find(root)

    def start_over() -> None:
        snapshots.drop(found, "bench")
        for path in (own, root / ".git" / "kedge", root / ".git" / "objects"):
            shutil.rmtree(path, ignore_errors=True)
        for path in (own / "objects", own / "refs", root / ".git" / "objects"):
            path.mkdir(parents=True)
        (own / "HEAD").write_text("ref: refs/heads/none\n")

    add = f"git add -A && write-tree ({count:,})"
    calls: dict[str, Callable[[], object]] = {
        add: lambda: add_all(root, own),
        "read_tree": lambda: snapshots.read_tree(found),
        "take": lambda: snapshots.take(found, "bench/take"),
    }
    budgets = {"read_tree": 2.0, "take": 2.0}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start_over()
            os.sync()
            times[name].append(time_call(call))
    within = report("untracked files, cold", times, budgets)
    for call in calls.values():
        call()
    within &= report("untracked files, warm", measure(calls, rounds * 4), budgets)
    return within


def measure_tracked(root: Path, count: int, rounds: int) -> bool:
    make_files(root, count)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "gc.auto=0"]
    subprocess.run(["git", *who, "commit", "-qm", "base"], cwd=root, check=True)
    subprocess.run(["git", "gc", "-q"], cwd=root, check=True)
    found = project.find(root)
    before = snapshots.take(found, "bench/before").tree
    paths = sorted(root.glob("*/*/*00.py"))[:10]
    number = 0

    def edit() -> None:
        nonlocal number
        number += 1
        for path in paths:
            path.write_text(f"edit {number}\n")
        time.sleep(0.2)

    def read_and_compare() -> object:
        changes = snapshots.compare(found, before, snapshots.read_tree(found))
        assert len(changes) == len(paths)
        return changes

    edit()
    calls: dict[str, Callable[[], object]] = {
        f"git status ({count:,}, 10 changed)": lambda: subprocess.run(
            ["git", "status"], cwd=root, check=True, stdout=subprocess.DEVNULL
        ),
        "read_tree + compare": read_and_compare,
        "take": lambda: snapshots.take(found, "bench/after"),
    }
    budgets = {"read_tree + compare": 2.0}
    within = report("tracked files, edited a while ago", measure(calls, rounds), budgets)
    times = measure(calls, rounds, before=edit)
    within &= report("tracked files, edited just now", times, budgets)
    return within


def add_all(root: Path, own: Path) -> None:
    env = {**os.environ, "GIT_DIR": str(own), "GIT_WORK_TREE": str(root)}
    for args in (["add", "-A"], ["write-tree"]):
        subprocess.run(["git", *args], cwd=root, env=env, check=True, stdout=subprocess.DEVNULL)


def time_call(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(
    calls: Mapping[str, Callable[[], object]],
    rounds: int,
    before: Callable[[], None] = lambda: None,
) -> dict[str, list[float]]:
    """Return the times of each call over the rounds, after one warm-up round."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            before()
            elapsed = time_call(call)
            if number:
                times[name].append(elapsed)
    return times


def make_files(root: Path, count: int) -> None:
    """Make files of the size of source files, some in each directory."""
    root.mkdir()
    subprocess.run(["git", "init", "--quiet", "."], cwd=root, check=True)
    chance = random.Random(1)
    for number in range(count // PER_DIRECTORY):
        directory = root / f"pkg{number % 50:02}" / f"mod{number:04}"
        directory.mkdir(parents=True)
        for which in range(PER_DIRECTORY):
            lines = (" ".join(chance.choices(WORDS, k=8)) for _ in range(chance.randint(5, 60)))
            (directory / f"file{which:02}.py").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
