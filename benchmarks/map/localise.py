"""Does the map show the files and the definitions that a commit went on to change?

Takes a repository with history and a base commit. The map is made at the base from the message of
each later commit (see `_changes.py`), and without a text. It sees nothing after the base. Means
over the commits:

    listed       share of the changed files that are in the map
    mrr          1 / place of the first changed file
    @1 … @20     share of the changed files among the first so many
    defs         share of the changed definitions that are shown
    symbols, of  definitions shown, and files that have any

aider's map is sorted by path, so its places say little.

    python benchmarks/map/localise.py REPOSITORY… [--base COMMIT] [--commits N] [--tokens N]
                                      [--aider PYTHON]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from _changes import Change, find_changes, find_name, git
from _corpus import clone, label

from kedge.host import project, tokens
from kedge.host.project import Project
from kedge.repomap import build
from kedge.repomap.cache import Cache
from kedge.repomap.listing import list_files
from kedge.repomap.search import relevance
from kedge.repomap.symbol_reader import SymbolReader
from kedge.repomap.tree_data import TreeData
from kedge.text import words

_PLACES = (1, 5, 10, 20)
_SEARCHED = 3  # definitions of a file that the plain text search shows
COLUMNS = ("listed", "mrr", *(f"@{place}" for place in _PLACES), "defs", "symbols", "of", "tokens")


class Shown(NamedTuple):
    """What a map shows: files in order, definitions as path and name, and its tokens."""

    files: Sequence[str]
    definitions: Sequence[tuple[str, str]]
    tokens: int


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repository", type=Path, nargs="+")
    parser.add_argument("--base", help="a commit; the default is 900 first-parent commits back")
    parser.add_argument("--until", default="HEAD", help="the last commit that may be sampled")
    parser.add_argument("--commits", type=int, default=60)
    parser.add_argument("--tokens", type=int, action="append")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--aider", metavar="PYTHON", help="of an environment with aider-chat")
    given = parser.parse_args()
    budgets = given.tokens or [500, 1500, 4000]
    rows: dict[tuple[int, str], list[list[float]]] = {}
    for repository in given.repository:
        base = given.base or git(repository, "rev-parse", f"{given.until}~900").strip()
        with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
            tree = clone(repository, Path(scratch), base)
            eligible = find_changes(repository, base, given.until, tree, Path(scratch))
            random.Random(given.seed).shuffle(eligible)
            sample = eligible[: given.commits]
            print(f"\n{label(repository)}: {len(sample)} of {len(eligible)} commits", flush=True)
            bench = Bench(project.find(tree), Path(scratch) / "home", given.aider)
            for budget in budgets if sample else ():
                for name, means in bench.measure(sample, budget).items():
                    rows.setdefault((budget, name), []).append(means)
                    report(budget, name, means)
    print(f"\nmean of {len(given.repository)} repositories")
    for (budget, name), found in rows.items():
        report(budget, name, [sum(column) / len(found) for column in zip(*found, strict=True)])
    return 0


def report(budget: int, name: str, means: Sequence[float]) -> None:
    cells = " ".join(
        f"{title} {mean:.0f}" if title in ("symbols", "of", "tokens") else f"{title} {mean:.3f}"
        for title, mean in zip(COLUMNS, means, strict=True)
    )
    print(f"{budget:5} {name:24} {cells}", flush=True)


class Bench:
    """One index at the base, queried in several ways."""

    def __init__(self, tree: Project, home: Path, aider: str | None) -> None:
        self.tree = tree
        self.aider = aider
        self.cache = Cache(home)
        self.listing = list_files(tree)
        self.known = TreeData(tree, self.listing, self.cache).ranker
        self.reader = SymbolReader(tree.root, self.listing, self.cache)
        self.paths = sorted(self.known.number)

    def measure(self, sample: Sequence[Change], budget: int) -> dict[str, list[float]]:
        """The means of each way to make a map, by its name."""
        texts = [change.message for change in sample]
        plain = len(texts)
        ways = {
            "kedge, message": [self.kedge(text, budget) for text in texts],
            "text search, message": [self.search(text, budget) for text in texts],
        }
        if self.aider:
            ways["aider, message"] = self.aiders(texts, budget)
        ways["kedge, no text"] = [self.kedge("", budget)] * plain
        if self.aider:
            ways["aider, no text"] = self.aiders([""], budget) * plain
        return {name: _average(sample, maps) for name, maps in ways.items()}

    def kedge(self, text: str, budget: int) -> Shown:
        data = build.make_map(self.tree, build.MapRequest(text, budget), self.cache).data
        names = [(symbol["path"], symbol["name"]) for symbol in data["symbols"]]
        return Shown([file["path"] for file in data["files"]], names, data["tokens"])

    def search(self, text: str, budget: int) -> Shown:
        """BM25 over paths and names; each file with its first definitions that match best."""
        query = words.weigh_terms(text)
        scores = relevance(self.known.index, query, b=0.75)
        found = {path: scores.get(self.known.number[path], 0.0) for path in self.paths}
        files, names, used = [], [], 0
        for path in sorted(found, key=lambda path: (-found[path], path)):
            symbols = sorted(
                self.reader.symbols(path),
                key=lambda one: -sum(query.get(term, 0.0) for term in words.split_name(one.name)),
            )[:_SEARCHED]
            lines = [path, *(f"  {one.line}: {one.signature}" for one in symbols)]
            used += tokens.count("\n".join([*lines, ""]))
            if used > budget:
                break
            files.append(path)
            names += [(path, one.name) for one in symbols]
        return Shown(files, names, used)

    def aiders(self, texts: Sequence[str], budget: int) -> list[Shown]:
        """aider's maps in aider's own environment, with the words and paths of each text."""
        listed = git(self.tree.root, "ls-files", "-z")
        names = [name for name in listed.split("\0") if (self.tree.root / name).is_file()]
        asked = [
            {
                "words": sorted(set(re.findall(r"[A-Za-z_]\w+", text))),
                "paths": sorted(words.find_mentions(text, self.paths)),
            }
            for text in texts
        ]
        with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
            order = {"root": str(self.tree.root), "names": names, "asked": asked, "budget": budget}
            Path(scratch, "order").write_text(json.dumps(order), encoding="utf-8")
            subprocess.run(
                [str(self.aider), str(Path(__file__).with_name("aider_map.py")), scratch],
                check=True,
                stderr=subprocess.DEVNULL,  # its progress bar
                env={"PATH": os.environ["PATH"], "HOME": scratch, "PYTHONHASHSEED": "0"},
            )
            maps: list[str] = json.loads(Path(scratch, "maps").read_text(encoding="utf-8"))
        return [_read_aider(text, set(self.paths)) for text in maps]


def _read_aider(text: str, paths: set[str]) -> Shown:
    files, names = [], []
    for line in text.splitlines():
        if line.rstrip(":") in paths:
            files.append(line.rstrip(":"))
        elif files and line.startswith("│") and (name := find_name(line[1:])):
            names.append((files[-1], name))
    return Shown(files, names, tokens.count(text))


def _average(sample: Sequence[Change], maps: Sequence[Shown]) -> list[float]:
    rows = []
    shares = []
    for change, shown in zip(sample, maps, strict=True):
        places = {path: place for place, path in reversed([*enumerate(shown.files, 1)])}
        found = [places.get(path, sys.maxsize) for path in change.files]
        rows.append(
            [
                sum(path in places for path in change.files) / len(found),
                1 / min(found),
                *(sum(at <= place for at in found) / len(found) for place in _PLACES),
                len(shown.definitions),
                len({path for path, _ in shown.definitions}),
                shown.tokens,
            ]
        )
        if change.definitions:
            known = set(shown.definitions)
            shares.append(sum(one in known for one in change.definitions) / len(change.definitions))
    *before, symbols, of, cost = (sum(column) / len(rows) for column in zip(*rows, strict=True))
    return [*before, sum(shares) / (len(shares) or 1), symbols, of, cost]


if __name__ == "__main__":
    sys.exit(main())
