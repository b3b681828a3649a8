"""Measure `kedge drift replay` on transcripts shaped like real ones: MB/s of one core, memory.

The yardstick reads the same lines with `json.loads` and does nothing else.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from _measure import KEDGE, clean_environment
from _sessions import make

BUDGET = 5.0  # times the yardstick: 50 MB/s where that reads 250
MEGABYTE = 1_000_000
YARDSTICK = (
    "import json, pathlib, sys\n"
    "for path in sorted(pathlib.Path(sys.argv[1]).rglob('*.jsonl')):\n"
    "    with path.open('rb') as file:\n"
    "        for line in file: json.loads(line)\n"
)


class Cost(NamedTuple):
    """Seconds of processor time, and peak memory in bytes."""

    seconds: float
    peak: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        root = Path(scratch)
        whole, part = root / "whole", root / "part"
        size, actions = make(whole, given.megabytes * MEGABYTE)
        make(part, given.megabytes * MEGABYTE // 10)
        print(f"{size / MEGABYTE:.0f} MB, {actions:,} actions, {size / actions / 1000:.0f} kB each")
        read = [sys.executable, "-I", "-c", YARDSTICK]
        replay = [*KEDGE, "drift", "replay", "--json"]
        costs: dict[str, list[Cost]] = {}
        for _ in range(given.rounds):
            for name, argv in {
                "json.loads of each line": [*read, str(whole)],
                "kedge drift replay": [*replay, str(whole)],
                "kedge drift replay, a tenth": [*replay, str(part)],
            }.items():
                costs.setdefault(name, []).append(cost(argv, root))
        return report(costs, size)


def report(costs: dict[str, list[Cost]], size: int) -> int:
    yardstick = statistics.median(one.seconds for one in costs["json.loads of each line"])
    print(f"\nreplay\n{'':38}{'median':>10}{'MB/s':>8}{'memory':>10}{'ratio':>8}{'budget':>8}")
    kept = True
    for name, values in costs.items():
        seconds = statistics.median(one.seconds for one in values)
        bytes_ = size / 10 if "tenth" in name else size
        speed, peak = bytes_ / seconds / MEGABYTE, max(one.peak for one in values) / MEGABYTE
        ratio = seconds / yardstick
        limit = BUDGET if name == "kedge drift replay" else None
        over = limit is not None and ratio > limit
        kept = kept and not over
        shown = f"{limit:g}×" if limit is not None else ""
        print(
            f"{name:38}{seconds * 1000:8.0f}ms{speed:8.0f}{peak:8.0f}MB{ratio:7.1f}×{shown:>8}"
            f"{'  over' if over else ''}"
        )
    return 0 if kept else 1


def cost(argv: Sequence[str], home: Path) -> Cost:
    child = subprocess.Popen(
        argv, env=clean_environment(home), stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, argv
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * unit)


if __name__ == "__main__":
    sys.exit(main())
