"""The cost of a map: cold, warm with another text, after one change, and unchanged.

    python benchmarks/map/speed.py REPOSITORY… [--aider PYTHON]

CPU seconds of the whole command with its children, and peak memory, as medians of rounds in which
the yardsticks take their turns: `python3 -I -c pass`, a bare tree-sitter parse of the same files in
two processes, and with `--aider` (the Python of an environment that has aider-chat) aider's RepoMap
on the same files with the same budget. A repository with more files than `--aider-most` is left to
kedge alone: there aider takes minutes and gigabytes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from _corpus import clone, label

from kedge.repomap.languages import language_of

KEDGE = str(Path(sys.executable).with_name("kedge"))
HERE = Path(__file__).parent
TEXTS = ("form rendering", "cache of templates", "timer wheel errors", "read the configuration")


class Cost(NamedTuple):
    seconds: float  # of CPU
    megabytes: float
    clock: float


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repository", type=Path, nargs="+")
    parser.add_argument("--aider", metavar="PYTHON")
    parser.add_argument("--aider-most", type=int, default=10_000, metavar="FILES")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print(f"{'':34}{'CPU s':>8}{'MB':>6}{'× pass':>9}{'× parse':>9}{'aider ×':>9}")
    for repository in given.repository:
        with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
            tree = clone(repository, Path(scratch))
            bench = Bench(tree, label(repository))
            bench.run(given.aider, given.aider_most, given.rounds)
    return 0


class Bench:
    def __init__(self, tree: Path, name: str) -> None:
        self.tree = tree
        listed = subprocess.run(
            ["git", "-C", str(tree), "ls-files", "-z"], capture_output=True, check=True
        ).stdout.decode("utf-8", "surrogateescape")
        self.names = [path for path in listed.split("\0") if (tree / path).is_file()]
        time.sleep(1.1)  # as in any clone that is older than a second and was looked at once
        subprocess.run(["git", "-C", str(tree), "status"], capture_output=True, check=True)
        self.sources = [path for path in self.names if is_source(path)]
        print(f"{name}: {len(self.names)} files, {len(self.sources)} of them parsed by language")

    def run(self, aider: str | None, most: int, rounds: int) -> None:
        with_aider = aider if len(self.names) <= most else None
        others = {"cold": self.aider(with_aider, 0)} if with_aider else {}
        self.map("first")
        costs: dict[str, list[Cost]] = {}
        for number in range(rounds):
            turns = self.yardsticks(with_aider) | self.round(number)
            for name, found in turns.items():
                costs.setdefault(name, []).append(found)
        shutil.rmtree(self.tree / ".aider.tags.cache.v4", ignore_errors=True)
        bare, parse = median(costs.pop("pass")), median(costs.pop("parse"))
        if with_aider:
            others["warm"] = median(costs.pop("aider"))
        self.line("parse only, 2 processes", parse, bare, parse)
        for name, found in others.items():
            self.line(f"aider {name}", found, bare, parse)
        for name, values in costs.items():
            other = others.get("cold" if name == "cold" else "warm")
            self.line(f"kedge {name}", median(values), bare, parse, other)
        changed, warm = median(costs["one file changed"]), median(costs["warm"])
        print(f"  one file changed is {changed.seconds / warm.seconds:.2f}× of warm")
        clock = median(costs["unchanged"]).clock / bare.clock
        print(f"  unchanged takes {clock:.1f}× of `pass` on the clock\n", flush=True)

    def yardsticks(self, aider: str | None) -> dict[str, Cost]:
        found = {
            "pass": cost([sys.executable, "-I", "-c", "pass"]),
            "parse": cost([sys.executable, str(HERE / "parse_only.py"), str(self.tree)]),
        }
        return found | {"aider": self.aider(aider, 1)} if aider else found

    def round(self, number: int) -> dict[str, Cost]:
        shutil.rmtree(self.tree / ".git" / "kedge", ignore_errors=True)
        found = {"cold": self.map(TEXTS[0])}
        for text in TEXTS[1:]:  # fill what is read of the files that are shown
            self.map(text)
        found["warm"] = self.map(f"{TEXTS[1]} {number}")
        changed = self.sources[(len(self.sources) // 2 + 37 * number) % len(self.sources)]
        with (self.tree / changed).open("a") as file:
            file.write("\n")
        found["one file changed"] = self.map(f"{TEXTS[2]} {number}")
        self.map(TEXTS[2])
        found["the same text again"] = self.map(TEXTS[2])
        cost([KEDGE, "map"], self.tree)
        found["unchanged"] = cost([KEDGE, "map"], self.tree)
        found["first of a text"] = self.map(f"parse the {number} arguments of a command")
        subprocess.run(["git", "-C", str(self.tree), "checkout", "--quiet", changed], check=True)
        return found

    def map(self, text: str) -> Cost:
        return cost([KEDGE, "-C", str(self.tree), "map", "--for", text, "--output", "-"])

    def aider(self, python: str, text: int) -> Cost:
        with tempfile.TemporaryDirectory(prefix="kedge-bench-") as place:
            order = {
                "root": str(self.tree),
                "names": self.names,
                "asked": [{"words": TEXTS[text].split(), "paths": []}],
                "budget": 1500,
            }
            Path(place, "order").write_text(json.dumps(order), encoding="utf-8")
            return cost([python, str(HERE / "aider_map.py"), place])

    def line(
        self, name: str, found: Cost, bare: Cost, parse: Cost, other: Cost | None = None
    ) -> None:
        passes, parses = found.seconds / bare.seconds, found.seconds / parse.seconds
        ratio = f"{other.seconds / found.seconds:8.1f}×" if other else ""
        print(
            f"  {name:32}{found.seconds:8.3f}{found.megabytes:6.0f}{passes:8.1f}×{parses:8.2f}×"
            f"{ratio}",
            flush=True,
        )


def is_source(path: str) -> bool:
    language = language_of(path)
    return language is not None and language.grammar is not None


def median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        statistics.median(c.seconds for c in costs),
        max(c.megabytes for c in costs),
        statistics.median(c.clock for c in costs),
    )


def cost(argv: Sequence[str], cwd: Path | None = None) -> Cost:
    """CPU seconds and peak megabytes of a command with its children, and seconds on the clock."""
    env = {"PATH": os.environ["PATH"], "HOME": tempfile.gettempdir(), "LANG": "C.UTF-8"}
    silent = subprocess.DEVNULL
    begin = time.perf_counter()
    child = subprocess.Popen(argv, stdout=silent, stderr=silent, env=env, cwd=cwd)
    _, status, usage = os.wait4(child.pid, 0)
    clock = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{argv[0]} ended with {child.returncode}")
    scale = 1024 if sys.platform != "darwin" else 1 << 20
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale, clock)


if __name__ == "__main__":
    sys.exit(main())
