"""Does the map list the files that a commit went on to change?

Takes a repository with history and a base commit. The map is made at the base from the message
of each later commit (first-parent, no merge, 1 to 5 source files, all of them modified and there
at the base, at least one of them not a test), and scored by the share of the changed non-test files
whose full path is in it. The map sees nothing after the base.

    python benchmarks/map/localise.py REPOSITORY [--base COMMIT] [--commits N] [--tokens N]
                                      [--aider PYTHON]
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from _corpus import clone, label

from kedge.host import project, tokens
from kedge.host.project import Project
from kedge.repomap import build, files, history
from kedge.repomap.cache import Cache
from kedge.repomap.languages import language_of
from kedge.repomap.listing import list_files
from kedge.repomap.project.structure import Structure
from kedge.repomap.render import render
from kedge.repomap.search import relevance
from kedge.repomap.tree import divide_code
from kedge.repomap.tree_data import TreeData
from kedge.text import words

SHORTEST_MESSAGE = 20
MOST_FILES = 5
_RELEASE = re.compile(r"(?:release|bump|v?\d+\.\d+)", re.IGNORECASE)

Commit = tuple[str, list[str]]  # message, and the changed files without tests


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("--base", help="a commit; the default is 900 first-parent commits back")
    parser.add_argument("--until", default="HEAD", help="the last commit that may be sampled")
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--tokens", type=int, action="append")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--aider", metavar="PYTHON", help="of an environment with aider-chat")
    given = parser.parse_args()
    base = given.base or git(given.repository, "rev-parse", f"{given.until}~900").strip()
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        tree = clone(given.repository, Path(scratch), base)
        eligible = commits(given.repository, base, given.until, tree)
        random.Random(given.seed).shuffle(eligible)
        sample = eligible[: given.commits]
        print(
            f"{label(given.repository)}: base {base[:10]},"
            f" {len(eligible)} eligible commits, {len(sample)} sampled"
        )
        if not sample:
            return 1
        bench = Bench(project.find(tree), Path(scratch) / "home", given.aider)
        for budget in given.tokens or [1500, 500]:
            bench.report(sample, budget)
    return 0


def git(repository: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(repository), *args], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def commits(repository: Path, base: str, until: str, tree: Path) -> list[Commit]:
    out = git(
        repository,
        *["log", f"{base}..{until}", "--first-parent", "--no-merges", "--no-renames"],
        *["--name-status", "--format=%x01%B%x02"],
    )
    found = []
    for record in out.split("\x01")[1:]:
        message, _, rest = record.partition("\x02")
        rows = [row.split("\t") for row in rest.splitlines() if "\t" in row]
        source = [row for row in rows if _is_code(row[-1])]
        changed = [row[-1] for row in source if not files.is_test(row[-1])]
        fits = (
            1 <= len(source) <= MOST_FILES
            and changed
            and all(row[0] == "M" and (tree / row[-1]).is_file() for row in source)
            and not any(files.is_excluded(path) for path in changed)
            and len(message.strip()) >= SHORTEST_MESSAGE
            and not _RELEASE.match(message.strip())
        )
        if fits:
            found.append((message.strip(), changed))
    return found


def _is_code(path: str) -> bool:
    language = language_of(path)
    return language is not None and language.grammar is not None


class Bench:
    """One index at the base, queried in several ways."""

    def __init__(self, tree: Project, home: Path, aider: str | None) -> None:
        self.tree = tree
        self.aider = aider
        self.cache = Cache(home)
        self.listing = list_files(tree)
        self.known = TreeData(tree, self.listing, self.cache).ranker
        self.paths = sorted(self.known.number)

    def report(self, sample: Sequence[Commit], budget: int) -> None:
        print(f"\n{budget} tokens{'':29}{'recall':>8}{'files':>8}{'tokens':>8}")
        texts = [message for message, _ in sample]
        plain = len(texts)
        search = [self.search(text, budget) for text in texts]
        self.row("kedge, with the message", sample, [self.kedge(text, budget) for text in texts])
        self.row("text search alone, rendered alike", sample, search)
        if self.aider:
            self.row("aider, with the message", sample, self.aiders(texts, budget))
        self.row("kedge, without a text", sample, [self.kedge("", budget)] * plain)
        self.row("most changed files, listed", sample, [self.churn(budget)] * plain)
        if self.aider:
            self.row("aider, without a text", sample, self.aiders([""], budget) * plain)

    def row(self, name: str, sample: Sequence[Commit], maps: Sequence[str]) -> None:
        recall = listed = cost = 0.0
        for (_, gold), text in zip(sample, maps, strict=True):
            lines = {re.split(r" ← |:$", line)[0] for line in text.splitlines()}
            recall += sum(path in lines for path in gold) / len(gold)
            listed += sum(path in lines for path in self.paths)
            cost += tokens.count(text)
        count = len(sample)
        print(f"{name:40}{recall / count:8.3f}{listed / count:8.0f}{cost / count:8.0f}", flush=True)

    def kedge(self, text: str, budget: int) -> str:
        return build.make_map(self.tree, build.MapRequest(text, budget), self.cache).text

    def search(self, text: str, budget: int) -> str:
        """BM25 over paths and names, rendered like kedge's map."""
        scores = relevance(self.known.index, words.weigh_terms(text), b=0.75)
        found = {path: scores.get(self.known.number[path], 0.0) for path in self.paths}
        order = sorted(found, key=lambda path: (-found[path], path))
        reader = build.SymbolReader(self.tree.root, self.listing, self.cache)
        best = functools.partial(reader.select, text=text, known={})
        return render(Structure(), divide_code({}), order, best, lambda _: (), budget=budget).text

    def churn(self, budget: int) -> str:
        """The paths that the last 1,500 commits changed most, one to a line."""
        log = history.read_log(self.tree.repo)[:1500] if self.tree.repo else []
        counts = Counter(path for _, paths in log for path in paths if path in self.known.number)
        order = sorted(counts, key=lambda path: (-counts[path], path))
        return tokens.cut("".join(f"{path}\n" for path in order), budget)

    def aiders(self, texts: Sequence[str], budget: int) -> list[str]:
        """aider's maps in aider's own environment, with the words and paths of each text."""
        listed = subprocess.run(
            ["git", "-C", str(self.tree.root), "ls-files", "-z"], capture_output=True, check=True
        ).stdout.decode("utf-8", "surrogateescape")
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
            return maps


if __name__ == "__main__":
    sys.exit(main())
