"""Timing of whole commands against a yardstick, interleaved in one run.

The machine may be shared and noisy, so a figure is a ratio: each round times every command once,
and the ratio is that of the medians.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

YARDSTICK = [sys.executable, "-I", "-c", "pass"]
KEDGE = [str(Path(sys.executable).with_name("kedge"))]


def clean_environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}


def seconds(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run(argv, cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def interleaved(
    commands: Mapping[str, Sequence[str]], cwd: Path, env: Mapping[str, str], rounds: int
) -> dict[str, list[float]]:
    """The times of each command over the rounds, after one round that does not count."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, argv in commands.items():
            took = seconds(argv, cwd, env)
            if number:
                times[name].append(took)
    return times


def report(title: str, times: Mapping[str, Sequence[float]], budgets: Mapping[str, float]) -> bool:
    """Print a table of medians and ratios to the first command; False if a budget is broken."""
    first = next(iter(times))
    yardstick = statistics.median(times[first])
    print(f"\n{title}\n{'':38}{'median':>10}{'ratio':>8}{'budget':>8}")
    kept = True
    for name, values in times.items():
        median = statistics.median(values)
        ratio = median / yardstick
        budget = budgets.get(name)
        over = budget is not None and ratio > budget
        kept = kept and not over
        shown = f"{budget:g}×" if budget is not None else ""
        print(f"{name:38}{median * 1000:8.1f}ms{ratio:7.1f}×{shown:>8}{'  over' if over else ''}")
    return kept
