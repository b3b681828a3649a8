"""Does the map list the files that a commit went on to change?

Takes a repository with history and a base commit. The map is made at the base from the message
of each later commit (first-parent, no merge, 1 to 5 source files, all of them modified and there
at the base, at least one of them no test), and scored by the share of the changed non-test files
whose full path is in it. Nothing after the base is seen by the map.

    python benchmarks/map/localise.py REPOSITORY [--base COMMIT] [--commits N] [--tokens N]
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from kedge.host import project, tokens
from kedge.host.project import Project
from kedge.repomap import build, files, terms
from kedge.repomap.cache import Cache
from kedge.repomap.index import Index, index
from kedge.repomap.languages import language_of
from kedge.repomap.render import render
from kedge.repomap.structure import Structure, describe

SHORTEST_MESSAGE = 20
MOST_FILES = 5
_RELEASE = re.compile(r"(?:release|bump|v?\d+\.\d+)", re.IGNORECASE)

Commit = tuple[str, list[str]]  # message, the changed files that are no tests


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("--base", help="a commit; the default is 900 first-parent commits back")
    parser.add_argument("--until", default="HEAD", help="the last commit that may be sampled")
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--tokens", type=int, action="append")
    parser.add_argument("--seed", type=int, default=42)
    given = parser.parse_args()
    base = given.base or git(given.repository, "rev-parse", f"{given.until}~900").strip()
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        tree = checkout(given.repository, base, Path(scratch))
        eligible = commits(given.repository, base, given.until, tree)
        random.Random(given.seed).shuffle(eligible)
        sample = eligible[: given.commits]
        print(
            f"{given.repository.resolve().parent.name or given.repository}: base {base[:10]},"
            f" {len(eligible)} eligible commits, {len(sample)} sampled"
        )
        if not sample:
            return 1
        bench = Bench(project.find(tree), Path(scratch) / "home")
        for budget in given.tokens or [1500, 500]:
            bench.report(sample, budget)
    return 0


def git(repository: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(repository), *args], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def checkout(repository: Path, base: str, scratch: Path) -> Path:
    tree = scratch / "tree"
    subprocess.run(
        ["git", "clone", "--quiet", "--shared", "--no-checkout", str(repository), str(tree)],
        check=True,
    )
    subprocess.run(
        ["git", "-C", str(tree), "checkout", "--quiet", "--detach", base],
        check=False,  # a mirror may lack some large files
        stderr=subprocess.DEVNULL,
    )
    return tree


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
            and not any(files.is_foreign(path) for path in changed)
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
    """One index at the base, asked in several ways."""

    def __init__(self, tree: Project, home: Path) -> None:
        self.tree = tree
        self.cache = Cache(home)
        self.listing = files.listing(tree)
        self.index: Index = index(tree, self.listing, self.cache)
        self.structure = describe(
            build.Tree(tree.root, self.listing.files), self.index.history.recent
        )
        self.reader = build.Reader(tree.root, self.listing.files, self.cache)

    def report(self, sample: Sequence[Commit], budget: int) -> None:
        print(f"\n{budget} tokens{'':22}{'recall':>8}{'files':>8}{'tokens':>8}")
        ways: dict[str, Callable[[str], str]] = {
            "kedge, with the message": lambda text: self.kedge(text, budget),
            "text search alone, rendered alike": lambda text: self.search(text, budget),
            "kedge, without a text": lambda _: self.kedge("", budget),
            "most changed files, rendered alike": lambda _: self.churn(budget),
            "most changed files, bare paths": lambda _: self.bare(budget),
        }
        for name, way in ways.items():
            maps: dict[str, str] = {}
            recall = listed = cost = 0.0
            for message, gold in sample:
                key = message if "message" in name or "search" in name else ""
                if key not in maps:
                    maps[key] = way(message)
                text = maps[key]
                lines = {line.split(" ← ")[0] for line in text.splitlines()}
                recall += sum(path in lines for path in gold) / len(gold)
                listed += sum(path in lines for path in self.index.paths)
                cost += tokens.count(text)
            count = len(sample)
            print(f"{name:34}{recall / count:8.3f}{listed / count:8.0f}{cost / count:8.0f}")

    def kedge(self, text: str, budget: int) -> str:
        return build.make(self.tree, build.Ask(text, budget), self.cache).text

    def search(self, text: str, budget: int) -> str:
        scores = self.index.words.scores(terms.of_text(text), b=0.75)
        return self._rendered(scores, text, budget)

    def churn(self, budget: int) -> str:
        return self._rendered(self.index.history.churn, "", budget)

    def bare(self, budget: int) -> str:
        churn = self.index.history.churn
        order = sorted(range(len(churn)), key=lambda i: (-churn[i], self.index.paths[i]))
        return tokens.cut("\n".join(self.index.paths[i] for i in order) + "\n", budget)

    def _rendered(self, scores: Sequence[float], text: str, budget: int) -> str:
        paths = self.index.paths
        order = sorted(range(len(paths)), key=lambda i: (-scores[i], paths[i]))
        empty = Structure()
        return render(
            empty,
            [paths[i] for i in order],
            lambda path: self.reader.best(path, text),
            lambda _: (),
            title="baseline",
            budget=budget,
        ).text


if __name__ == "__main__":
    sys.exit(main())
