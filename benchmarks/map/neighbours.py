"""Do files that change together later count as neighbours before?

    python benchmarks/map/neighbours.py REPOSITORY… [--back N]

The map is made at a commit N first-parent commits back. For each later commit that changes 2 to 12
of the files that were there, each of its files is asked for its neighbours: `recall` is the share
of the commit's other files among them, `any` how often there is at least one, and `elsewhere` how
often there is one of another commit's files, drawn at random. The files of the same directory are
the yardstick.
"""

from __future__ import annotations

import argparse
import contextlib
import posixpath
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection
from pathlib import Path

from _corpus import clone, label

from kedge.host import project
from kedge.repomap import build
from kedge.repomap.cache import Cache
from kedge.repomap.listing import list_files
from kedge.repomap.neighbours import Neighbours
from kedge.store import sqlite

MOST_FILES = 12
DRAWN = 4000

Near = Callable[[str], Collection[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("repository", type=Path, nargs="+")
    parser.add_argument("--back", type=int, default=800)
    given = parser.parse_args()
    for repository in given.repository:
        base = git(repository, "rev-list", "--first-parent", f"--skip={given.back}", "-n1", "HEAD")
        with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
            tree = clone(repository, Path(scratch), base.strip())
            here = project.find(tree)
            with contextlib.closing(Cache(here.home())) as cache:
                build.make_map(here, build.MapRequest(), cache)
                known = {file.path for file in list_files(here).files if file.language}
            with contextlib.closing(sqlite.connect(here.home())[0]) as db:
                found = Neighbours(db, str(here.root))
                report(label(repository), later(repository, base.strip(), known), known, found.near)
    return 0


def git(repository: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(repository), *args], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def later(repository: Path, base: str, known: Collection[str]) -> list[list[str]]:
    """The files of each later commit that were known before."""
    out = git(
        *(repository, "log", f"{base}..HEAD", "--no-merges", "--no-renames", "--name-only", "-z"),
        "--format=%x01",
    )
    commits = (record.strip("\n\0").split("\0") for record in out.split("\x01")[1:])
    changed = (sorted({path for path in paths if path in known}) for paths in commits)
    return [paths for paths in changed if 2 <= len(paths) <= MOST_FILES]


def report(name: str, commits: list[list[str]], known: Collection[str], near: Near) -> None:
    folders = defaultdict(set)
    for path in known:
        folders[posixpath.dirname(path)].add(path)
    print(f"{name}: {len(known)} files, {len(commits)} later commits")
    for title, ask in {
        "same directory": lambda path: folders[posixpath.dirname(path)] - {path},
        "neighbours": near,
    }.items():
        recall, some, size = 0.0, 0, 0
        asked = [(path, paths) for paths in commits for path in paths]
        for path, paths in asked:
            hits = len(set(ask(path)) & set(paths))
            recall += hits / (len(paths) - 1)
            some += hits > 0
            size += len(ask(path))
        print(
            f"  {title:16} recall {recall / len(asked):.2f}  any {some / len(asked):.2f}"
            f"  elsewhere {elsewhere(commits, ask):.2f}  of {size / len(asked):.0f} files",
            flush=True,
        )


def elsewhere(commits: list[list[str]], near: Near) -> float:
    drawn, found = random.Random(42), 0
    for _ in range(DRAWN):
        one, other = drawn.sample(commits, 2)
        found += not (set(near(drawn.choice(one))) & set(other)) <= set(one)
    return found / DRAWN


if __name__ == "__main__":
    sys.exit(main())
