"""What a snapshot, and a look at the tree, cost beside git's own `add -A` and `status`.

`take` and `look` with 40,000 untracked files, on a private index that is empty and on one that
is not; `look` with `compare` where 10 of 50,000 tracked files are changed.
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

from kedge.handoff import snapshots
from kedge.host import project

WORDS = ["harbour", "berth", "draught", "tide", "skipper", "anchor", "return", "self", "for", "in"]
PER_DIRECTORY = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--untracked", type=int, default=40_000)
    parser.add_argument("--tracked", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3, help="of the cold runs; warm ones: ×4")
    given = parser.parse_args()
    for name in [name for name in os.environ if name.startswith(("GIT_", "KEDGE_"))]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        os.environ["HOME"] = scratch
        os.environ["GIT_CONFIG_NOSYSTEM"] = "1"
        kept = untracked(Path(scratch) / "untracked", given.untracked, given.rounds)
        kept &= tracked(Path(scratch) / "tracked", given.tracked, given.rounds * 4)
    return 0 if kept else 1


def untracked(root: Path, count: int, rounds: int) -> bool:
    make(root, count)
    time.sleep(1.5)  # so that no file is as young as the index
    own = root.parent / "own"
    place = project.find(root)

    def anew() -> None:
        snapshots.drop(place, "bench")
        for path in (own, root / ".git" / "kedge", root / ".git" / "objects"):
            shutil.rmtree(path, ignore_errors=True)
        for path in (own / "objects", own / "refs", root / ".git" / "objects"):
            path.mkdir(parents=True)
        (own / "HEAD").write_text("ref: refs/heads/none\n")

    add = f"git add -A && write-tree ({count:,})"
    calls: dict[str, Callable[[], object]] = {
        add: lambda: add_all(root, own),
        "look": lambda: snapshots.look(place),
        "take": lambda: snapshots.take(place, "bench/take"),
    }
    budgets = {"look": 2.0, "take": 2.0}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            anew()
            os.sync()
            times[name].append(seconds(call))
    kept = report("untracked files, nothing known", times, budgets)
    for call in calls.values():
        call()
    kept &= report("untracked files, all known", interleaved(calls, rounds * 4), budgets)
    return kept


def tracked(root: Path, count: int, rounds: int) -> bool:
    make(root, count)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "gc.auto=0"]
    subprocess.run(["git", *who, "commit", "-qm", "base"], cwd=root, check=True)
    subprocess.run(["git", "gc", "-q"], cwd=root, check=True)
    place = project.find(root)
    before = snapshots.take(place, "bench/before").tree
    paths = sorted(root.glob("*/*/*00.py"))[:10]
    number = 0

    def edited() -> None:
        nonlocal number
        number += 1
        for path in paths:
            path.write_text(f"edit {number}\n")
        time.sleep(0.2)

    def look() -> object:
        changes = snapshots.compare(place, before, snapshots.look(place))
        assert len(changes) == len(paths)
        return changes

    edited()
    calls: dict[str, Callable[[], object]] = {
        f"git status ({count:,}, 10 changed)": lambda: subprocess.run(
            ["git", "status"], cwd=root, check=True, stdout=subprocess.DEVNULL
        ),
        "look + compare": look,
        "take": lambda: snapshots.take(place, "bench/after"),
    }
    budgets = {"look + compare": 2.0}
    kept = report("tracked files, edited a while ago", interleaved(calls, rounds), budgets)
    times = interleaved(calls, rounds, before=edited)
    kept &= report("tracked files, edited just now", times, budgets)
    return kept


def add_all(root: Path, own: Path) -> None:
    env = {**os.environ, "GIT_DIR": str(own), "GIT_WORK_TREE": str(root)}
    for args in (["add", "-A"], ["write-tree"]):
        subprocess.run(["git", *args], cwd=root, env=env, check=True, stdout=subprocess.DEVNULL)


def seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def interleaved(
    calls: Mapping[str, Callable[[], object]],
    rounds: int,
    before: Callable[[], None] = lambda: None,
) -> dict[str, list[float]]:
    """The times of each call over the rounds, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + 1):
        for name, call in calls.items():
            before()
            took = seconds(call)
            if number:
                times[name].append(took)
    return times


def make(root: Path, count: int) -> None:
    """Files as large as source files are, some to a directory."""
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
